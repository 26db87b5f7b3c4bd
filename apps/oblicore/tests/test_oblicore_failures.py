"""What goes wrong: one note that a table refuses, jobs that die with their facts, lines that a log must hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest

from backstay import State
from backstay.errors import BackstayError
from backstay_oblicore.domain.registry import JOB_TYPES

DAY = date(2026, 6, 1)


@asynccontextmanager
async def broken(world: Any, table: str, condition: str = "TRUE") -> AsyncIterator[None]:
    """Let a table refuse new rows that fit a condition."""
    await world.execute(
        "CREATE OR REPLACE FUNCTION oblicore.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN IF {condition} THEN RAISE EXCEPTION 'refused for the test'; END IF; RETURN NEW; END $$"
    )
    await world.execute(
        f"CREATE TRIGGER refuse BEFORE INSERT ON oblicore.{table} FOR EACH ROW EXECUTE FUNCTION oblicore.refuse()"
    )
    try:
        yield
    finally:
        await world.execute(f"DROP TRIGGER refuse ON oblicore.{table}")


@asynccontextmanager
async def gone(world: Any, table: str) -> AsyncIterator[None]:
    """Take a table away for a while."""
    await world.execute(f"ALTER TABLE oblicore.{table} RENAME TO {table}_away")
    try:
        yield
    finally:
        await world.execute(f"ALTER TABLE oblicore.{table}_away RENAME TO {table}")


async def furnish(world: Any) -> dict[str, Any]:
    await world.execute("UPDATE oblicore.users SET is_platform_admin = TRUE WHERE id = $1", world.owner)
    paper = await world.document(expiry_date=DAY + timedelta(days=30), document_type="MCPD_REGISTRATION")
    about = {"company_id": world.company, "site_id": world.site, "document_id": paper}
    await world.obligation(paper, frequency="ONE_TIME", base_date=DAY)
    await world.run("MONITORING_SCHEDULE", at=DAY)
    created = DAY - timedelta(days=40)
    meter = await world.insert("parameters", **about, parameter_type="COD", sampling_frequency="WEEKLY")
    await world.execute("UPDATE oblicore.parameters SET created_at = $1", created)
    engine = await world.insert(
        "generators",
        **about,
        generator_identifier="GEN",
        anniversary_date=date(2026, 1, 1),
        annual_run_hour_limit=10,
    )
    await world.insert(
        "run_hour_records",
        company_id=world.company,
        generator_id=engine,
        recording_date=DAY,
        hours_recorded=9,
    )
    await world.execute("DELETE FROM oblicore.notifications")
    return {"paper": paper, "meter": meter, "engine": engine}


@pytest.mark.parametrize(
    ("kind", "entity"),
    [
        ("DEADLINE_ALERT", "deadline"),
        ("EVIDENCE_REMINDER", "obligation"),
        ("SAMPLING_SCHEDULE", "PARAMETER"),
        ("RUN_HOUR_MONITORING", "GENERATOR"),
        ("PERMIT_RENEWAL_REMINDER", "DOCUMENT"),
    ],
)
async def test_one_refused_note_is_logged_and_stops_no_other(
    world: Any, kind: str, entity: str, caplog: pytest.LogCaptureFixture
) -> None:
    """OBL-019 OBL-086 OBL-096"""
    await furnish(world)
    async with broken(world, "notifications", f"NEW.user_id = '{world.manager}'"):
        await world.run(kind, at=DAY)
    told = {row["user_id"] for row in await world.rows("SELECT user_id FROM oblicore.notifications")}
    assert world.manager not in told
    assert "Notification could not be written" in caplog.messages
    is_for_one = kind in ("DEADLINE_ALERT", "EVIDENCE_REMINDER")
    assert bool(told) is not is_for_one

    await world.run(kind, at=DAY)

    rows = await world.rows("SELECT user_id, entity_type FROM oblicore.notifications")
    assert {row["entity_type"] for row in rows} == {entity}
    if is_for_one or kind == "SAMPLING_SCHEDULE":
        assert world.manager in {row["user_id"] for row in rows}


FACTS = {
    "SAMPLING_SCHEDULE": {"parameter_ids"},
    "RUN_HOUR_MONITORING": {"generator_ids", "breaches"},
    "AER_GENERATION": {"document_id", "generators_processed", "validation_errors"},
    "AUDIT_PACK_GENERATION": {"document_id", "obligations_processed"},
    "DOCUMENT_PROCESSING": {"document_id"},
    "EXCEL_IMPORT_PROCESSING": {"import_id"},
}
BREAKS = {
    "MONITORING_SCHEDULE": "deadlines",
    "DEADLINE_ALERT": "deadlines",
    "EVIDENCE_REMINDER": "obligation_evidence_links",
    "SAMPLING_SCHEDULE": "audit_logs",
    "RUN_HOUR_MONITORING": "notifications",
    "PERMIT_RENEWAL_REMINDER": "documents",
    "CROSS_SELL_TRIGGER_DETECTION": "cross_sell_triggers",
    "CONSULTANT_CLIENT_SYNC": "consultant_client_assignments",
}


@pytest.mark.parametrize("kind", list(BREAKS))
async def test_a_job_whose_database_fails_is_tried_again_and_dies_with_its_facts(
    world: Any, kind: str
) -> None:
    """OBL-048 OBL-053 OBL-096 OBL-098"""
    await furnish(world)
    args = {"sync_type": "FULL"} if kind == "CONSULTANT_CLIENT_SYNC" else {}
    job = await world.services.handlers[kind].enqueue(**args)
    async with gone(world, BREAKS[kind]):
        await world.backstay.drain(with_scheduled=True)

    found = await job.get()
    assert (found.state, found.attempt) == (State.DEAD, JOB_TYPES[kind].max_retries + 1)
    [letter] = await world.rows("SELECT * FROM oblicore.dead_letter_queue WHERE job_id = $1", job.id)
    context = letter["error_context"]
    common = {"job_id", "job_type", "input_parameters", "execution_step", "retry_count", "timestamp"}
    assert common | FACTS.get(kind, set()) <= set(context)
    assert context["retry_count"] == JOB_TYPES[kind].max_retries

    await world.run("ALERT_DEAD_LETTERS")

    rows = await world.rows(
        "SELECT user_id, severity, title FROM oblicore.notifications WHERE entity_id = $1 AND channel = 'EMAIL'",
        job.id,
    )
    if JOB_TYPES[kind].told == "nobody":
        assert rows == []
    else:
        assert {row["severity"] for row in rows} == {JOB_TYPES[kind].failure_severity}
        titles = {"SAMPLING_SCHEDULE": "Sampling schedule job failed",
                  "RUN_HOUR_MONITORING": "Run-hour monitoring job failed",
                  "PERMIT_RENEWAL_REMINDER": "Permit renewal reminder job failed"}  # fmt: skip
        assert {row["title"] for row in rows} <= {titles.get(kind, f"Background Job Failed: {kind}")}


@pytest.mark.parametrize("kind", ["DOCUMENT_PROCESSING", "EXCEL_IMPORT_PROCESSING", "AUDIT_PACK_GENERATION"])
async def test_users_jobs_die_at_once_with_their_facts_where_nothing_can_help(world: Any, kind: str) -> None:
    """OBL-043 OBL-072 OBL-098"""
    paper = await world.document()
    sheet = await world.insert(
        "excel_imports",
        company_id=world.company,
        site_id=world.site,
        user_id=world.manager,
        file_path="imports/nothing.xlsx",
    )
    span = {"date_range_start": DAY, "date_range_end": DAY}
    args: dict[str, dict[str, Any]] = {
        "DOCUMENT_PROCESSING": {"document_id": paper, "requested_by": world.manager},
        "EXCEL_IMPORT_PROCESSING": {"import_id": sheet, "user_id": world.manager},
        "AUDIT_PACK_GENERATION": {
            "pack_type": "AUDIT_PACK",
            "company_id": world.company,
            "site_id": world.site,
            "document_id": uuid4(),
            "requested_by": world.manager,
            **span,
        },
    }
    job = await world.services.handlers[kind].enqueue(**args[kind])
    await world.backstay.drain(with_scheduled=True)

    found = await job.get()
    context = await world.value(
        "SELECT error_context FROM oblicore.dead_letter_queue WHERE job_id = $1", job.id
    )
    assert (found.state, found.attempt) == (State.DEAD, 1)
    assert FACTS[kind] <= set(context), set(context)


async def test_progress_and_milestones_are_in_the_log_as_written(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """OBL-095 OBL-097"""
    await furnish(world)
    with caplog.at_level("INFO", logger="backstay.job"):
        for kind in ("MONITORING_SCHEDULE", "SAMPLING_SCHEDULE", "RUN_HOUR_MONITORING"):
            await world.run(kind, at=DAY)
        await world.run(
            "AER_GENERATION",
            document_id=await world.value("SELECT id FROM oblicore.documents"),
            company_id=world.company,
            requested_by=world.manager,
            reporting_period_start=date(2025, 1, 1),
            reporting_period_end=date(2025, 12, 31),
        )
        await world.run("CROSS_SELL_TRIGGER_DETECTION", at=DAY)

    said = {record.getMessage(): record for record in caplog.records if record.levelname == "INFO"}
    lines = (
        "Processed 1/1 parameters",
        "Checked 1/1 generators, 1 threshold breaches",
        "Processing generator 1/1",
    )
    assert set(lines) <= set(said)
    assert vars(said["Schedules calculated"])["total_obligations"] == 1


@pytest.mark.parametrize(
    "args", [{"extraction_mode": "SOME"}, {"document_id": "not an id"}, {"force_reprocess": "perhaps"}]
)
async def test_a_reading_with_wrong_words_is_refused_before_it_is_stored(
    world: Any, args: dict[str, Any]
) -> None:
    """OBL-004 OBL-024"""
    with pytest.raises((BackstayError, TypeError, ValueError)):
        await world.services.handlers["DOCUMENT_PROCESSING"].enqueue(**({"document_id": uuid4()} | args))

    assert await world.backstay.enqueued("DOCUMENT_PROCESSING") == []
