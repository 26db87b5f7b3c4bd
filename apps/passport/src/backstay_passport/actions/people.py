"""Who may do what: keys of programs, passwords of people, tokens of partners, each given and taken with an event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from backstay.kit import hash_password, new_api_key
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.events import NewEvent
from backstay_passport.services import Services
from backstay_passport.store import access
from backstay_passport.store.database import as_text

ROLES = ("viewer", "maker", "admin")
LONGEST_DAYS = 3650


def new_key(services: Services, tenant_id: str, name: str, role: str, actor: str | None = None) -> str:
    """Make a key for a program and return it; only its digest is stored."""
    _check_role(role)
    key = new_api_key("bpc")
    with services.database.begin() as connection:
        key_id = access.add_api_key(
            connection, tenant_id, name, prefix=key.prefix, digest=key.digest, role=role
        )
        told = NewEvent("ApiKey", key_id, "API_KEY_MADE", {"name": name, "role": role}, actor)
        services.tell(connection, tenant_id, told)
    return key.text


def revoke_key(services: Services, tenant_id: str, key_id: str, actor: str | None = None) -> None:
    """Let a program's key open nothing any more."""
    with services.database.begin() as connection:
        access.revoke_api_key(connection, tenant_id, key_id)
        services.tell(connection, tenant_id, NewEvent("ApiKey", key_id, "API_KEY_REVOKED", {}, actor))


def new_user(
    services: Services, tenant_id: str, name: str, password: str, role: str, actor: str | None = None
) -> None:
    """Let somebody log in."""
    _check_role(role)
    if not name.strip() or not password:
        raise InvalidInput("somebody who logs in has a name and a password")
    with services.database.begin() as connection:
        user_id = access.add_user(connection, tenant_id, name.strip(), hash_password(password), role)
        told = NewEvent("User", user_id, "USER_ADDED", {"name": name.strip(), "role": role}, actor)
        services.tell(connection, tenant_id, told)


def revoke_user(services: Services, tenant_id: str, name: str, actor: str | None = None) -> None:
    """Let somebody log in no more."""
    with services.database.begin() as connection:
        user_id = access.revoke_user(connection, tenant_id, name)
        services.tell(connection, tenant_id, NewEvent("User", user_id, "USER_REVOKED", {}, actor))


def new_token(
    services: Services,
    tenant_id: str,
    name: str,
    audience: str,
    *,
    days: int | None = None,
    actor: str | None = None,
) -> tuple[str, str]:
    """Make a token for a partner, with an end if `days` are given; return its id and its text, shown only now."""
    expires_at = None if days is None else _after(days)
    with services.database.begin() as connection:
        token_id, text = access.add_token(connection, tenant_id, name, audience, expires_at)
        payload = {"name": name, "audience": audience, "expires_at": expires_at}
        _tell_token(services, connection, tenant_id, token_id, "TOKEN_MADE", payload, actor)
    return token_id, text


def revoke_token(services: Services, tenant_id: str, token_id: str, actor: str | None = None) -> None:
    """Let a partner's token open nothing any more."""
    with services.database.begin() as connection:
        access.revoke_token(connection, tenant_id, token_id)
        _tell_token(services, connection, tenant_id, token_id, "TOKEN_REVOKED", {}, actor)


def _tell_token(
    services: Services,
    connection: Connection,
    tenant_id: str,
    token_id: str,
    event_type: str,
    payload: dict[str, str | None],
    actor: str | None,
) -> None:
    services.tell(connection, tenant_id, NewEvent("AccessToken", token_id, event_type, payload, actor))


def _after(days: int) -> str:
    if not 1 <= days <= LONGEST_DAYS:
        raise InvalidInput(f"a token lasts from 1 to {LONGEST_DAYS} days, not {days}")
    return as_text(datetime.now(UTC) + timedelta(days=days))


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InvalidInput(f"no role {role!r}; there are {', '.join(ROLES)}")
