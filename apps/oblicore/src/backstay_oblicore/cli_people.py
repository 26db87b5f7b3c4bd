"""Commands about people: adding them, who looks after the installation, tokens for their programs."""

from __future__ import annotations

import os
from typing import Annotated, Any
from uuid import UUID

import typer

from backstay.kit import hash_password
from backstay_oblicore.cli_common import Json, do, user_named
from backstay_oblicore.domain.errors import InvalidRequest
from backstay_oblicore.domain.words import Role
from backstay_oblicore.services import Services
from backstay_oblicore.settings import BadSettings
from backstay_oblicore.store import people
from backstay_oblicore.web.access import rights_of, token_for

users = typer.Typer(help="People.")
LONGEST_TOKEN_DAYS = 365


@users.command("add")
def users_add(
    email: str,
    name: str,
    company: UUID,
    role: str,
    site: Annotated[list[UUID] | None, typer.Option()] = None,
    phone: str | None = None,
    password: Annotated[str | None, typer.Option(envvar="OBLICORE_NEW_PASSWORD")] = None,
    platform_admin: Annotated[
        bool, typer.Option("--platform-admin", help="Looks after the installation, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Add somebody with a role in a company; whoever is known already gets the role beside what they have."""

    if role.upper() not in list(Role):
        raise InvalidRequest(f"there is no role {role!r}: it is one of {', '.join(Role).lower()}")

    async def act(services: Services) -> Any:
        async with services.database.as_service() as connection:
            known = await people.user_by_email(connection, email)
            if known is None:
                hashed = hash_password(password) if password else None
                user = await people.add_user(connection, email, name, phone=phone, password_hash=hashed)
            else:
                user = known["id"]
            await people.grant(connection, user, company, role.upper(), sites=tuple(site or ()))
            if platform_admin:
                await people.set_platform_admin(connection, user)
        return {"user_id": str(user), "was_known": known is not None}

    do(act, as_json=as_json)


@users.command("platform-admin")
def users_platform_admin(
    email: str,
    remove: Annotated[bool, typer.Option("--remove", help="Take it back.")] = False,
    as_json: Json = False,
) -> None:
    """Let somebody look after the whole installation: operations, and the alerts of schedules that died."""

    async def act(services: Services) -> Any:
        user = await user_named(services, email)
        async with services.database.as_service() as connection:
            await people.set_platform_admin(connection, user, is_admin=not remove)
            return {"platform_admins": len(await people.platform_admins(connection))}

    do(act, as_json=as_json)


@users.command("token")
def users_token(email: str, days: int = 30, as_json: Json = False) -> None:
    """Make a token with which a program acts for somebody; it is shown once and kept nowhere."""

    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise InvalidRequest(f"a token lasts from 1 to {LONGEST_TOKEN_DAYS} days, not {days}")

    async def act(services: Services) -> Any:
        if "OBLICORE_SECRET" not in os.environ:
            raise BadSettings("a token needs a secret that stays: set OBLICORE_SECRET here and for `serve`")
        user = await user_named(services, email)
        async with services.database.as_service() as connection:
            roles = await rights_of(connection, user)
        return {"token": token_for(services.settings.secret, user, roles, hours=24 * days), "days": days}

    do(act, as_json=as_json)
