"""What a site has and is measured at: generators and their records, parameters to sample; checked, then stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.sampling import LimitKind
from backstay_oblicore.services import Services
from backstay_oblicore.store import generators, parameters
from backstay_oblicore.store.database import Connection

Figure = Annotated[Decimal, Field(ge=0, le=Decimal("1e9"), allow_inf_nan=False)]
Level = Annotated[Decimal, Field(ge=Decimal("-1e9"), le=Decimal("1e9"), allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=100)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class NewGenerator(_Record):
    """A generator, as the registration describes it."""

    generator_identifier: Name
    anniversary_date: date
    generator_type: Name = "standby"
    fuel_type: Name = "gas oil"
    capacity_mw: Figure | None = None
    annual_run_hour_limit: Figure | None = None
    monthly_run_hour_limit: Figure | None = None


class NewStackTest(_Record):
    """What was measured at a generator's stack, in kilograms an hour."""

    test_date: date
    nox_rate: Figure | None = None
    so2_rate: Figure | None = None
    co_rate: Figure | None = None
    particulates_rate: Figure | None = None
    compliance_status: Literal["PENDING", "PASS", "FAIL", "NON_COMPLIANT"] = "PENDING"


class NewFuel(_Record):
    """Fuel that a generator burnt, in the unit that the registration reports."""

    recording_date: date
    quantity: Figure


class NewIncident(_Record):
    """Something that went wrong at a generator."""

    incident_date: date
    description: Annotated[str, Field(min_length=1, max_length=2000)]


class NewParameter(_Record):
    """Something that is sampled, with its limit if it has one."""

    parameter_type: Name
    sampling_frequency: Literal["DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "ANNUAL"] = "MONTHLY"
    limit_kind: LimitKind = LimitKind.MAXIMUM
    limit_value: Level | None = None
    range_minimum: Level | None = None
    unit: Annotated[str, Field(max_length=30)] | None = None

    @model_validator(mode="after")
    def _range_is_one(self) -> NewParameter:
        if self.limit_kind is not LimitKind.RANGE:
            return self
        if self.limit_value is None or self.range_minimum is None or self.range_minimum > self.limit_value:
            raise ValueError("a range needs a lowest and a highest value, in this order")
        return self


async def add_generator(services: Services, document: UUID, new: NewGenerator, *, user: UUID) -> UUID:
    """Register a generator under the document that permits it."""
    async with services.database.as_user(user) as connection:
        place = await _document(connection, document)
        return await generators.add(connection, place, **new.model_dump())


async def add_parameter(services: Services, document: UUID, new: NewParameter, *, user: UUID) -> UUID:
    """Let something be sampled under the document that asks for it."""
    async with services.database.as_user(user) as connection:
        place = await _document(connection, document)
        return await parameters.add(connection, place, **new.model_dump())


async def add_stack_test(
    services: Services, generator: UUID, new: NewStackTest, *, user: UUID, now: datetime | None = None
) -> None:
    """Write down a stack test; the annual report uses the newest."""
    async with _generator(services, generator, new.test_date, user, now) as (connection, row):
        await generators.add_stack_test(connection, row, **new.model_dump())


async def add_fuel(
    services: Services, generator: UUID, new: NewFuel, *, user: UUID, now: datetime | None = None
) -> None:
    """Write down fuel that was burnt."""
    async with _generator(services, generator, new.recording_date, user, now) as (connection, row):
        await generators.add_fuel(connection, row, **new.model_dump())


async def add_incident(
    services: Services, generator: UUID, new: NewIncident, *, user: UUID, now: datetime | None = None
) -> None:
    """Write down a breakdown or another incident."""
    async with _generator(services, generator, new.incident_date, user, now) as (connection, row):
        await generators.add_incident(connection, row, **new.model_dump())


async def _document(connection: Connection, document: UUID) -> Any:
    row = await connection.fetchrow(
        "SELECT id, company_id, site_id FROM oblicore.documents WHERE id = $1 AND deleted_at IS NULL"
        " AND oblicore.may_change(company_id, site_id)",
        document,
    )
    if row is None:
        raise AccessDenied("there is no such document, or you may not add anything to it")
    return row


@asynccontextmanager
async def _generator(
    services: Services, generator: UUID, day: date, user: UUID, now: datetime | None
) -> AsyncIterator[tuple[Connection, Any]]:
    """Open a transaction with the user's rights on a generator that they may add a record of the past to."""
    today = (now or datetime.now(UTC)).date()
    if day > today:
        raise InvalidRequest(f"{day} has not come yet: records are of the past")
    async with services.database.as_user(user) as connection:
        row = await generators.find(connection, generator)
        if row is None or not row["may_change"]:
            raise AccessDenied("there is no such generator, or you may not add records to it")
        yield connection, row
