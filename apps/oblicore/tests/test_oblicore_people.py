"""What people measure, decide, correct and wish to be told; in the pages, with their rights."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import asyncpg
import httpx
import pytest
from oblicore_browsing import logged_in, program, send

from backstay_oblicore import deciding, measuring
from backstay_oblicore.domain.errors import AccessDenied, InvalidFacts, InvalidRequest
from backstay_oblicore.domain.preferences import Preferences, from_stored
from backstay_oblicore.domain.sampling import Standing
from backstay_oblicore.domain.words import AlertType, Channel, Frequency, Severity
from backstay_oblicore.store import notifications, people
from backstay_oblicore.store.notifications import Note
from backstay_oblicore.store.reviews import Changes

TODAY = datetime.now(UTC).date()
LONDON = ZoneInfo("Europe/London")


async def parameter(world: Any, **values: Any) -> Any:
    place = {"company_id": world.company, "site_id": world.site, "document_id": await world.document()}
    known = {"parameter_type": "COD", "limit_value": 400, "unit": "mg/l"}
    return await world.insert("parameters", **(place | known | values))


@pytest.mark.parametrize(
    ("value", "stands", "severity"),
    [
        ("319", "WITHIN", None),
        ("320", "NEAR", "WARNING"),
        ("400", "NEAR", "WARNING"),
        ("400.1", "EXCEEDED", "ERROR"),
    ],
)
async def test_a_result_near_or_beyond_its_limit_is_told(
    world: Any, value: str, stands: str, severity: str | None
) -> None:
    """OBL-099"""
    found = await parameter(world)

    stood = await measuring.record_result(
        world.services, found, day=TODAY, value=Decimal(value), user=world.staff
    )

    rows = await world.rows("SELECT * FROM oblicore.notifications ORDER BY user_id, channel")
    assert stood is Standing(stands)
    assert {row["severity"] for row in rows} == ({severity} if severity else set())
    if severity:
        readers = {(row["user_id"], row["channel"]) for row in rows}
        everybody = (world.owner, world.manager, world.staff)
        assert readers == {(user, way) for user in everybody for way in ("IN_APP", "EMAIL")}
        assert {row["alert_type"] for row in rows} == {"EXCEEDANCE"}
        assert "Allowed: at most 400 mg/l." in rows[0]["message"]


async def test_a_result_beyond_its_limit_leaves_as_a_mail_at_once(world: Any, mail_server: Any) -> None:
    """OBL-099"""
    found = await parameter(world, limit_kind="RANGE", range_minimum=6, limit_value=9, unit=None)
    await measuring.record_result(world.services, found, day=TODAY, value=Decimal("5.9"), user=world.staff)

    await world.backstay.drain()

    assert [mail.message["Subject"] for mail in mail_server.mails(to="staff@brindle.example")] == [
        "Limit Exceeded: COD"
    ]


async def test_measurements_that_cannot_be_are_refused_and_nothing_is_stored(
    world: Any, other_company: Any
) -> None:
    """OBL-085"""
    found = await parameter(world)
    tomorrow = TODAY + timedelta(days=2)

    with pytest.raises(InvalidRequest, match="has not come yet"):
        await measuring.record_result(world.services, found, day=tomorrow, value=Decimal(1), user=world.staff)
    with pytest.raises(InvalidRequest, match="a number"):
        await measuring.record_result(
            world.services, found, day=TODAY, value=Decimal("NaN"), user=world.staff
        )
    with pytest.raises(AccessDenied):
        await measuring.record_result(
            world.services, found, day=TODAY, value=Decimal(1), user=other_company.owner
        )
    assert await world.value("SELECT count(*) FROM oblicore.lab_results") == 0


async def test_figures_typed_into_the_pages_are_stored_and_shown(world: Any, address: str) -> None:
    """OBL-053"""
    found = await parameter(world)
    generator = await world.insert(
        "generators",
        company_id=world.company,
        site_id=world.site,
        document_id=await world.document(),
        generator_identifier="GEN-3",
        annual_run_hour_limit=500,
        anniversary_date=TODAY - timedelta(days=99),
    )
    async with logged_in(world, address, world.staff) as browser:
        result = await send(
            browser, f"/sampling/{found}", f"/sampling/{found}/results", day=f"{TODAY}", value="412.5"
        )
        hours = await send(
            browser,
            f"/generators/{generator}",
            f"/generators/{generator}/run-hours",
            day=f"{TODAY}",
            hours="250",
            purpose="TESTING",
        )
        wrong = await send(
            browser, f"/generators/{generator}", f"/generators/{generator}/run-hours", day="x", hours="-1"
        )

    assert "412.5" in result.text
    assert "exceeds the limit" in result.text
    # 250 hours in 100 days of the limit year: the other 250 take another 100.
    assert f"{TODAY + timedelta(days=100):%-d %B %Y}" in hours.text
    assert wrong.status_code == 422
    assert "Enter a date" in wrong.text
    assert await world.value("SELECT sum(hours_recorded) FROM oblicore.run_hour_records") == 250


async def question(world: Any, document: Any, kind: str, data: dict[str, Any], **values: Any) -> Any:
    known = {"company_id": world.company, "site_id": world.site, "document_id": document}
    return await world.insert(
        "review_queue_items", **known, review_type=kind, original_data=data, dedupe_key=kind, **values
    )


async def test_a_confirmed_open_sentence_becomes_a_duty_with_a_date(world: Any) -> None:
    """OBL-030"""
    document = await world.document(extraction_status="REVIEW_REQUIRED", issue_date=date(2026, 1, 5))
    text = "A bund inspection is expected of the operator every month."
    await world.execute(
        "INSERT INTO oblicore.document_sentences (document_id, company_id, site_id, position, page_number, reference,"
        " text, filed) VALUES ($1, $2, $3, 1, 4, '2.3.1', $4, 'open')",
        document,
        world.company,
        world.site,
        text,
    )
    asked = await question(world, document, "OPEN_SENTENCE", {"text": text}, is_blocking=True)

    await deciding.answer(world.services, asked, user=world.manager, confirmed=True, reason="it binds us")
    await world.backstay.drain()

    [duty] = await world.rows("SELECT * FROM oblicore.obligations")
    assert (duty["original_text"], duty["condition_reference"], duty["frequency"]) == (
        text,
        "2.3.1",
        "MONTHLY",
    )
    assert duty["deadline_date"] is not None
    assert (duty["source"], duty["review_status"]) == ("person", "CONFIRMED")
    assert await world.value("SELECT extraction_status FROM oblicore.documents") == "COMPLETED"
    with pytest.raises(AccessDenied):
        await deciding.answer(world.services, asked, user=world.manager, confirmed=False, reason="again")


async def test_a_rejection_keeps_who_and_why_and_makes_no_duty(world: Any, address: str) -> None:
    """OBL-030"""
    document = await world.document(extraction_status="REVIEW_REQUIRED")
    await world.execute(
        "INSERT INTO oblicore.document_sentences (document_id, company_id, site_id, position, page_number, text, filed)"
        " VALUES ($1, $2, $3, 1, 4, 'The sun must rise.', 'open')",
        document,
        world.company,
        world.site,
    )
    asked = await question(world, document, "OPEN_SENTENCE", {"text": "The sun must rise."}, is_blocking=True)
    await question(world, document, "OCR_QUALITY", {"ocr_confidence": 0.61}, is_blocking=True)
    await question(
        world, document, "EXTRACTION_FAILED", {"error": "no answer", "code": "X"}, is_blocking=True
    )
    async with logged_in(world, address, world.manager) as browser:
        path = f"/review-queue/{asked}"
        without = await send(browser, "/review-queue", path, decision="REJECTED")
        assert "Not decided" in without.text
        assert all(text in without.text for text in ("The sun must rise.", "0.61", "no answer"))
        await send(browser, "/review-queue", path, decision="REJECTED", reason="not about us")

    [row] = await world.rows("SELECT filed, reason, decided_by FROM oblicore.document_sentences")
    assert tuple(row) == ("rejected", "not about us", world.manager)
    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 0


async def test_a_missing_anchor_is_supplied_in_the_queue_and_the_date_follows(world: Any) -> None:
    """OBL-006"""
    rule = {"kind": "RelativeTo", "anchor": "commissioning", "offset": {"count": 6, "unit": "months"}}
    duty = await world.obligation(await world.document(), frequency="ONE_TIME", due_rule=rule)
    await world.run("MONITORING_SCHEDULE")
    assert await world.value("SELECT deadline_date FROM oblicore.obligations") is None
    document = await world.value("SELECT document_id FROM oblicore.obligations")
    asked = await question(
        world, document, "DATE_FAILURE", {"text": "…", "missing": "commissioning"}, obligation_id=duty
    )

    changes = Changes(anchors=(("commissioning", date(2026, 8, 31)),))
    await deciding.answer(
        world.services, asked, user=world.manager, confirmed=True, reason="it ran", changes=changes
    )
    await world.backstay.drain()

    assert await world.value("SELECT deadline_date FROM oblicore.obligations") == date(2027, 2, 28)
    assert await world.value("SELECT due_date FROM oblicore.deadlines") == date(2027, 2, 28)


async def test_a_corrected_frequency_moves_the_deadlines(world: Any, address: str) -> None:
    """OBL-006 OBL-009"""
    duty = await world.obligation(await world.document(), frequency="DAILY", base_date=TODAY)
    await world.run("MONITORING_SCHEDULE", at=TODAY)
    before = await world.value("SELECT count(*) FROM oblicore.deadlines")
    async with logged_in(world, address, world.manager) as browser:
        answer = await send(
            browser,
            f"/obligations/{duty}",
            summary="Send the annual report",
            frequency="ANNUAL",
            first_due=f"{TODAY + timedelta(days=40)}",
            assigned_to=str(world.staff),
        )
        wrong = await send(browser, f"/obligations/{duty}", summary="x", frequency="ONE_TIME")
    await world.backstay.drain()

    assert "reckoned anew" in answer.text
    assert "needs its date" in wrong.text
    assert before > 300
    dues = [row["due_date"] for row in await world.rows("SELECT due_date FROM oblicore.deadlines ORDER BY 1")]
    assert dues[0] == TODAY + timedelta(days=40)
    assert len(dues) == 1
    row = (await world.rows("SELECT summary, assigned_to, review_status FROM oblicore.obligations"))[0]
    assert tuple(row) == ("Send the annual report", world.staff, "EDITED")
    assert (
        await world.value("SELECT count(*) FROM oblicore.audit_logs WHERE action_type = 'OBLIGATION_CHANGED'")
        == 1
    )


async def test_a_duty_goes_only_to_somebody_of_the_company(world: Any, other_company: Any) -> None:
    """OBL-085"""
    duty = await world.obligation(await world.document())

    with pytest.raises(InvalidRequest, match="works for the company"):
        await deciding.correct(
            world.services, duty, Changes(), user=world.manager, assigned_to=other_company.owner
        )
    with pytest.raises(AccessDenied):
        await deciding.correct(world.services, duty, Changes(summary="mine"), user=other_company.owner)
    with pytest.raises(InvalidRequest, match="cannot be chosen"):
        await deciding.correct(
            world.services, duty, Changes(frequency=Frequency.HOURS_BASED), user=world.manager
        )
    assert await world.value("SELECT summary FROM oblicore.obligations") == "Send the report"


@pytest.mark.parametrize(
    ("hour", "minutes"), [(21, 0), (22, 9 * 60), (23, 8 * 60), (0, 7 * 60), (6, 60), (7, 0)]
)
def test_quiet_hours_end_in_the_morning(hour: int, minutes: int) -> None:
    """OBL-100"""
    chosen = Preferences(quiet_from=22, quiet_until=7)

    assert chosen.quiet_for(datetime(2026, 5, 4, hour, tzinfo=LONDON)) == timedelta(minutes=minutes)


def test_quiet_hours_count_the_night_in_which_clocks_change() -> None:
    """OBL-100"""
    chosen = Preferences(quiet_from=22, quiet_until=7)

    assert chosen.quiet_for(datetime(2026, 3, 28, 23, tzinfo=LONDON)) == timedelta(hours=7)
    assert chosen.quiet_for(datetime(2026, 10, 24, 23, tzinfo=LONDON)) == timedelta(hours=9)
    with pytest.raises(InvalidFacts, match="a beginning and an end"):
        Preferences(quiet_from=22)


def test_muted_topics_stay_in_the_inbox_and_loud_mail_is_never_muted() -> None:
    """OBL-100"""
    chosen = from_stored({"muted": ["DEADLINE_ALERT"], "text_messages": False})
    topic = AlertType.DEADLINE_ALERT

    assert not chosen.wants(Channel.EMAIL, severity=Severity.WARNING, alert_type=topic)
    assert chosen.wants(Channel.EMAIL, severity=Severity.CRITICAL, alert_type=topic)
    assert chosen.wants(Channel.IN_APP, severity=Severity.INFO, alert_type=topic)
    assert chosen.wants(Channel.EMAIL, severity=Severity.INFO, alert_type=AlertType.SYSTEM)
    assert not chosen.wants(Channel.SMS, severity=Severity.CRITICAL, alert_type=topic)
    assert from_stored(chosen.to_json()) == chosen


async def test_preferences_are_chosen_in_the_page_and_obeyed(world: Any, address: str) -> None:
    """OBL-100"""
    async with logged_in(world, address, world.manager) as browser:
        await send(browser, "/preferences", topics=["SYSTEM", "BREACH"], quiet_from="22", quiet_until="7")
        shown = await browser.get("/preferences")
        wrong = await send(browser, "/preferences", quiet_from="22")
    assert 'value="SYSTEM" checked' in shown.text
    assert 'value="DEADLINE_ALERT" checked' not in shown.text
    assert "a beginning and an end" in wrong.text
    due = TODAY + timedelta(days=3)
    await world.obligation(await world.document(), frequency="ONE_TIME", base_date=due)

    await world.run("MONITORING_SCHEDULE", at=TODAY)
    await world.backstay.drain()

    channels = await world.rows(
        "SELECT channel FROM oblicore.notifications WHERE user_id = $1 ORDER BY 1", world.manager
    )
    assert [row["channel"] for row in channels] == ["IN_APP"]


async def test_a_text_message_waits_for_the_end_of_quiet_hours(world: Any, sms_server: Any) -> None:
    """OBL-100"""
    now = datetime.now(UTC).astimezone(LONDON)
    chosen = Preferences(quiet_from=now.hour, quiet_until=(now.hour + 3) % 24)
    note = Note(
        str(world.manager),
        world.company,
        AlertType.DEADLINE_ALERT,
        Severity.CRITICAL,
        (Channel.SMS,),
        "Quiet please",
        "…",
    )
    async with world.services.database.as_service() as connection:
        await notifications.save_preferences(connection, world.manager, chosen)
        written = await notifications.write(connection, [note], now=now)
    await world.services.deliver(written)

    await world.backstay.drain()
    waiting = await world.value("SELECT status FROM oblicore.notifications")
    await world.backstay.travel("3h")
    await world.backstay.drain()

    assert waiting == "PENDING"
    assert await world.value("SELECT status FROM oblicore.notifications") == "SENT"
    assert [sent.text for sent in sms_server.messages() if sent.text == "Quiet please"] == ["Quiet please"]


async def test_a_user_reads_no_password_hash_and_changes_only_himself(world: Any) -> None:
    """OBL-085"""
    for statement in (
        "SELECT password_hash FROM oblicore.users",
        "UPDATE oblicore.users SET is_platform_admin = TRUE",
        "UPDATE oblicore.users SET email = 'x@y.example'",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with world.services.database.as_user(world.owner) as connection:
                await connection.execute(statement)
    async with world.services.database.as_user(world.owner) as connection:
        assert await connection.execute("UPDATE oblicore.users SET phone = NULL") == "UPDATE 1"
    assert await world.value("SELECT phone FROM oblicore.users WHERE id = $1", world.manager)


async def test_a_calendar_is_subscribed_to_without_a_session(world: Any, address: str) -> None:
    due = TODAY + timedelta(days=3)
    await world.obligation(
        await world.document(),
        frequency="ONE_TIME",
        base_date=due,
        deadline_date=due,
        summary="Check; the <bund>",
    )
    await world.run("MONITORING_SCHEDULE", at=TODAY)
    async with logged_in(world, address, world.staff) as browser:
        page = await browser.get(f"/calendar?month={due:%Y-%m}")
        far = await browser.get("/calendar?month=1850-01")
        bad = await browser.get("/calendar?month=soon")
    path = page.text.split("/calendars/")[1].split(".ics")[0]

    async with httpx.AsyncClient(base_url=address) as program_of_a_calendar:
        found = await program_of_a_calendar.get(f"/calendars/{path}.ics")
        forged = await program_of_a_calendar.get(f"/calendars/{path[:-3]}AAA.ics")

    assert "Check; the &lt;bund&gt;" in page.text
    assert (far.status_code, bad.status_code, forged.status_code) == (422, 422, 404)
    assert found.text.startswith("BEGIN:VCALENDAR")
    assert "SUMMARY:Check\\; the <bund>" in found.text
    assert f"DTSTART;VALUE=DATE:{due:%Y%m%d}" in found.text


async def test_the_register_is_narrowed_and_exported_the_same_way(world: Any, address: str) -> None:
    document = await world.document()
    await world.obligation(document, summary="Check the bund", category="MAINTENANCE")
    await world.obligation(document, summary="Send the return", status="OVERDUE", category="REPORTING")
    async with logged_in(world, address, world.owner) as browser:
        shown = {
            query: (await browser.get(f"/obligations?{query}")).text
            for query in (
                "status=OVERDUE",
                "q=BUND",
                "category=REPORTING",
                f"site={world.site}",
                "status=silly",
            )
        }
        exported = await browser.get("/register.csv?q=bund")

    holds = {query: ("Check the bund" in text, "Send the return" in text) for query, text in shown.items()}
    assert holds == {
        "status=OVERDUE": (False, True),
        "q=BUND": (True, False),
        "category=REPORTING": (False, True),
        f"site={world.site}": (True, True),
        "status=silly": (True, True),
    }
    assert "Check the bund" in exported.text
    assert "Send the return" not in exported.text


async def test_a_pack_is_asked_for_watched_and_sent_in_the_pages(
    world: Any, address: str, mail_server: Any
) -> None:
    """OBL-070 OBL-081"""
    document = await world.document()
    await world.obligation(document)
    asked = {"pack_type": "AUDIT_PACK", "date_range_start": "2026-01-01", "date_range_end": "2026-12-31"}
    async with logged_in(world, address, world.manager) as browser:
        wrong = await send(browser, "/packs/new", subject=str(world.company), **asked)
        waiting = await send(browser, "/packs/new", subject=str(document), **asked)
        assert "being made" in waiting.text
        await world.backstay.drain()
        page = str(waiting.url)
        made = await browser.get(page)
        nobody = await send(browser, page, f"{page}/distribute", method="EMAIL")
        sent = await send(
            browser, page, f"{page}/distribute", method="EMAIL", recipients="a@agency.example, Ann"
        )
        linked = await send(browser, page, f"{page}/distribute", method="SHARED_LINK")
        await world.backstay.drain()
        shown = await browser.get(page)

    assert "requires site_id" in wrong.text
    assert "SHA-256" in made.text
    assert "at least one recipient" in nobody.text
    assert (sent.status_code, linked.status_code) == (200, 200)
    assert "/share/" in shown.text
    [mail] = mail_server.mails(to="a@agency.example")
    assert "Dear Ann" in mail.text


async def test_a_job_of_somebody_elses_pack_is_not_shown(world: Any, address: str) -> None:
    """OBL-085"""
    document = await world.document()
    body = {
        "pack_type": "AUDIT_PACK",
        "company_id": str(world.company),
        "site_id": str(world.site),
        "document_id": str(document),
        "date_range_start": "2026-01-01",
        "date_range_end": "2026-12-31",
    }
    async with program(world, address, world.manager, "ADMIN") as asker:
        job = (await asker.post("/api/v1/audit-packs/generate", json=body)).json()["job_id"]
        assert (await asker.get(f"/packs/{job}")).status_code == 200
    async with program(world, address, world.staff, "STAFF") as other:
        assert (await other.get(f"/packs/{job}")).status_code == 404


async def test_a_role_in_one_company_gives_no_right_in_another(
    world: Any, other_company: Any, address: str
) -> None:
    """OBL-085"""
    # An owner here, a viewer there: the session may write, the tables say where.
    async with world.services.database.connection() as connection:
        await people.grant(
            connection, world.owner, other_company.company, "VIEWER", sites=(other_company.site,)
        )
    paper = await other_company.document()
    duty = await other_company.obligation(paper)
    other_parameter = await parameter(other_company)
    pack = {
        "pack_type": "AUDIT_PACK",
        "company_id": str(other_company.company),
        "site_id": str(other_company.site),
        "document_id": str(paper),
        "date_range_start": "2026-01-01",
        "date_range_end": "2026-12-31",
    }
    async with program(world, address, world.owner, "OWNER", "VIEWER") as client:
        assert (await client.get(f"/api/v1/obligations/{duty}")).status_code == 200
        answers = [
            await client.post(f"/api/v1/obligations/{duty}/complete"),
            await client.post("/api/v1/audit-packs/generate", json=pack),
            await client.post(
                f"/api/v1/parameters/{other_parameter}/results",
                json={"sample_date": f"{TODAY}", "value": "1"},
            ),
            await client.post(
                "/api/v1/evidence",
                files={"file": ("a.pdf", b"x")},
                data={"site_id": str(other_company.site)},
            ),
        ]

    assert [answer.status_code for answer in answers] == [404] * 4
