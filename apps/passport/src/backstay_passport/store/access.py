"""Tenants, people, keys of programs, tokens of partners, and the log of what they looked at."""

from __future__ import annotations

import hashlib
import secrets

from sqlalchemy import Connection, RowMapping, insert, select
from sqlalchemy.exc import IntegrityError

from backstay_passport.domain.errors import InvalidInput, NotFound
from backstay_passport.domain.tiers import audience
from backstay_passport.store.database import new_id, now_text
from backstay_passport.store.rows import add
from backstay_passport.store.tables import access_log, access_tokens, api_keys, signing_keys, tenants, users

TOKEN_PREFIX = "bpt_"  # noqa: S105 - the beginning of every token, not one


def add_tenant(connection: Connection, name: str, tenant_id: str | None = None) -> str:
    """Store a tenant."""
    identifier = tenant_id or new_id()
    try:
        with connection.begin_nested():
            connection.execute(insert(tenants).values(id=identifier, name=name, created_at=now_text()))
    except IntegrityError:
        raise InvalidInput(f"there is a tenant {name} already") from None
    return identifier


def tenant(connection: Connection, name: str) -> str:
    """Return the id of a tenant by its name or id."""
    query = select(tenants.c.id).where((tenants.c.name == name) | (tenants.c.id == name))
    found: str | None = connection.execute(query).scalars().first()
    if found is None:
        raise NotFound("tenant", name)
    return found


def all_tenants(connection: Connection) -> list[RowMapping]:
    """Return all tenants by name."""
    return list(connection.execute(select(tenants).order_by(tenants.c.name)).mappings())


def add_user(connection: Connection, tenant_id: str, name: str, password_hash: str, role: str) -> str:
    """Store somebody who may log in."""
    try:
        with connection.begin_nested():
            return add(connection, users, tenant_id, name=name, password_hash=password_hash, role=role)
    except IntegrityError:
        raise InvalidInput(f"somebody with the name {name} may log in already") from None


def user(connection: Connection, name: str) -> RowMapping | None:
    """Return who has this name."""
    return connection.execute(select(users).where(users.c.name == name)).mappings().one_or_none()


def add_api_key(
    connection: Connection, tenant_id: str, name: str, *, prefix: str, digest: str, role: str
) -> str:
    """Store the key of a program."""
    return add(connection, api_keys, tenant_id, name=name, prefix=prefix, digest=digest, role=role)


def add_token(connection: Connection, tenant_id: str, name: str, audience_name: str) -> str:
    """Make a token for an audience and return it; only its hash is stored."""
    audience(audience_name)
    token = TOKEN_PREFIX + secrets.token_urlsafe(24)
    add(connection, access_tokens, tenant_id, name=name, audience=audience_name, digest=_digest(token))
    return token


def token(connection: Connection, tenant_id: str, text: str) -> RowMapping | None:
    """Return the token of a tenant's partner."""
    query = select(access_tokens).where(
        access_tokens.c.digest == _digest(text), access_tokens.c.tenant_id == tenant_id
    )
    return connection.execute(query).mappings().one_or_none()


def log_access(connection: Connection, tenant_id: str, token_id: str, passport_id: str) -> None:
    """Write down that a partner has looked at a passport."""
    add(connection, access_log, tenant_id, token_id=token_id, passport_id=passport_id)


def remember_key(connection: Connection, key_id: str, public: bytes) -> None:
    """Keep the public half of a signing key, so that old versions stay verifiable."""
    known = _public_key(connection, key_id)
    if known is None:
        try:
            with connection.begin_nested():
                row = {"key_id": key_id, "public_key": public, "created_at": now_text()}
                connection.execute(insert(signing_keys).values(row))
            return
        except IntegrityError:
            # Another worker has stored it since.
            known = _public_key(connection, key_id)
    if known != public:
        raise InvalidInput(f"the key id {key_id} belongs to another key; give the new key an id of its own")


def _public_key(connection: Connection, key_id: str) -> bytes | None:
    query = select(signing_keys.c.public_key).where(signing_keys.c.key_id == key_id)
    known = connection.execute(query).scalar_one_or_none()
    return None if known is None else bytes(known)


def public_keys(connection: Connection) -> list[RowMapping]:
    """Return the public halves of all signing keys."""
    return list(connection.execute(select(signing_keys).order_by(signing_keys.c.created_at)).mappings())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
