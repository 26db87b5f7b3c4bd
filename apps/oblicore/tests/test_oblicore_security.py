"""Row security by SQL, words that tables refuse, quiet runs, literal progress lines."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from backstay import State
from backstay_oblicore import files
from backstay_oblicore.domain.registry import JOB_TYPES
from backstay_oblicore.store import people

TABLES = (
    "documents", "obligations", "schedules", "deadlines", "evidence_items", "review_queue_items", "extraction_logs",
    "parameters", "lab_results", "generators", "run_hour_records", "aer_documents", "audit_packs",
    "pack_distributions", "excel_imports", "document_sentences", "notifications", "audit_logs",
)  # fmt: skip


async def filled(world: Any) -> UUID:
    """Give a company one row in many tables."""
    document: UUID = await world.document()
    duty = await world.obligation(document, frequency="ONE_TIME", base_date=date(2026, 6, 1))
    await world.run("MONITORING_SCHEDULE", company_id=world.company, at=date(2026, 5, 31))
    await world.run("DEADLINE_ALERT", company_id=world.company, at=date(2026, 5, 31))
    assert duty
    return document


async def visible(world: Any, user: UUID) -> dict[str, int]:
    async with world.services.database.as_user(user) as connection:
        assert await connection.fetchval("SELECT current_user") == "oblicore_user"
        return {
            table: await connection.fetchval(f"SELECT count(*) FROM oblicore.{table}") for table in TABLES
        }


async def test_a_user_sees_no_row_of_another_company(world: Any, other_company: Any) -> None:
    """OBL-085 OBL-093"""
    await filled(world)

    seen = await visible(world, other_company.owner)
    own = await visible(world, world.owner)

    assert seen == dict.fromkeys(TABLES, 0)
    assert (own["documents"], own["obligations"], own["deadlines"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("role", "with_site", "sees", "changes"),
    [
        ("OWNER", False, 1, 1),
        ("ADMIN", False, 1, 1),
        ("STAFF", True, 1, 1),
        ("STAFF", False, 0, 0),
        ("VIEWER", True, 1, 0),
        ("CONSULTANT", False, 1, 0),
    ],
)
async def test_each_role_sees_and_changes_what_it_may(
    world: Any, role: str, with_site: bool, sees: int, changes: int
) -> None:
    """OBL-085"""
    document = await filled(world)
    async with world.services.database.connection() as connection:
        user = await people.add_user(connection, "new@brindle.example", "New")
        await people.grant(connection, user, world.company, role, sites=(world.site,) if with_site else ())

    async with world.services.database.as_user(user) as connection:
        seen = await connection.fetchval("SELECT count(*) FROM oblicore.obligations")
        done = await connection.execute("UPDATE oblicore.obligations SET status = 'IN_PROGRESS'")

    assert (seen, done) == (sees, f"UPDATE {changes}")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with world.services.database.as_user(user) as connection:
            await connection.execute("UPDATE oblicore.user_roles SET role = 'OWNER'")
    assert document


async def test_a_user_cannot_write_into_another_company(world: Any, other_company: Any) -> None:
    """OBL-085"""
    document = await filled(world)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with world.services.database.as_user(other_company.owner) as connection:
            await connection.execute(
                "INSERT INTO oblicore.obligations (document_id, company_id, site_id, summary) VALUES ($1, $2, $3, 'x')",
                document,
                world.company,
                world.site,
            )


async def test_severities_and_alert_types_are_closed_sets(world: Any) -> None:
    """OBL-087"""
    known = {
        "user_id": world.owner,
        "alert_type": "SYSTEM",
        "channel": "IN_APP",
        "title": "t",
        "message": "m",
    }
    await world.insert("notifications", **known, severity="SUCCESS")

    for wrong in ({"severity": "LOUD"}, {"severity": "INFO", "alert_type": "NEWS"}):
        with pytest.raises(asyncpg.CheckViolationError):
            await world.insert("notifications", **(known | wrong))


@pytest.mark.parametrize(
    "kind",
    ["MONITORING_SCHEDULE", "SAMPLING_SCHEDULE", "RUN_HOUR_MONITORING", "PERMIT_RENEWAL_REMINDER",
     "CROSS_SELL_TRIGGER_DETECTION"],
)  # fmt: skip
async def test_a_clean_run_says_nothing_about_itself(world: Any, kind: str) -> None:
    """OBL-002"""
    await world.run(kind)

    assert await world.value("SELECT count(*) FROM oblicore.notifications") == 0


async def test_a_name_that_begins_alike_is_another_file(world: Any) -> None:
    """OBL-090"""
    await world.services.storage.put("evidence/a.pdf.bak", b"x", content_type="application/pdf")

    found, _ = await files.found(world.services.storage, "evidence/a.pdf")

    assert found is None


@pytest.mark.parametrize("kind", ["DEADLINE_ALERT", "CONSULTANT_CLIENT_SYNC"])
async def test_a_database_that_always_fails_is_tried_as_often_as_the_type_says(world: Any, kind: str) -> None:
    """OBL-084 OBL-096"""
    await world.execute("ALTER TABLE oblicore.companies RENAME TO companies_away")
    await world.execute("ALTER TABLE oblicore.consultant_client_assignments RENAME TO assignments_away")
    try:
        args = {"sync_type": "FULL"} if kind == "CONSULTANT_CLIENT_SYNC" else {}
        job = await world.services.handlers[kind].enqueue(**args)
        await world.backstay.drain(with_scheduled=True)
    finally:
        await world.execute("ALTER TABLE oblicore.companies_away RENAME TO companies")
        await world.execute("ALTER TABLE oblicore.assignments_away RENAME TO consultant_client_assignments")

    found = await job.get()
    assert found.state is State.DEAD
    assert found.attempt == JOB_TYPES[kind].max_retries + 1
