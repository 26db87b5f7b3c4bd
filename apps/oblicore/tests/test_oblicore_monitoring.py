"""MONITORING_SCHEDULE, DEADLINE_ALERT, EVIDENCE_REMINDER and the delivery of what they say."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from backstay_oblicore.domain.due_rules import OnDate, RelativeTo, rule_to_json
from backstay_oblicore.store.database import to_json

TODAY = date(2026, 3, 2)


async def duties(world: Any, **values: Any) -> Any:
    document = await world.document(issue_date=date(2026, 1, 1))
    return await world.obligation(document, **values)


async def test_due_dates_deadlines_and_statuses_are_written_once(world: Any) -> None:
    """OBL-004 OBL-007 OBL-008 OBL-009"""
    duty = await duties(world, base_date=date(2026, 2, 5))

    first = await world.run("MONITORING_SCHEDULE", at=TODAY)
    before = await world.rows("SELECT deadline_date, updated_at, status FROM oblicore.obligations")
    second = await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert (first["changed"], second["changed"]) == (1, 0)
    assert (before[0]["deadline_date"], before[0]["status"]) == (date(2026, 3, 5), "DUE_SOON")
    assert await world.rows("SELECT deadline_date, updated_at, status FROM oblicore.obligations") == before
    assert await world.value("SELECT count(*) FROM oblicore.schedules WHERE obligation_id = $1", duty) == 1
    rows = await world.rows("SELECT * FROM oblicore.deadlines ORDER BY due_date")
    assert len(rows) == 12
    assert rows[0]["company_id"] == world.company
    assert (rows[1]["compliance_period_start"], rows[1]["compliance_period_end"]) == (
        date(2026, 3, 6),
        date(2026, 4, 5),
    )


async def test_one_bad_obligation_stops_nobody_else(world: Any) -> None:
    """OBL-012"""
    document = await world.document(issue_date=date(2026, 1, 1))
    for _ in range(9):
        await world.obligation(document)
    bad = await world.obligation(document, frequency="FORTNIGHTLY")

    result = await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert (result["obligations"], result["changed"], result["failed"]) == (10, 9, 1)
    rows = await world.rows("SELECT * FROM oblicore.audit_logs")
    assert [(row["entity_id"], row["action_type"]) for row in rows] == [(bad, "SCHEDULE_CALCULATION_FAILED")]
    assert "Unknown frequency: FORTNIGHTLY" in str(rows[0]["new_values"])


async def test_a_run_for_one_company_leaves_the_other_alone(world: Any, other_company: Any) -> None:
    """OBL-003"""
    await duties(world, base_date=date(2026, 2, 5))
    await duties(other_company, base_date=date(2026, 1, 5), deadline_date=date(2026, 2, 5))

    await world.run("MONITORING_SCHEDULE", at=TODAY, company_id=world.company)

    rows = await world.rows("SELECT company_id, status FROM oblicore.obligations")
    assert {row["company_id"]: row["status"] for row in rows} == {
        world.company: "DUE_SOON",
        other_company.company: "PENDING",
    }
    assert await world.value("SELECT count(DISTINCT company_id) FROM oblicore.deadlines") == 1


@pytest.mark.parametrize(
    ("days", "status"), [(8, "PENDING"), (7, "DUE_SOON"), (0, "DUE_SOON"), (-1, "OVERDUE")]
)
async def test_statuses_move_at_their_borders(world: Any, days: int, status: str) -> None:
    """OBL-010"""
    await duties(world, frequency="ONE_TIME", base_date=TODAY + timedelta(days=days))

    await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert await world.value("SELECT status FROM oblicore.obligations") == status


@pytest.mark.parametrize(
    ("days", "status"), [(4, "PENDING"), (3, "DUE_SOON"), (0, "DUE_SOON"), (-1, "OVERDUE")]
)
async def test_deadlines_move_at_their_borders(world: Any, days: int, status: str) -> None:
    """OBL-018"""
    due = TODAY + timedelta(days=days)
    await duties(world, frequency="ONE_TIME", base_date=due)
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))

    await world.run("DEADLINE_ALERT", at=TODAY)

    assert await world.value("SELECT status FROM oblicore.deadlines") == status


@pytest.mark.parametrize("status", ["COMPLETED", "NOT_APPLICABLE"])
async def test_a_late_date_moves_no_duty_that_is_done_or_does_not_apply(world: Any, status: str) -> None:
    """OBL-005"""
    await duties(
        world, frequency="ONE_TIME", base_date=date(2020, 1, 1), deadline_date=date(2020, 1, 1), status=status
    )

    await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert await world.value("SELECT status FROM oblicore.obligations") == status


async def test_completed_and_deleted_ones_are_untouched(world: Any) -> None:
    """OBL-005"""
    document = await world.document(issue_date=date(2026, 1, 1))
    await world.obligation(document, status="COMPLETED")
    await world.obligation(document, deleted_at=datetime.now(UTC))

    result = await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert result["obligations"] == 0
    assert await world.value("SELECT count(*) FROM oblicore.deadlines") == 0


async def test_the_schedule_shows_the_earliest_open_deadline(world: Any) -> None:
    """OBL-011"""
    await duties(world, base_date=date(2026, 2, 5))
    await world.run("MONITORING_SCHEDULE", at=TODAY)
    await world.execute("UPDATE oblicore.deadlines SET status = 'COMPLETED' WHERE due_date < '2026-05-01'")
    await world.execute("UPDATE oblicore.obligations SET completed_due_date = '2026-04-05'")

    await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert await world.value("SELECT next_due_date FROM oblicore.schedules") == date(2026, 5, 5)
    await world.execute("UPDATE oblicore.deadlines SET status = 'COMPLETED'")
    await world.run("MONITORING_SCHEDULE", at=TODAY)
    assert await world.value("SELECT next_due_date FROM oblicore.schedules") is not None


async def test_alerts_follow_a_monitoring_run_once(world: Any) -> None:
    """OBL-013"""
    await world.run("MONITORING_SCHEDULE", at=TODAY)
    await world.run("MONITORING_SCHEDULE", at=TODAY)

    jobs = await world.backstay.enqueued("DEADLINE_ALERT")
    assert len(jobs) == 1


async def test_rules_of_documents_are_used_and_explained(world: Any) -> None:
    document = await world.document(issue_date=date(2026, 1, 1))
    yearly = await world.obligation(
        document, due_rule=rule_to_json(OnDate(1, 31)), frequency="ANNUAL", condition_reference="4.2.2"
    )
    waiting = await world.obligation(
        document, due_rule=rule_to_json(RelativeTo("commissioning", _six_months())), frequency="ONE_TIME"
    )

    await world.run("MONITORING_SCHEDULE", at=TODAY)

    assert await world.value("SELECT deadline_date FROM oblicore.obligations WHERE id = $1", yearly) == date(
        2027, 1, 31
    )
    steps = await world.value("SELECT date_explanation FROM oblicore.obligations WHERE id = $1", yearly)
    assert [step["step"] for step in steps] == ["clause", "rule", "anchor", "nominal", "due"]
    missing = await world.value("SELECT date_explanation FROM oblicore.obligations WHERE id = $1", waiting)
    assert missing[-1]["text"] == "waits for a date: commissioning"

    anchors = to_json({"commissioning": "2026-02-01"})
    await world.execute("UPDATE oblicore.documents SET anchors = ($1::text)::jsonb", anchors)
    await world.run("MONITORING_SCHEDULE", at=TODAY)
    found = await world.value("SELECT deadline_date FROM oblicore.obligations WHERE id = $1", waiting)
    assert found == date(2026, 8, 1)


def _six_months() -> Any:
    from backstay_oblicore.domain.due_rules import Offset

    return Offset(6, "months")


async def alerts_by_day(world: Any, days: range | list[int], due: date) -> dict[int, dict[str, int]]:
    """Look four times a day, and return the rows of each day by channel."""
    found = {}
    for day in days:
        before = await rows_by_channel(world)
        at = due + timedelta(days=day)
        for hour in (0, 6, 12, 18):
            moment = datetime(at.year, at.month, at.day, hour, tzinfo=UTC)
            await world.run("DEADLINE_ALERT", at=moment)
        new = {name: n - before.get(name, 0) for name, n in (await rows_by_channel(world)).items()}
        if any(new.values()):
            found[day] = {name: n for name, n in new.items() if n}
    return found


async def rows_by_channel(world: Any) -> dict[str, int]:
    rows = await world.rows("SELECT channel, count(*) AS n FROM oblicore.notifications GROUP BY channel")
    return {row["channel"]: row["n"] for row in rows}


def quiet(readers: int) -> dict[str, int]:
    return {"IN_APP": readers, "EMAIL": readers}


def loud(readers: int) -> dict[str, int]:
    return {**quiet(readers), "SMS": readers}


async def test_the_days_around_a_deadline_give_exact_rows(world: Any) -> None:
    """OBL-014 OBL-015 OBL-017 OBL-018"""
    due = date(2026, 6, 15)
    await duties(world, frequency="ONE_TIME", base_date=due, assigned_to=world.staff)
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))

    found = await alerts_by_day(world, range(-8, 4), due)

    # Two readers (assignee and manager); on days +1 and +3 the owner is told as well.
    assert found == {
        -7: quiet(2), -3: quiet(2), -1: loud(2), 0: loud(2), 1: loud(3), 2: loud(2), 3: loud(3),
    }  # fmt: skip
    assert await world.value("SELECT status FROM oblicore.deadlines") == "OVERDUE"


@pytest.mark.parametrize(
    ("away", "expected"),
    [
        (-8, {-5: quiet(2), -3: quiet(2), -1: loud(2), 0: loud(2), 1: loud(3), 2: loud(2), 3: loud(3)}),
        (-4, {-7: quiet(2), -1: loud(2), 0: loud(2), 1: loud(3), 2: loud(2), 3: loud(3)}),
        (-1, {-7: quiet(2), -3: quiet(2), 2: loud(3), 3: loud(3)}),
    ],
)
async def test_an_outage_of_three_days_loses_no_alert(
    world: Any, away: int, expected: dict[int, dict[str, int]]
) -> None:
    """OBL-015"""
    due = date(2026, 6, 15)
    await duties(world, frequency="ONE_TIME", base_date=due, assigned_to=world.staff)
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))

    found = await alerts_by_day(world, [day for day in range(-8, 4) if not away <= day < away + 3], due)

    assert found == expected


async def test_an_alert_says_what_where_and_when(world: Any) -> None:
    """OBL-016"""
    due = date(2026, 6, 15)
    duty = await duties(
        world, frequency="ONE_TIME", base_date=due, assigned_to=world.staff, original_text="4.1 …"
    )
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))

    await world.run("DEADLINE_ALERT", at=due - timedelta(days=1))

    [row] = await world.rows(
        "SELECT * FROM oblicore.notifications WHERE user_id = $1 AND channel = 'SMS'", world.staff
    )
    assert (row["alert_type"], row["severity"], row["priority"]) == ("DEADLINE_ALERT", "CRITICAL", "URGENT")
    assert (row["entity_type"], row["action_url"]) == ("deadline", f"/obligations/{duty}")
    assert row["metadata"] == {"days_remaining": 1, "due_date": "2026-06-15", "clause": "4.1 …"}
    assert "Send the report" in row["message"]
    assert "Brindle Factory" in row["message"]
    assert "15 June 2026" in row["message"]


async def test_somebody_without_an_account_is_passed_over(world: Any) -> None:
    """OBL-019"""
    due = date(2026, 6, 15)
    await duties(world, frequency="ONE_TIME", base_date=due)
    await world.execute("DELETE FROM oblicore.user_roles")
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))

    result = await world.run("DEADLINE_ALERT", at=due)

    assert (result["without_reader"], result["alerts"]) == (1, 0)


async def test_reminders_ask_for_evidence_once_a_day_while_none_is_linked(world: Any) -> None:
    """OBL-020 OBL-021 OBL-023"""
    bare = await duties(world, deadline_date=TODAY + timedelta(days=7), status="PENDING")
    late = await duties(
        world, deadline_date=TODAY - timedelta(days=3), status="OVERDUE", assigned_to=world.staff
    )
    proved = await duties(world, deadline_date=TODAY, status="DUE_SOON")
    await duties(world, deadline_date=TODAY + timedelta(days=8))
    evidence = await world.insert(
        "evidence_items",
        company_id=world.company,
        site_id=world.site,
        file_name="a.pdf",
        file_type="pdf",
        mime_type="application/pdf",
        file_size_bytes=1,
        file_hash="x",
        storage_path="evidence/a",
    )
    await world.execute(
        "INSERT INTO oblicore.obligation_evidence_links (obligation_id, evidence_id, company_id) VALUES ($1, $2, $3)",
        proved,
        evidence,
        world.company,
    )

    first = await world.run("EVIDENCE_REMINDER", at=TODAY)
    again = await world.run("EVIDENCE_REMINDER", at=TODAY)
    await world.execute("UPDATE oblicore.obligation_evidence_links SET unlinked_at = now()")
    unlinked = await world.run("EVIDENCE_REMINDER", at=TODAY)

    assert (first["told"], again["told"], unlinked["told"]) == (2, 0, 1)
    [row] = await world.rows("SELECT * FROM oblicore.notifications WHERE entity_id = $1", bare)
    assert row["title"] == "Evidence Required: Send the report"
    assert row["message"] == "Evidence is required for obligation due on 2026-03-09"
    assert (row["user_id"], row["severity"], row["channel"]) == (world.manager, "WARNING", "EMAIL")
    assert (row["entity_type"], row["action_url"]) == ("obligation", f"/obligations/{bare}")
    assert row["metadata"] == {"days_until_due": 7}
    [row] = await world.rows("SELECT * FROM oblicore.notifications WHERE entity_id = $1", late)
    assert row["user_id"] == world.staff


async def test_loud_messages_leave_at_once_and_once(world: Any, mail_server: Any, sms_server: Any) -> None:
    """OBL-088"""
    due = date(2026, 6, 15)
    await duties(world, frequency="ONE_TIME", base_date=due, assigned_to=world.staff)
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))
    await world.run("DEADLINE_ALERT", at=due)

    await world.backstay.drain()
    await world.backstay.drain()

    [mail] = mail_server.wait_for(1, to="staff@brindle.example")
    assert "Send the report" in mail.text
    assert len(mail_server.wait_for(1, to="manager@brindle.example")) == 1
    phone = await world.value("SELECT phone FROM oblicore.users WHERE id = $1", world.staff)
    assert len(sms_server.messages(to=phone)) == 1
    statuses = await world.rows(
        "SELECT DISTINCT status FROM oblicore.notifications WHERE channel <> 'IN_APP'"
    )
    assert [row["status"] for row in statuses] == ["SENT"]


async def test_a_temporary_refusal_is_tried_again_and_a_permanent_one_is_not(
    world: Any, mail_server: Any
) -> None:
    """OBL-088"""
    due = date(2026, 6, 15)
    await duties(world, frequency="ONE_TIME", base_date=due, assigned_to=world.staff)
    await world.run("MONITORING_SCHEDULE", at=due - timedelta(days=20))
    mail_server.refuse("staff@brindle.example", 451, times=2)
    mail_server.refuse("manager@brindle.example", 550)
    await world.run("DEADLINE_ALERT", at=due)

    drained = await world.backstay.drain(with_scheduled=True)

    assert (drained.retrying, drained.dead) == (2, 1)
    assert len(mail_server.wait_for(1, to="staff@brindle.example")) == 1
    rows = await world.rows(
        "SELECT status, reply FROM oblicore.notifications WHERE channel = 'EMAIL' ORDER BY status"
    )
    assert [row["status"] for row in rows] == ["FAILED", "SENT"]
    assert "550" in rows[0]["reply"]


async def test_quiet_mail_is_one_a_day_at_eight(world: Any, mail_server: Any) -> None:
    await duties(world, deadline_date=TODAY, assigned_to=world.staff)
    await duties(world, deadline_date=TODAY, assigned_to=world.staff)
    await world.run("EVIDENCE_REMINDER", at=datetime(2026, 3, 2, 5, tzinfo=UTC))

    early = await world.run("SEND_DIGESTS", at=datetime(2026, 3, 2, 7, tzinfo=UTC))
    await world.run("SEND_DIGESTS", at=datetime(2026, 3, 2, 8, tzinfo=UTC))
    await world.backstay.drain()
    await world.run("SEND_DIGESTS", at=datetime(2026, 3, 2, 9, tzinfo=UTC))
    await world.backstay.drain()

    assert early["readers"] == 0
    [mail] = mail_server.wait_for(1, to="staff@brindle.example")
    assert mail.subject == "2 notes for 2 March 2026"
    assert await world.value("SELECT count(*) FROM oblicore.notifications WHERE status = 'SENT'") == 2
