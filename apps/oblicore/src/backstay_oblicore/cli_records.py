"""Commands that add records: evidence, generators and what they did, parameters and their results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer
from pydantic import BaseModel, ValidationError

from backstay_oblicore import intake, measuring, records
from backstay_oblicore.cli_common import As, Json, Site, do, user_named
from backstay_oblicore.domain.errors import InvalidRequest
from backstay_oblicore.domain.run_hours import Purpose
from backstay_oblicore.domain.sampling import LimitKind
from backstay_oblicore.services import Services

Record = TypeVar("Record", bound=BaseModel)
evidence = typer.Typer(help="Evidence.")
run_hours = typer.Typer(help="Running hours.")
results = typer.Typer(help="Laboratory results.")
generators = typer.Typer(help="Generators.")
stack_tests = typer.Typer(help="Stack tests.")
fuel = typer.Typer(help="Fuel.")
incidents = typer.Typer(help="Incidents.")
parameters = typer.Typer(help="Parameters to sample.")


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


@generators.command("add")
def generators_add(
    document: UUID,
    name: str,
    year_from: datetime,
    acting: As,
    annual_limit: str | None = None,
    monthly_limit: str | None = None,
    capacity: Annotated[str | None, typer.Option(help="Thermal input in MW.")] = None,
    fuel_type: str = "gas oil",
    used_as: str = "standby",
    as_json: Json = False,
) -> None:
    """Register a generator under the document that permits it; its limit year begins on a day of the year."""
    new = checked(
        records.NewGenerator,
        generator_identifier=name,
        anniversary_date=year_from.date(),
        annual_run_hour_limit=annual_limit,
        monthly_run_hour_limit=monthly_limit,
        capacity_mw=capacity,
        fuel_type=fuel_type,
        generator_type=used_as,
    )

    async def act(services: Services) -> Any:
        user = await user_named(services, acting)
        return {"generator_id": str(await records.add_generator(services, document, new, user=user))}

    do(act, as_json=as_json)


@parameters.command("add")
def parameters_add(
    document: UUID,
    name: str,
    acting: As,
    frequency: str = "MONTHLY",
    kind: LimitKind = LimitKind.MAXIMUM,
    limit: str | None = None,
    lowest: str | None = None,
    unit: str | None = None,
    as_json: Json = False,
) -> None:
    """Let something be sampled under the document that asks for it."""
    new = checked(
        records.NewParameter,
        parameter_type=name,
        sampling_frequency=frequency.upper(),
        limit_kind=kind,
        limit_value=limit,
        range_minimum=lowest,
        unit=unit,
    )

    async def act(services: Services) -> Any:
        user = await user_named(services, acting)
        return {"parameter_id": str(await records.add_parameter(services, document, new, user=user))}

    do(act, as_json=as_json)


@stack_tests.command("add")
def stack_tests_add(
    generator: UUID,
    day: datetime,
    acting: As,
    nox: str | None = None,
    so2: str | None = None,
    co: str | None = None,
    particulates: str | None = None,
    result: str = "PENDING",
    as_json: Json = False,
) -> None:
    """Write down a stack test, in kilograms an hour."""
    new = checked(
        records.NewStackTest,
        test_date=day.date(),
        nox_rate=nox,
        so2_rate=so2,
        co_rate=co,
        particulates_rate=particulates,
        compliance_status=result.upper(),
    )
    _record(records.add_stack_test, generator, new, acting, as_json=as_json)


@fuel.command("add")
def fuel_add(generator: UUID, day: datetime, quantity: str, acting: As, as_json: Json = False) -> None:
    """Write down fuel that a generator burnt."""
    new = checked(records.NewFuel, recording_date=day.date(), quantity=quantity)
    _record(records.add_fuel, generator, new, acting, as_json=as_json)


@incidents.command("add")
def incidents_add(
    generator: UUID, day: datetime, description: str, acting: As, as_json: Json = False
) -> None:
    """Write down something that went wrong at a generator."""
    new = checked(records.NewIncident, incident_date=day.date(), description=description)
    _record(records.add_incident, generator, new, acting, as_json=as_json)


def _record(
    add: Callable[..., Awaitable[None]], generator: UUID, new: BaseModel, acting: str, *, as_json: bool
) -> None:
    async def act(services: Services) -> Any:
        await add(services, generator, new, user=await user_named(services, acting))
        return {"recorded": True}

    do(act, as_json=as_json)


def checked(record: type[Record], **values: Any) -> Record:
    """Check what was typed; the first thing that is wrong is said in one line."""
    try:
        return record.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the record"
        raise InvalidRequest(f"{place}: {first['msg']}") from None


def number(text: str) -> Decimal:
    """Read a number exactly as it was typed."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise InvalidRequest(f"not a number: {text!r}") from None
