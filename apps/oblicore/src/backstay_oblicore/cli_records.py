"""Commands that add records: people, evidence, running hours, laboratory results."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from backstay.kit import hash_password
from backstay_oblicore import intake, measuring
from backstay_oblicore.cli_common import As, Json, Site, do, user_named
from backstay_oblicore.domain.errors import InvalidRequest
from backstay_oblicore.domain.run_hours import Purpose
from backstay_oblicore.domain.words import Role
from backstay_oblicore.services import Services
from backstay_oblicore.store import people

users = typer.Typer(help="People.")
evidence = typer.Typer(help="Evidence.")
run_hours = typer.Typer(help="Running hours.")
results = typer.Typer(help="Laboratory results.")


@users.command("add")
def users_add(
    email: str,
    name: str,
    company: UUID,
    role: str,
    site: Annotated[list[UUID] | None, typer.Option()] = None,
    phone: str | None = None,
    password: Annotated[str | None, typer.Option(envvar="OBLICORE_NEW_PASSWORD")] = None,
    as_json: Json = False,
) -> None:
    """Add somebody with a role in a company."""

    if role.upper() not in list(Role):
        raise InvalidRequest(f"there is no role {role!r}: it is one of {', '.join(Role).lower()}")

    async def act(services: Services) -> Any:
        hashed = hash_password(password) if password else None
        async with services.database.as_service() as connection:
            user = await people.add_user(connection, email, name, phone=phone, password_hash=hashed)
            await people.grant(connection, user, company, role.upper(), sites=tuple(site or ()))
        return {"user_id": str(user)}

    do(act, as_json=as_json)


@evidence.command("add")
def evidence_add(
    file: Path,
    site: Site,
    acting: As,
    obligation: Annotated[list[UUID] | None, typer.Option()] = None,
    as_json: Json = False,
) -> None:
    """File a piece of evidence."""

    content = file.read_bytes()

    async def act(services: Services) -> Any:
        found = await intake.add_evidence(
            services,
            content,
            user=await user_named(services, acting),
            site=site,
            file_name=file.name,
            obligations=list(obligation or []),
        )
        return {"evidence_id": str(found)}

    do(act, as_json=as_json)


@run_hours.command("add")
def run_hours_add(
    generator: UUID,
    day: datetime,
    hours: str,
    acting: As,
    purpose: Purpose = Purpose.OTHER,
    as_json: Json = False,
) -> None:
    """Record running hours of a generator."""

    async def act(services: Services) -> Any:
        user = await user_named(services, acting)
        await measuring.record_hours(
            services, generator, day=day.date(), hours=number(hours), purpose=purpose, user=user
        )
        return {"recorded": True}

    do(act, as_json=as_json)


@results.command("add")
def results_add(parameter: UUID, day: datetime, value: str, acting: As, as_json: Json = False) -> None:
    """Record a laboratory result and say how it stands against its limit."""

    async def act(services: Services) -> Any:
        user = await user_named(services, acting)
        stands = await measuring.record_result(
            services, parameter, day=day.date(), value=number(value), user=user
        )
        return {"standing": stands.value}

    do(act, as_json=as_json)


def number(text: str) -> Decimal:
    """Read a number exactly as it was typed."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidRequest(f"not a number: {text!r}") from None
