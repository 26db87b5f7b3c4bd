"""Checking the event chains, and signing their heads."""

from __future__ import annotations

from collections.abc import Sequence

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.errors import InvalidInput, PassportError
from backstay_passport.domain.events import ChainEnd, chain_problems, head_problems, tree_head
from backstay_passport.domain.signing import is_signed_by
from backstay_passport.services import Services
from backstay_passport.store import access, events
from backstay_passport.store.rows import add, all_of_tenant
from backstay_passport.store.tables import tree_heads


def sign_head(services: Services, tenant_id: str) -> bytes:
    """Sign the present ends of all chains, so that a later check notices what is gone."""
    key = services.settings.signing_key()
    with services.database.begin() as connection:
        access.remember_key(connection, key.key_id, key.public)
        ends = events.chain_ends(connection, tenant_id)
        root = tree_head(ends)
        listed = [
            [end.aggregate_type, end.aggregate_id, end.aggregate_version, end.hash.hex()] for end in ends
        ]
        add(
            connection,
            tree_heads,
            tenant_id,
            root=root,
            ends=encode(listed),
            signature=key.sign(root),
            key_id=key.key_id,
            public_key=key.public,
        )
    return root


def verify_chains(
    services: Services, tenant_id: str, trusted: Sequence[bytes] | None = None
) -> tuple[int, list[str]]:
    """Check every chain, and against every signed head; return how many events there are and what is wrong.

    A head counts only if one of the trusted keys has signed it: those that are given, else those that have signed
    here. A key that stands beside its own signature proves nothing.
    """
    with services.database.read() as connection:
        found = events.all_events(connection, tenant_id)
        heads = all_of_tenant(connection, tree_heads, tenant_id)
        known = {row["key_id"]: bytes(row["public_key"]) for row in access.public_keys(connection)}
    known |= _own_key(services)
    problems = chain_problems(found)
    for row in heads:
        public = bytes(row["public_key"])
        is_trusted = public in trusted if trusted is not None else known.get(row["key_id"]) == public
        if not is_trusted:
            problems.append(
                f"tree head {row['id']}: is signed by a key that is not trusted ({row['key_id']})"
            )
            continue
        ends = [ChainEnd(one[0], one[1], one[2], bytes.fromhex(one[3])) for one in parse(bytes(row["ends"]))]
        root = tree_head(ends)
        if root != bytes(row["root"]) or not is_signed_by(public, root, bytes(row["signature"])):
            problems.append(f"tree head {row['id']}: was altered")
        problems.extend(head_problems(ends, found))
    return len(found), list(dict.fromkeys(problems))


def read_public_key(text: str) -> bytes:
    """Read a public key in hexadecimal."""
    try:
        return bytes.fromhex(text.strip())
    except ValueError:
        raise InvalidInput(f"{text!r} is not a public key in hexadecimal") from None


def _own_key(services: Services) -> dict[str, bytes]:
    """Return the public half of the key in the environment: nobody can exchange it in the database."""
    try:
        key = services.settings.signing_key()
    except PassportError:
        return {}
    return {key.key_id: key.public}
