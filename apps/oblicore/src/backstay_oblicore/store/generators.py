"""Generators with what they ran, burnt and were measured at."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.emissions import POLLUTANTS, Generator, StackTest
from backstay_oblicore.domain.run_hours import Purpose, Run
from backstay_oblicore.store.database import Connection


async def active(
    connection: Connection,
    company: UUID | None,
    *,
    generator: UUID | None = None,
    document: UUID | None = None,
) -> list[Any]:
    """Return the generators that run."""
    return await connection.fetch(
        """
        SELECT one.*
        FROM oblicore.generators AS one
        WHERE one.is_active
          AND one.deleted_at IS NULL
          AND ($1::uuid IS NULL OR one.company_id = $1)
          AND ($2::uuid IS NULL OR one.id = $2)
          AND ($3::uuid IS NULL OR one.document_id = $3)
        ORDER BY one.generator_identifier, one.id
        """,
        company,
        generator,
        document,
    )


async def find(connection: Connection, generator: UUID) -> Any:
    """Return a generator with its site, and whether the asker may add hours; none if it may not be seen."""
    return await connection.fetchrow(
        """
        SELECT one.*, site.name AS site_name, oblicore.may_change(one.company_id, one.site_id) AS may_change
        FROM oblicore.generators AS one
        JOIN oblicore.sites AS site ON site.id = one.site_id
        WHERE one.id = $1 AND one.deleted_at IS NULL
        """,
        generator,
    )


async def add_hours(connection: Connection, row: Any, *, day: date, hours: Decimal, purpose: str) -> None:
    """Write one record of running hours."""
    await connection.execute(
        "INSERT INTO oblicore.run_hour_records (generator_id, company_id, recording_date, hours_recorded, purpose)"
        " VALUES ($1, $2, $3, $4, $5)",
        row["id"],
        row["company_id"],
        day,
        hours,
        purpose,
    )


async def add(connection: Connection, place: Any, **values: Any) -> UUID:
    """Write a new generator of a document."""
    found: UUID = await connection.fetchval(
        """
        INSERT INTO oblicore.generators (
            document_id, company_id, site_id, generator_identifier, anniversary_date, generator_type, fuel_type,
            capacity_mw, annual_run_hour_limit, monthly_run_hour_limit
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        RETURNING id
        """,
        place["id"],
        place["company_id"],
        place["site_id"],
        values["generator_identifier"],
        values["anniversary_date"],
        values["generator_type"],
        values["fuel_type"],
        values["capacity_mw"],
        values["annual_run_hour_limit"],
        values["monthly_run_hour_limit"],
    )
    return found


async def add_stack_test(connection: Connection, row: Any, **values: Any) -> None:
    """Write one stack test."""
    await connection.execute(
        "INSERT INTO oblicore.stack_tests (generator_id, company_id, test_date, nox_rate, so2_rate, co_rate,"
        " particulates_rate, compliance_status) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        row["id"],
        row["company_id"],
        values["test_date"],
        values["nox_rate"],
        values["so2_rate"],
        values["co_rate"],
        values["particulates_rate"],
        values["compliance_status"],
    )


async def add_fuel(connection: Connection, row: Any, *, recording_date: date, quantity: Decimal) -> None:
    """Write one record of fuel."""
    await connection.execute(
        "INSERT INTO oblicore.fuel_records (generator_id, company_id, recording_date, quantity)"
        " VALUES ($1, $2, $3, $4)",
        row["id"],
        row["company_id"],
        recording_date,
        quantity,
    )


async def add_incident(connection: Connection, row: Any, *, incident_date: date, description: str) -> None:
    """Write down one incident."""
    await connection.execute(
        "INSERT INTO oblicore.incidents (generator_id, company_id, incident_date, description)"
        " VALUES ($1, $2, $3, $4)",
        row["id"],
        row["company_id"],
        incident_date,
        description,
    )


async def records_of(connection: Connection, generator: UUID) -> dict[str, list[dict[str, Any]]]:
    """Return the newest stack tests, fuel and incidents of a generator."""
    found = {}
    for name, statement in _RECORDS.items():
        found[name] = [dict(row) for row in await connection.fetch(statement, generator)]
    return found


_RECORDS = {
    "tests": "SELECT test_date, nox_rate::text AS nox_rate, so2_rate::text AS so2_rate, co_rate::text AS co_rate,"
    " particulates_rate::text AS particulates_rate, compliance_status FROM oblicore.stack_tests"
    " WHERE generator_id = $1 ORDER BY test_date DESC, id LIMIT 50",
    "fuel": "SELECT recording_date, quantity FROM oblicore.fuel_records WHERE generator_id = $1"
    " ORDER BY recording_date DESC, id LIMIT 50",
    "incidents": "SELECT incident_date, description FROM oblicore.incidents WHERE generator_id = $1"
    " ORDER BY incident_date DESC, id LIMIT 50",
}


async def runs(connection: Connection, generator: UUID, *, with_drafts: bool = True) -> list[Run]:
    """Return every run of a generator, oldest first."""
    rows = await connection.fetch(
        "SELECT recording_date, hours_recorded, purpose FROM oblicore.run_hour_records"
        " WHERE generator_id = $1 AND ($2 OR NOT is_draft) ORDER BY recording_date, id",
        generator,
        with_drafts,
    )
    return [Run(row["recording_date"], row["hours_recorded"], Purpose(row["purpose"])) for row in rows]


async def runs_by_document(connection: Connection, company: UUID) -> dict[UUID, list[list[Run]]]:
    """Return what each active generator of a company ran, by the document that permits it."""
    found: dict[UUID, list[list[Run]]] = {}
    for row in await active(connection, company):
        found.setdefault(row["document_id"], []).append(await runs(connection, row["id"]))
    return found


async def save_hours(connection: Connection, generator: UUID, *, year: Decimal, month: Decimal) -> None:
    """Keep the fresh sums beside the generator."""
    await connection.execute(
        "UPDATE oblicore.generators SET current_year_hours = $2, current_month_hours = $3, updated_at = now()"
        " WHERE id = $1",
        generator,
        year,
        month,
    )


async def for_report(connection: Connection, row: Any, *, with_drafts: bool) -> Generator:
    """Return a generator with everything that an annual report counts."""
    tests = await connection.fetch(
        "SELECT * FROM oblicore.stack_tests WHERE generator_id = $1 ORDER BY test_date DESC", row["id"]
    )
    fuel = await connection.fetch(
        "SELECT recording_date, quantity FROM oblicore.fuel_records WHERE generator_id = $1", row["id"]
    )
    return Generator(
        id=str(row["id"]),
        identifier=row["generator_identifier"],
        type=row["generator_type"],
        capacity_mw=row["capacity_mw"],
        fuel_type=row["fuel_type"],
        annual_limit=row["annual_run_hour_limit"],
        runs=await runs(connection, row["id"], with_drafts=with_drafts),
        tests=[
            StackTest(
                test["test_date"],
                {name: test[f"{name}_rate"] for name in POLLUTANTS},
                test["compliance_status"],
            )
            for test in tests
        ],
        fuel=[(one["recording_date"], one["quantity"]) for one in fuel],
    )


async def incidents(connection: Connection, document: UUID, start: date, end: date) -> list[dict[str, Any]]:
    """Return what broke down in a period."""
    rows = await connection.fetch(
        """
        SELECT one.incident_date, one.description, one.generator_id
        FROM oblicore.incidents AS one
        JOIN oblicore.generators AS generator ON generator.id = one.generator_id
        WHERE generator.document_id = $1 AND one.incident_date BETWEEN $2 AND $3
        ORDER BY one.incident_date, one.id
        """,
        document,
        start,
        end,
    )
    return [
        {
            "date": row["incident_date"].isoformat(),
            "description": row["description"],
            "generator_id": str(row["generator_id"]),
        }
        for row in rows
    ]
