"""Sampling, running hours, annual reports, renewals, suggestions, portfolios, deaths: the jobs."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pdfplumber
import pytest

from backstay import State
from backstay_oblicore.domain.registry import JOB_TYPES, PRIORITIES
from backstay_oblicore.store import people

TODAY = date(2026, 5, 20)


async def parameter(world: Any, **values: Any) -> UUID:
    document = await world.document(module="MODULE_2", document_type="TRADE_EFFLUENT_CONSENT")
    known = {
        "company_id": world.company,
        "site_id": world.site,
        "parameter_type": "COD",
        "sampling_frequency": "WEEKLY",
    }
    created = {"created_at": datetime(2026, 5, 1, tzinfo=UTC)}
    found: UUID = await world.insert("parameters", document_id=document, **(known | created | values))
    return found


async def generator(world: Any, hours: str = "0", *, on: date = TODAY, **values: Any) -> UUID:
    document = values.pop("document", None) or await world.document(
        module="MODULE_3", document_type="MCPD_REGISTRATION"
    )
    known = {"company_id": world.company, "site_id": world.site, "generator_identifier": "GEN-3"}
    limits = {"annual_run_hour_limit": Decimal(500), "anniversary_date": date(2020, 4, 1)}
    found: UUID = await world.insert("generators", document_id=document, **(known | limits | values))
    if Decimal(hours):
        await run(world, found, hours, on)
    return found


async def run(world: Any, found: UUID, hours: str, on: date) -> None:
    await world.insert(
        "run_hour_records",
        generator_id=found,
        company_id=world.company,
        recording_date=on,
        hours_recorded=Decimal(hours),
    )


@pytest.mark.parametrize(
    ("last", "severity"),
    [(18, None), (13, "WARNING"), (11, "WARNING"), (10, "ERROR"), (4, "ERROR")],
)
async def test_a_missed_sample_is_reminded_of_once_a_day(world: Any, last: int, severity: str | None) -> None:
    """OBL-044 OBL-046 OBL-047 OBL-048"""
    found = await parameter(world)
    await world.insert(
        "lab_results",
        parameter_id=found,
        company_id=world.company,
        site_id=world.site,
        sample_date=date(2026, 5, last),
        recorded_value=Decimal(1),
    )

    first = await world.run("SAMPLING_SCHEDULE", at=TODAY)
    again = await world.run("SAMPLING_SCHEDULE", at=TODAY)

    assert first["told"] == (0 if severity is None else 2)
    assert again["told"] == 0
    rows = await world.rows("SELECT * FROM oblicore.notifications")
    assert {row["severity"] for row in rows} == ({severity} if severity else set())
    if rows:
        assert rows[0]["title"] == "Sample Due: COD"
        assert rows[0]["message"] == "Sampling is due for COD at Brindle Factory"
        assert (rows[0]["entity_type"], rows[0]["entity_id"], rows[0]["channel"]) == (
            "PARAMETER",
            found,
            "IN_APP",
        )
    trail = await world.rows("SELECT * FROM oblicore.audit_logs")
    assert [row["action_type"] for row in trail] == ["SAMPLING_SCHEDULE_GENERATED"] * 2
    assert trail[0]["user_id"] is None
    [job, _] = await world.backstay.enqueued("SAMPLING_SCHEDULE")
    assert (await world.services.app.jobs.get(job.id)).progress.message == "Processed 1/1 parameters"


@pytest.mark.parametrize(
    ("hours", "title", "channels"),
    [
        ("399.9", None, 0),
        ("400", "Run-Hour Limit 80% Warning", 2),
        ("450", "Run-Hour Limit 90% Reached", 2),
        ("500", "Run-Hour Limit Breached", 3),
    ],
)
async def test_run_hours_are_told_at_their_levels(
    world: Any, hours: str, title: str | None, channels: int
) -> None:
    """OBL-049 OBL-050 OBL-051 OBL-052 OBL-053"""
    found = await generator(world, hours)

    first = await world.run("RUN_HOUR_MONITORING", at=TODAY)
    again = await world.run("RUN_HOUR_MONITORING", at=TODAY + timedelta(days=1))

    assert (first["breaches"], again["breaches"]) == (1 if title else 0, 0)
    rows = await world.rows("SELECT * FROM oblicore.notifications")
    assert len(rows) == 3 * channels
    assert {row["title"] for row in rows} == ({title} if title else set())
    if rows:
        assert f"Year-to-date: {hours} hours." in rows[0]["message"]
    assert await world.value(
        "SELECT current_year_hours FROM oblicore.generators WHERE id = $1", found
    ) == Decimal(hours)
    [job, _] = await world.backstay.enqueued("RUN_HOUR_MONITORING")
    line = (await world.services.app.jobs.get(job.id)).progress.message
    assert line == f"Checked 1/1 generators, {1 if title else 0} threshold breaches"


async def test_the_next_limit_year_and_a_higher_level_are_told_again(world: Any) -> None:
    """OBL-052"""
    found = await generator(world, "450")
    await world.run("RUN_HOUR_MONITORING", at=TODAY)
    await run(world, found, "60", TODAY)

    higher = await world.run("RUN_HOUR_MONITORING", at=TODAY)
    await run(world, found, "450", date(2027, 4, 2))
    next_year = await world.run("RUN_HOUR_MONITORING", at=date(2027, 4, 3))

    assert (higher["breaches"], next_year["breaches"]) == (1, 1)


async def test_bad_hours_and_missing_limits_stop_nobody(world: Any) -> None:
    """OBL-049 OBL-053"""
    await generator(world, "-5")
    await generator(world, "10", annual_run_hour_limit=None)

    result = await world.run("RUN_HOUR_MONITORING", at=TODAY)

    assert result["generators"] == 2
    assert (
        await world.value("SELECT count(*) FROM oblicore.audit_logs WHERE action_type = 'RUN_HOURS_INVALID'")
        == 1
    )


async def test_the_annual_report_agrees_on_paper_in_the_table_and_in_the_row(world: Any) -> None:
    """OBL-054 OBL-055 OBL-057 OBL-058 OBL-059 OBL-060"""
    document = await world.document(module="MODULE_3", document_type="MCPD_REGISTRATION", title="Data hall")
    found = await generator(world, "120.75", on=date(2025, 6, 1), document=document)
    await world.insert(
        "stack_tests",
        generator_id=found,
        company_id=world.company,
        test_date=date(2024, 3, 1),
        nox_rate=Decimal("1.115"),
        so2_rate=Decimal("0.1"),
        co_rate=Decimal("0.2"),
        particulates_rate=Decimal("0.01"),
        compliance_status="PASS",
    )
    await world.run("AER_GENERATION", at=datetime(2026, 1, 15, 8, tzinfo=UTC))
    again = await world.run("AER_GENERATION", at=datetime(2026, 1, 15, 8, tzinfo=UTC))

    await world.backstay.drain()

    assert again["reports"] == 1
    [row] = await world.rows("SELECT * FROM oblicore.aer_documents")
    assert (row["status"], row["is_validated"], row["total_run_hours"]) == ("DRAFT", True, Decimal("120.75"))
    assert row["submission_deadline"] == date(2026, 1, 31)
    assert row["emissions_data"][0]["nox_total"] == 134.64
    base = f"aer-documents/{world.company}/{document}/{row['id']}/"
    assert row["generated_file_path"] == base
    with pdfplumber.open(io.BytesIO(await world.services.storage.get(f"{base}aer-2025.pdf"))) as pdf:
        text = "\n".join(page.extract_text() for page in pdf.pages)
    table = (await world.services.storage.get(f"{base}aer-2025-data.csv")).decode("utf-8-sig")
    [line] = list(csv.DictReader(io.StringIO(table)))
    for name in ("Generator Details", "Reporting Period", "Run-Hours Summary", "Fuel Consumption", "Emissions Data",
                 "Stack Test Results", "Incidents/Breakdowns"):  # fmt: skip
        assert name in text
    assert line["nox_total_kg"] == "134.64"
    assert "134.64" in text
    assert "120.75" in text
    assert line["total_run_hours"] == "120.75"
    message = await world.value("SELECT message FROM oblicore.notifications LIMIT 1")
    assert message == "AER generated successfully for period 2025-01-01 - 2025-12-31"


async def test_a_report_without_data_is_drawn_up_with_its_findings(world: Any) -> None:
    """OBL-056"""
    document = await world.document(module="MODULE_3", document_type="MCPD_REGISTRATION")
    await generator(world, document=document)
    start, end = date(2025, 1, 1), date(2025, 12, 31)

    await world.run(
        "AER_GENERATION",
        document_id=document,
        company_id=world.company,
        reporting_period_start=start,
        reporting_period_end=end,
        requested_by=world.staff,
    )

    [row] = await world.rows("SELECT * FROM oblicore.aer_documents")
    assert row["is_validated"] is False
    assert {one["field"] for one in row["validation_errors"]} == {"run_hours", "stack_tests"}


async def test_renewals_are_told_to_wider_circles_once(world: Any) -> None:
    """OBL-061 OBL-062 OBL-063"""
    await world.document(expiry_date=TODAY + timedelta(days=90), title="Consent", permit_number="TE/1")

    first = await world.run("PERMIT_RENEWAL_REMINDER", at=TODAY)
    again = await world.run("PERMIT_RENEWAL_REMINDER", at=TODAY)
    missed = await world.run("PERMIT_RENEWAL_REMINDER", at=TODAY + timedelta(days=62))
    last = await world.run("PERMIT_RENEWAL_REMINDER", at=TODAY + timedelta(days=83))

    assert [result["reminders"] for result in (first, again, missed, last)] == [2, 0, 3, 3]
    rows = await world.rows(
        "SELECT * FROM oblicore.notifications WHERE channel = 'EMAIL' ORDER BY created_at"
    )
    assert rows[0]["title"] == "90 Days: Consent Renewal"
    assert rows[0]["message"] == (
        "Your ENVIRONMENTAL_PERMIT (TE/1) expires on 2026-08-18. Please initiate renewal process."
    )
    assert rows[0]["metadata"] == {
        "reminder_type": "PERMIT_RENEWAL",
        "reminder_days": 90,
        "expiry_date": "2026-08-18",
    }
    assert [row["severity"] for row in rows] == ["INFO"] * 2 + ["WARNING"] * 3 + ["CRITICAL"] * 3


async def test_words_of_other_modules_are_suggested_once(world: Any) -> None:
    """OBL-064 OBL-065 OBL-066 OBL-067 OBL-069"""
    text = "Trade effluent goes to the sewer. The standby generator is a CHP."
    document = await world.document(extraction_status="COMPLETED", extracted_text=text)

    first = await world.run("CROSS_SELL_TRIGGER_DETECTION")
    again = await world.run("CROSS_SELL_TRIGGER_DETECTION", process_recent_only=False)

    assert (first["triggers"], again["triggers"]) == (2, 0)
    rows = await world.rows("SELECT * FROM oblicore.cross_sell_triggers ORDER BY detected_keywords")
    assert {tuple(row["detected_keywords"]) for row in rows} == {
        ("trade effluent", "sewer"),
        ("generator", "chp"),
    }
    assert {row["trigger_source"] for row in rows} == {str(document)}
    assert rows[0]["metadata"]["confidence"] == 0.4
    notes = await world.rows("SELECT * FROM oblicore.notifications ORDER BY title")
    assert [note["user_id"] for note in notes] == [world.owner] * 2
    assert notes[1]["title"] == "Module Suggestion: Trade Effluent"
    assert notes[1]["message"] == (
        "We detected references to trade effluent in your permit. Would you like to activate Trade Effluent?"
    )


async def test_an_active_module_is_not_suggested_and_a_breach_suggests_one(world: Any) -> None:
    """OBL-066 OBL-068"""
    await world.document(extraction_status="COMPLETED", extracted_text="A sewer.")
    await world.execute(
        "INSERT INTO oblicore.module_activations (company_id, module_id)"
        " SELECT $1, id FROM oblicore.modules WHERE module_code = 'MODULE_2'",
        world.company,
    )
    await generator(world, "500")
    await world.run("RUN_HOUR_MONITORING", at=TODAY)

    result = await world.run("CROSS_SELL_TRIGGER_DETECTION")

    assert result["triggers"] == 1
    assert await world.value("SELECT trigger_type FROM oblicore.cross_sell_triggers") == "EXTERNAL_EVENT"


async def test_a_consultant_sees_clients_that_still_hold(world: Any, other_company: Any) -> None:
    """OBL-083"""
    async with world.services.database.connection() as connection:
        consultant = await people.add_user(connection, "c@consult.example", "Cara Consultant")
        await people.grant(connection, consultant, world.company, "CONSULTANT")
        await people.grant(connection, consultant, other_company.company, "CONSULTANT")
    document = await world.document()
    await world.obligation(document, status="OVERDUE", deadline_date=TODAY)
    await world.obligation(document, status="COMPLETED")
    await world.execute(
        "UPDATE oblicore.companies SET deleted_at = now() WHERE id = $1", other_company.company
    )

    result = await world.run("CONSULTANT_CLIENT_SYNC", sync_type="FULL", at=TODAY)

    assert result["consultants"] == 1
    [row] = await world.rows("SELECT * FROM oblicore.consultant_dashboard_cache")
    assert (row["client_company_id"], row["data"]["score"], row["data"]["overdue"]) == (
        world.company,
        50.0,
        1,
    )
    statuses = await world.rows(
        "SELECT client_company_id, status FROM oblicore.consultant_client_assignments"
    )
    assert {row["client_company_id"]: row["status"] for row in statuses} == {
        world.company: "ACTIVE",
        other_company.company: "INACTIVE",
    }
    assert await world.value("SELECT title FROM oblicore.notifications") == "Client portfolio updated"
    async with world.services.database.as_user(consultant) as connection:
        assert len(await connection.fetch("SELECT id FROM oblicore.obligations")) == 2


async def test_every_death_is_told_once_to_the_right_people(world: Any) -> None:
    """OBL-092 OBL-098"""
    document = uuid4()
    await world.services.handlers["DOCUMENT_PROCESSING"].enqueue(
        document_id=document, requested_by=world.staff
    )
    job = await world.services.handlers["PACK_DISTRIBUTION"].enqueue(
        pack_id=uuid4(),
        distribution_method="EMAIL",
        requested_by=world.manager,
        recipients=[{"email": "a@b.example"}],
    )
    await world.backstay.drain(with_scheduled=True)

    first = await world.run("ALERT_DEAD_LETTERS")
    again = await world.run("ALERT_DEAD_LETTERS")

    assert (first["letters"], again["letters"]) == (2, 0)
    rows = await world.rows("SELECT * FROM oblicore.notifications WHERE channel = 'EMAIL' ORDER BY title")
    assert [(row["user_id"], row["severity"]) for row in rows] == [
        (world.staff, "WARNING"),
        (world.manager, "ERROR"),
    ]
    assert rows[0]["title"] == "Background Job Failed: DOCUMENT_PROCESSING"
    assert rows[1]["message"].startswith("The PACK_DISTRIBUTION job failed after 0 retries. Error: ")
    letters = await world.rows("SELECT * FROM oblicore.dead_letter_queue WHERE resolved_at IS NULL")
    assert {row["job_type"] for row in letters} == {"DOCUMENT_PROCESSING", "PACK_DISTRIBUTION"}
    await world.services.app.dead_letters.resolve(job.id, by="ada", reason="sent by hand")
    assert await world.value("SELECT count(*) FROM oblicore.dead_letter_queue WHERE resolved_at IS NULL") == 1
    assert (await job.get()).state is State.RESOLVED


async def _sample(world: Any, kind: str, options: dict[str, Any]) -> Any:
    """Store one job of a kind, to see where it waits and with which numbers."""
    day, user = date(2026, 1, 1), {"requested_by": uuid4()}
    span = {"company_id": uuid4(), "date_range_start": day, "date_range_end": day}
    needed: dict[str, dict[str, Any]] = {
        "DOCUMENT_PROCESSING": {"document_id": uuid4()},
        "EXCEL_IMPORT_PROCESSING": {"import_id": uuid4(), "user_id": uuid4()},
        "AUDIT_PACK_GENERATION": {"pack_type": "AUDIT_PACK", **span, **user},
        "PACK_DISTRIBUTION": {"pack_id": uuid4(), "distribution_method": "EMAIL", **user},
        "CONSULTANT_CLIENT_SYNC": {"sync_type": "FULL"},
    }
    return await world.services.handlers[kind].options(**options).enqueue(**needed.get(kind, {}))


async def test_all_thirteen_types_are_registered_with_their_numbers(world: Any) -> None:
    """OBL-001"""
    assert len(JOB_TYPES) == 13
    for job in JOB_TYPES.values():
        args = {"delay": "1h"}
        stored = await (await _sample(world, job.name, args)).get()
        assert (stored.queue, stored.priority) == (job.queue, PRIORITIES[job.priority])
    crons = {job.name: job.cron for job in JOB_TYPES.values() if job.cron}
    assert crons == {
        "MONITORING_SCHEDULE": "0 * * * *",
        "DEADLINE_ALERT": "0 */6 * * *",
        "EVIDENCE_REMINDER": "0 9 * * *",
        "SAMPLING_SCHEDULE": "0 6 * * *",
        "RUN_HOUR_MONITORING": "0 7 * * *",
        "AER_GENERATION": "0 8 15 1 *",
        "PERMIT_RENEWAL_REMINDER": "0 8 * * *",
        "CROSS_SELL_TRIGGER_DETECTION": "0 */6 * * *",
        "CONSULTANT_CLIENT_SYNC": "0 2 * * *",
    }
