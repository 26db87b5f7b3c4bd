"""Tenants, people, keys of programs, tokens of partners, and the log of what they looked at."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, Table, insert, select, update
from sqlalchemy.exc import IntegrityError

from backstay_passport.domain.errors import InvalidInput, NotFound
from backstay_passport.domain.tiers import audience
from backstay_passport.store.database import new_id, now_text
from backstay_passport.store.rows import add, find
from backstay_passport.store.tables import (
    access_log,
    access_tokens,
    api_keys,
    battery_products,
    battery_units,
    passports,
    signing_keys,
    tenants,
    users,
)

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
    """Return who may log in with this name."""
    query = select(users).where(users.c.name == name, users.c.revoked_at.is_(None))
    return connection.execute(query).mappings().one_or_none()


def all_users(connection: Connection, tenant_id: str) -> Sequence[RowMapping]:
    """Return who may log in, or could."""
    query = select(users).where(users.c.tenant_id == tenant_id).order_by(users.c.name)
    return connection.execute(query).mappings().all()


def revoke_user(connection: Connection, tenant_id: str, name: str) -> str:
    """Let somebody log in no more and return the id."""
    query = select(users.c.id).where(users.c.tenant_id == tenant_id, users.c.name == name)
    found: str | None = connection.execute(query).scalar_one_or_none()
    if found is None:
        raise NotFound("user", name)
    _revoke(connection, users, found)
    return found


def add_api_key(
    connection: Connection, tenant_id: str, name: str, *, prefix: str, digest: str, role: str
) -> str:
    """Store the key of a program."""
    return add(connection, api_keys, tenant_id, name=name, prefix=prefix, digest=digest, role=role)


def api_key(connection: Connection, prefix: str) -> RowMapping | None:
    """Return the key with this prefix if it opens anything."""
    query = select(api_keys).where(api_keys.c.prefix == prefix, api_keys.c.revoked_at.is_(None))
    return connection.execute(query).mappings().one_or_none()


def all_api_keys(connection: Connection, tenant_id: str) -> Sequence[RowMapping]:
    """Return the keys of a tenant's programs, newest first."""
    query = select(api_keys).where(api_keys.c.tenant_id == tenant_id)
    return connection.execute(query.order_by(api_keys.c.created_at.desc())).mappings().all()


def revoke_api_key(connection: Connection, tenant_id: str, key_id: str) -> None:
    """Let a program's key open nothing any more."""
    find(connection, api_keys, tenant_id, key_id, "API key")
    _revoke(connection, api_keys, key_id)


def add_token(
    connection: Connection, tenant_id: str, name: str, audience_name: str, expires_at: str | None = None
) -> tuple[str, str]:
    """Make a token for an audience and return its id and text; only its hash is stored."""
    audience(audience_name)
    text = TOKEN_PREFIX + secrets.token_urlsafe(24)
    values = {"name": name, "audience": audience_name, "digest": _digest(text), "expires_at": expires_at}
    return add(connection, access_tokens, tenant_id, **values), text


def token(connection: Connection, tenant_id: str, text: str) -> RowMapping | None:
    """Return the token of a tenant's partner if it opens anything now."""
    query = select(access_tokens).where(
        access_tokens.c.digest == _digest(text),
        access_tokens.c.tenant_id == tenant_id,
        access_tokens.c.revoked_at.is_(None),
        access_tokens.c.expires_at.is_(None) | (access_tokens.c.expires_at > now_text()),
    )
    return connection.execute(query).mappings().one_or_none()


def all_tokens(connection: Connection, tenant_id: str) -> Sequence[RowMapping]:
    """Return the tokens of a tenant's partners, newest first."""
    query = select(access_tokens).where(access_tokens.c.tenant_id == tenant_id)
    return connection.execute(query.order_by(access_tokens.c.created_at.desc())).mappings().all()


def revoke_token(connection: Connection, tenant_id: str, token_id: str) -> None:
    """Let a partner's token open nothing any more."""
    find(connection, access_tokens, tenant_id, token_id, "token")
    _revoke(connection, access_tokens, token_id)


def _revoke(connection: Connection, table: Table, identifier: str) -> None:
    # The first moment stays: who revokes twice does not move it.
    connection.execute(
        update(table)
        .where(table.c.id == identifier, table.c.revoked_at.is_(None))
        .values(revoked_at=now_text())
    )


def log_access(connection: Connection, tenant_id: str, token_id: str, passport_id: str) -> None:
    """Write down that a partner has looked at a passport."""
    add(connection, access_log, tenant_id, token_id=token_id, passport_id=passport_id)


def looks(connection: Connection, tenant_id: str, limit: int = 200) -> Sequence[RowMapping]:
    """Return who has looked at which passport, newest first."""
    query = (
        select(
            access_log.c.created_at,
            access_log.c.passport_id,
            access_log.c.token_id,
            access_tokens.c.name,
            access_tokens.c.audience,
            battery_products.c.sku,
            battery_units.c.serial,
        )
        .join(access_tokens, access_tokens.c.id == access_log.c.token_id)
        .join(passports, passports.c.id == access_log.c.passport_id)
        .join(battery_products, battery_products.c.id == passports.c.battery_product_id)
        .outerjoin(battery_units, battery_units.c.id == passports.c.battery_unit_id)
        .where(access_log.c.tenant_id == tenant_id)
    )
    ordered = query.order_by(access_log.c.created_at.desc(), access_log.c.id).limit(limit)
    return connection.execute(ordered).mappings().all()


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


def key_since(connection: Connection, key_id: str) -> str:
    """Return since when a signing key is known here."""
    query = select(signing_keys.c.created_at).where(signing_keys.c.key_id == key_id)
    return str(connection.execute(query).scalar_one())


def _public_key(connection: Connection, key_id: str) -> bytes | None:
    query = select(signing_keys.c.public_key).where(signing_keys.c.key_id == key_id)
    known = connection.execute(query).scalar_one_or_none()
    return None if known is None else bytes(known)


def public_keys(connection: Connection) -> list[RowMapping]:
    """Return the public halves of all signing keys."""
    return list(connection.execute(select(signing_keys).order_by(signing_keys.c.created_at)).mappings())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
