"""What leaves, what the ledger says of it, and who hears when nothing can leave."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest

from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.words import Role
from backstay_oblicore.handlers.deadline_alert import notes_for
from backstay_oblicore.web import queries
from backstay_oblicore.web.calendars import calendar_file

DUE = date(2026, 6, 15)
COUNTS = (
    "total_obligations", "complete_count", "pending_count", "overdue_count", "evidence_count",
    "integrity_errors_count", "generation_time_ms",
)  # fmt: skip
CLAUSE = "The operator shall send the report by 15 June each year."


async def due_duty(world: Any, **values: Any) -> Any:
    """Let a duty come due and be alerted; return it."""
    document = await world.document()
    known = {"frequency": "ONE_TIME", "base_date": DUE, "original_text": CLAUSE, "assigned_to": world.staff}
    duty = await world.obligation(document, **(known | values))
    await world.run("MONITORING_SCHEDULE", at=DUE - timedelta(days=20))
    await world.run("DEADLINE_ALERT", at=DUE)
    return duty


async def test_the_ledger_has_the_servers_own_words(world: Any, mail_server: Any) -> None:
    """OBL-088"""
    await due_duty(world)

    await world.backstay.drain()

    rows = await world.rows("SELECT DISTINCT reply FROM oblicore.notifications WHERE channel = 'EMAIL'")
    assert [row["reply"] for row in rows] == ["250 Message accepted for delivery"]


async def test_a_mail_about_a_deadline_quotes_the_clause_and_brings_the_day(
    world: Any, mail_server: Any
) -> None:
    duty = await due_duty(world)

    await world.backstay.drain()

    [mail] = mail_server.wait_for(1, to="staff@brindle.example")
    assert f"> {CLAUSE}" in mail.text
    assert f"<blockquote>{CLAUSE}</blockquote>" in mail.message.get_body(("html",)).get_content()
    calendar = mail.attachments["deadlines.ics"].decode()
    assert "DTSTART;VALUE=DATE:20260615" in calendar
    assert f"/obligations/{duty}" in calendar.replace("\r\n ", "")


async def test_without_a_provider_a_text_message_ends_in_the_ledger_and_kills_nothing(world: Any) -> None:
    world.services.settings = replace(world.services.settings, sms_url="")
    await due_duty(world)

    drained = await world.backstay.drain()

    assert drained.dead == 0
    rows = await world.rows("SELECT DISTINCT status, reply FROM oblicore.notifications WHERE channel = 'SMS'")
    [row] = rows
    assert row["status"] == "FAILED"
    assert row["reply"].startswith("no SMS provider is set: OBLICORE_SMS_URL")


async def test_a_reader_without_a_phone_gets_mail_and_no_letter_dies(world: Any) -> None:
    await world.execute("UPDATE oblicore.users SET phone = NULL")
    await due_duty(world)

    drained = await world.backstay.drain()

    assert drained.dead == 0
    replies = await world.rows("SELECT DISTINCT reply FROM oblicore.notifications WHERE channel = 'SMS'")
    assert [row["reply"] for row in replies] == ["the reader has no phone number"]


async def test_a_death_waits_until_there_is_somebody_to_tell(world: Any) -> None:
    """OBL-092"""
    job = await world.services.handlers["SAMPLING_SCHEDULE"].enqueue()
    await world.execute("ALTER TABLE oblicore.parameters RENAME TO parameters_away")
    try:
        await world.backstay.drain(with_scheduled=True)
    finally:
        await world.execute("ALTER TABLE oblicore.parameters_away RENAME TO parameters")
    assert (await job.get()).state == "dead"

    unheard = await world.run("ALERT_DEAD_LETTERS")
    await world.execute("UPDATE oblicore.users SET is_platform_admin = TRUE WHERE id = $1", world.owner)
    heard = await world.run("ALERT_DEAD_LETTERS")
    again = await world.run("ALERT_DEAD_LETTERS")

    assert (unheard["letters"], unheard["without_reader"]) == (0, 1)
    assert (heard["letters"], again["letters"]) == (1, 0)
    readers = await world.rows("SELECT DISTINCT user_id FROM oblicore.notifications")
    assert [row["user_id"] for row in readers] == [world.owner]


async def test_whoever_sent_a_pack_hears_that_it_did_not_arrive(world: Any, mail_server: Any) -> None:
    """OBL-082 OBL-092"""
    pack = await world.insert(
        "audit_packs",
        company_id=world.company,
        pack_type="AUDIT_PACK",
        date_range_start=DUE,
        date_range_end=DUE,
        storage_path="audit-packs/p.pdf",
        generated_by=world.owner,
        content={},
        manifest=[],
        file_sha256="x",
        **dict.fromkeys(COUNTS, 0),
    )
    await world.services.storage.put("audit-packs/p.pdf", b"%PDF", content_type="application/pdf")
    mail_server.refuse("gone@example.org", 550)
    await world.run(
        "PACK_DISTRIBUTION",
        pack_id=pack,
        distribution_method="EMAIL",
        requested_by=world.staff,
        recipients=[{"email": "gone@example.org"}],
    )
    await world.backstay.drain()

    await world.run("ALERT_DEAD_LETTERS")

    rows = await world.rows(
        "SELECT user_id, channel FROM oblicore.notifications WHERE entity_type = 'BACKGROUND_JOB'"
    )
    assert [(row["user_id"], row["channel"]) for row in rows] == [(world.staff, "IN_APP")]


def test_a_note_that_one_reader_did_not_get_is_made_up_for() -> None:
    """OBL-017 OBL-019"""
    staff = Person("staff", frozenset({Role.STAFF}), frozenset({"site"}))
    manager = Person("manager", frozenset({Role.ADMIN}), frozenset({"site"}))
    row = {
        "id": uuid4(), "obligation_id": uuid4(), "company_id": uuid4(), "site_id": "site", "due_date": DUE,
        "assigned_to": "staff", "frequency": "ANNUAL", "summary": "Send it", "site_name": "Works",
        "condition_reference": None, "original_text": CLAUSE,
    }  # fmt: skip

    notes, _ = notes_for(
        row, today=DUE, people=[staff, manager], told={"staff": {f"deadline:{row['id']}:due:0"}}
    )

    assert [note.user_id for note in notes] == ["manager"]


async def test_rejected_duties_are_in_no_list(world: Any) -> None:
    document = await world.document()
    kept = await world.obligation(document, deadline_date=DUE)
    await world.obligation(document, deadline_date=DUE, review_status="REJECTED")

    async with world.services.database.as_user(world.staff) as connection:
        listed = await queries.register(connection)
        home = await queries.home(connection, world.staff, DUE)
        [paper] = await queries.documents(connection)

    assert [row["id"] for row in listed] == [row["id"] for row in home["soon"]] == [kept]
    assert paper["obligations"] == 1
    assert calendar_file(listed, public_url="").count(b"BEGIN:VEVENT") == 1


@pytest.mark.parametrize("death", ["exhausted", "deadline"])
async def test_a_job_that_dies_without_its_handler_is_told_and_its_document_is_closed(
    world: Any, death: str
) -> None:
    """OBL-092 OBL-098"""
    document = await world.document(extraction_status="PROCESSING")
    handler = world.services.handlers["DOCUMENT_PROCESSING"]
    chosen = handler.options(deadline="1h") if death == "deadline" else handler
    job = await chosen.enqueue(document_id=document, requested_by=world.staff)
    if death == "deadline":
        await world.backstay.travel("2h")
    while (state := (await job.get()).state) != "dead":
        if state == "available":
            await world.backstay.crash_worker(handler)
        await world.backstay.travel("10m")

    await world.run("ALERT_DEAD_LETTERS")
    again = await world.run("ALERT_DEAD_LETTERS")

    stored = await job.get()
    assert (stored.state, stored.reason) == ("dead", death)
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "FAILED"
    rows = await world.rows("SELECT DISTINCT user_id, entity_id, action_url FROM oblicore.notifications")
    assert [(row["user_id"], row["entity_id"], row["action_url"]) for row in rows] == [
        (world.staff, stored.id, "/operations")
    ]
    assert again["letters"] == 0


async def test_the_letter_of_an_annual_report_has_its_facts(world: Any) -> None:
    """OBL-098"""
    document = await world.document(module="MODULE_3", document_type="MCPD_REGISTRATION")
    generator = await world.insert(
        "generators",
        document_id=document,
        company_id=world.company,
        site_id=world.site,
        generator_identifier="G",
        anniversary_date=DUE,
    )
    job = await world.services.handlers["AER_GENERATION"].enqueue(
        document_id=document,
        company_id=world.company,
        reporting_period_start=date(2025, 1, 1),
        reporting_period_end=date(2025, 12, 31),
        requested_by=world.staff,
    )
    # The report's row already exists under another name, so that its last transaction fails.
    await world.execute("ALTER TABLE oblicore.aer_documents RENAME TO aer_away")
    try:
        await world.backstay.drain(with_scheduled=True)
    finally:
        await world.execute("ALTER TABLE oblicore.aer_away RENAME TO aer_documents")

    context = await world.value(
        "SELECT error_context FROM oblicore.dead_letter_queue WHERE job_id = $1", job.id
    )
    assert context["document_id"] == str(document)
    assert context["generators_processed"] == [str(generator)]
    assert {one["field"] for one in context["validation_errors"]} == {"run_hours", "stack_tests"}
