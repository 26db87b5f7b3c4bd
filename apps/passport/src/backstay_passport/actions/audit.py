"""Checking the event chains, and signing their heads."""

from __future__ import annotations

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.events import ChainEnd, chain_problems, head_problems, tree_head
from backstay_passport.domain.signing import is_signed_by
from backstay_passport.services import Services
from backstay_passport.store import events
from backstay_passport.store.rows import add, of_tenant
from backstay_passport.store.tables import tree_heads


def sign_head(services: Services, tenant_id: str) -> bytes:
    """Sign the present ends of all chains, so that a later check notices what is gone."""
    key = services.settings.signing_key()
    with services.database.begin() as connection:
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


def verify_chains(services: Services, tenant_id: str) -> tuple[int, list[str]]:
    """Check every chain, and against every signed head; return how many events there are and what is wrong."""
    with services.database.read() as connection:
        found = events.all_events(connection, tenant_id)
        heads = of_tenant(connection, tree_heads, tenant_id)
    problems = chain_problems(found)
    for row in heads:
        ends = [ChainEnd(one[0], one[1], one[2], bytes.fromhex(one[3])) for one in parse(bytes(row["ends"]))]
        root = tree_head(ends)
        if root != bytes(row["root"]) or not is_signed_by(
            bytes(row["public_key"]), root, bytes(row["signature"])
        ):
            problems.append(f"tree head {row['id']}: was altered")
        problems.extend(head_problems(ends, found))
    return len(found), problems
