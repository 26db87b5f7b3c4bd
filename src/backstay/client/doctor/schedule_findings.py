"""Which schedules have not done their work: the switch that notices when nothing happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from backstay.client.doctor.findings import Finding, Severity
from backstay.client.doctor.text import spoken
from backstay.model.schedules.schedule import Schedule, preview

SHORTEST_GRACE, LONGEST_GRACE = timedelta(minutes=5), timedelta(hours=1)
MOST = 20


def without_success(
    schedules: Sequence[Schedule], successes: Mapping[UUID, datetime], now: datetime
) -> list[Finding]:
    """One finding for each schedule that has had no success within its period and a grace, the longest first."""
    silent = {}
    for one in schedules:
        period = period_of(one)
        since = successes.get(one.id) or one.created_at
        if period is None or since is None or not _has_fired(one, now):
            continue
        if now - since > period + grace_of(period):
            silent[one.name] = (now - since, period, one.id in successes)
    worst = sorted(silent.items(), key=lambda pair: pair[1][0], reverse=True)[:MOST]
    return [_finding(name, *facts) for name, facts in worst]


def period_of(schedule: Schedule) -> timedelta | None:
    """How far its next two fires lie apart; None if it does not fire twice."""
    first = schedule.next_fire_at
    if first is None or not schedule.is_active:
        return None
    following = preview(schedule.definition, first, 1)
    return following[0] - first if following else None


def grace_of(period: timedelta) -> timedelta:
    """How much later than its period a success may come: a quarter of it, within bounds."""
    return max(SHORTEST_GRACE, min(period / 4, LONGEST_GRACE))


def _has_fired(schedule: Schedule, now: datetime) -> bool:
    """Whether something should have come of it: it has fired, or its time is long over."""
    due = schedule.next_fire_at
    return schedule.last_fire_at is not None or (due is not None and due < now - SHORTEST_GRACE)


def _finding(name: str, silent_for: timedelta, period: timedelta, ever: bool) -> Finding:
    since = "since its last success" if ever else "and none is on record"
    return Finding(
        code="schedule_without_success",
        severity=Severity.WARNING,
        title=f"the schedule {name!r} has had no success for {spoken(silent_for)}",
        detail=f"it fires every {spoken(period)}; {spoken(silent_for)} have passed {since}",
        advice=f"see what became of its runs with 'backstay schedules history {name}', and whether workers are alive",
    )
