"""The companies, people, sites and records of the story."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from backstay.kit import hash_password
from backstay_oblicore.services import Services
from backstay_oblicore.store import people
from backstay_parts.sheets import write_xlsx

PASSWORD = "correct horse"  # noqa: S105 - of a demonstration that ends with its database
ROWS, FAULTS = 240, 12


@dataclass(frozen=True)
class Cast:
    """Who and what the story is about."""

    company: UUID
    other: UUID
    factory: UUID
    hall: UUID
    station: UUID
    owner: UUID
    manager: UUID
    staff: UUID
    consultant: UUID


async def gather(services: Services) -> Cast:
    """Make two companies, three sites and four people."""
    hashed = hash_password(PASSWORD)
    async with services.database.connection() as connection, connection.transaction():
        company = await people.add_company(connection, "Brindle Foods")
        other = await people.add_company(connection, "Hartwell Packaging")
        factory = await people.add_site(connection, company, "Brindle Factory")
        hall = await people.add_site(connection, company, "Data Hall")
        station = await people.add_site(connection, company, "Transfer Station", regulator="SEPA")
        mill = await people.add_site(connection, other, "Hartwell Mill")
        ids = {}
        for name, phone in (
            ("owner", "+447700900001"),
            ("manager", "+447700900002"),
            ("staff", "+447700900003"),
        ):
            ids[name] = await people.add_user(
                connection,
                f"{name}@brindle.example",
                name.title(),
                phone=phone,
                password_hash=hashed,
                is_platform_admin=name == "owner",
            )
        sites = (factory, hall, station)
        await people.grant(connection, ids["owner"], company, "OWNER")
        await people.grant(connection, ids["manager"], company, "ADMIN", sites=sites)
        await people.grant(connection, ids["staff"], company, "STAFF", sites=sites)
        consultant = await people.add_user(
            connection, "consultant@green.example", "Cara Consultant", password_hash=hashed
        )
        await people.grant(connection, consultant, company, "CONSULTANT")
        await people.grant(connection, consultant, other, "CONSULTANT")
        await people.grant(connection, ids["owner"], other, "VIEWER", sites=(mill,))
    return Cast(
        company, other, factory, hall, station, ids["owner"], ids["manager"], ids["staff"], consultant
    )


def register(today: date) -> bytes:
    """Write a register of 240 rows, of which 12 have faults."""
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
    faults = (
        ["", "No number", "monthly", today, None],
        ["EPR/BR1", "", "monthly", today, None],
        ["EPR/BR1", "No such day", "monthly", "31/02/2026", None],
        ["EPR/BR1", "No such word", "now and then", today, None],
        ["EPR/BR1", "No such place", "monthly", today, "Atlantis"],
        ["", "", "", "", ""],
    )
    rows: list[list[object]] = []
    for number in range(ROWS):
        if number % 20 == 7:
            fault = list(faults[len(rows) // 20 % 5])
            rows.append(fault)
            continue
        word = ("annually", "quarterly", "one-time", "annually")[number % 4]
        due = today + timedelta(days=10 + (number * 7) % 330)
        rows.append(["EPR/BR1", f"Duty {number:03d} of the register", word, due, None])
    return write_xlsx({"Register": [head, *rows]})  # type: ignore[list-item]  # dates and texts


async def plant(services: Services, cast: Cast, today: date) -> tuple[UUID, UUID]:
    """Register a generator, its tests and last year's hours; return the document and the generator."""
    async with services.database.connection() as connection:
        document: UUID = await connection.fetchval(
            "INSERT INTO oblicore.documents (module_id, company_id, site_id, title, document_type, permit_number,"
            " expiry_date, uploaded_by)"
            " SELECT id, $1, $2, 'Data hall generators', 'MCPD_REGISTRATION', 'MCP/77', $3, $4"
            " FROM oblicore.modules WHERE module_code = 'MODULE_3' RETURNING id",
            cast.company,
            cast.hall,
            today + timedelta(days=200),
            cast.manager,
        )
        generator: UUID = await connection.fetchval(
            "INSERT INTO oblicore.generators (document_id, company_id, site_id, generator_identifier, capacity_mw,"
            " annual_run_hour_limit, anniversary_date) VALUES ($1, $2, $3, 'GEN-3', 1.2, 500, $4) RETURNING id",
            document,
            cast.company,
            cast.hall,
            today - timedelta(days=3),
        )
        await connection.execute(
            "INSERT INTO oblicore.stack_tests (generator_id, company_id, test_date, nox_rate, so2_rate, co_rate,"
            " particulates_rate, compliance_status) VALUES ($1, $2, $3, 1.115, 0.1, 0.2, 0.01, 'PASS')",
            generator,
            cast.company,
            today - timedelta(days=700),
        )
        await connection.execute(
            "INSERT INTO oblicore.run_hour_records (generator_id, company_id, recording_date, hours_recorded)"
            " VALUES ($1, $2, $3, $4)",
            generator,
            cast.company,
            date(today.year - 1, 6, 1),
            Decimal("120.75"),
        )
    return document, generator
