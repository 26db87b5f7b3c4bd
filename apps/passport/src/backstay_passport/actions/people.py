"""Keys of programs and passwords of people."""

from __future__ import annotations

from backstay.kit import hash_password, new_api_key
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.services import Services
from backstay_passport.store import access

ROLES = ("viewer", "maker", "admin")


def new_key(services: Services, tenant_id: str, name: str, role: str) -> str:
    """Make a key for a program and return it; only its digest is stored."""
    _check_role(role)
    key = new_api_key("bpc")
    with services.database.begin() as connection:
        access.add_api_key(connection, tenant_id, name, prefix=key.prefix, digest=key.digest, role=role)
    return key.text


def new_user(services: Services, tenant_id: str, name: str, password: str, role: str) -> None:
    """Let somebody log in."""
    _check_role(role)
    if not name.strip() or not password:
        raise InvalidInput("somebody who logs in has a name and a password")
    with services.database.begin() as connection:
        access.add_user(connection, tenant_id, name.strip(), hash_password(password), role)


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InvalidInput(f"no role {role!r}; there are {', '.join(ROLES)}")
