"""Parameters that are sampled, and their laboratory results."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.sampling import Limit, LimitKind
from backstay_oblicore.store.database import Connection


async def find(connection: Connection, parameter: UUID) -> Any:
    """Return a parameter with its site, and whether the asker may add results; none if it may not be seen."""
    return await connection.fetchrow(
        """
        SELECT one.*, site.name AS site_name, site.regulator,
               oblicore.may_change(one.company_id, one.site_id) AS may_change
        FROM oblicore.parameters AS one
        JOIN oblicore.sites AS site ON site.id = one.site_id
        WHERE one.id = $1
        """,
        parameter,
    )


async def add(connection: Connection, place: Any, **values: Any) -> UUID:
    """Write a new parameter of a document."""
    found: UUID = await connection.fetchval(
        """
        INSERT INTO oblicore.parameters (
            document_id, company_id, site_id, parameter_type, sampling_frequency, limit_kind, limit_value,
            range_minimum, unit
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        RETURNING id
        """,
        place["id"],
        place["company_id"],
        place["site_id"],
        values["parameter_type"],
        values["sampling_frequency"],
        values["limit_kind"],
        values["limit_value"],
        values["range_minimum"],
        values["unit"],
    )
    return found


def limit_of(row: Any) -> Limit:
    """Return a parameter's limit; a lower limit is stored as the one limit there is."""
    kind = LimitKind(row["limit_kind"])
    unit = row["unit"] or ""
    if kind is LimitKind.MINIMUM:
        lowest = row["range_minimum"] if row["range_minimum"] is not None else row["limit_value"]
        return Limit(kind, minimum=lowest, unit=unit)
    return Limit(kind, row["limit_value"], row["range_minimum"], unit)


async def results(connection: Connection, parameter: UUID) -> list[Any]:
    """Return the newest results, newest first."""
    return await connection.fetch(
        "SELECT id, sample_date, recorded_value, standing FROM oblicore.lab_results WHERE parameter_id = $1"
        " ORDER BY sample_date DESC, id LIMIT 500",
        parameter,
    )


async def add_result(
    connection: Connection, row: Any, *, day: date, value: Decimal, standing: str, user: UUID
) -> UUID:
    """Write one result."""
    found: UUID = await connection.fetchval(
        "INSERT INTO oblicore.lab_results (parameter_id, company_id, site_id, sample_date, recorded_value, standing,"
        " recorded_by) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        row["id"],
        row["company_id"],
        row["site_id"],
        day,
        value,
        standing,
        user,
    )
    return found
