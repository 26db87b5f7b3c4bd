"""Reasons for the verdict besides the doctor's: more failures than usual, schedules that are late, alerts that hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backstay.dashboard.views.schedules import status_of
from backstay.dashboard.views.verdict import Reason
from backstay.kit.values import Tone
from backstay.kit.words import count_of, percent_text
from backstay.model.alerts import Alert
from backstay.model.figures import FiguresAt
from backstay.model.schedules.schedule import Schedule

FEWEST_ATTEMPTS = 20
"""A share of fewer attempts than these says nothing."""
ABOVE_NORMAL = 2.0
LEAST_SHARE = 0.05
MOST_NAMED = 3


def failure_reasons(hour: Sequence[FiguresAt], before: Sequence[FiguresAt]) -> list[Reason]:
    """Say so where a far larger share of attempts failed in the last hour than in the day before."""
    share, usual = _failed_share(hour), _failed_share(before)
    if share is None or share < LEAST_SHARE or share < ABOVE_NORMAL * (usual or 0.0):
        return []
    compared = "few ended in the day before" if usual is None else f"in the day before {percent_text(usual)}"
    return [
        Reason(
            title="More attempts fail than usual",
            detail=f"{percent_text(share)} of the last hour's attempts failed; {compared}",
            advice="see which causes are new",
            tone="warn",
            code="failure_rate",
            href="/failures",
            place="Failures",
        )
    ]


def late_reasons(schedules: Sequence[Schedule], now: datetime) -> list[Reason]:
    """Say so where schedules should have fired and did not."""
    late = [schedule.name for schedule in schedules if status_of(schedule, now) == "late"]
    if not late:
        return []
    more = f" and {len(late) - MOST_NAMED} more" if len(late) > MOST_NAMED else ""
    return [
        Reason(
            title=f"{count_of(len(late), 'schedule')} late",
            detail=", ".join(late[:MOST_NAMED]) + more,
            advice="schedules fire while a worker of the application runs",
            tone="warn",
            code="late_schedules",
            href="/schedules",
            place="Schedules",
        )
    ]


def alert_reasons(alerts: Sequence[Alert]) -> list[Reason]:
    """Say of each alert that holds what was measured."""
    return [
        Reason(
            title=f"Alert: {alert.rule.replace('_', ' ')}",
            detail=alert.message,
            advice=alert.action.replace("_", " "),
            tone=_tone(alert.severity),
            code=alert.rule,
            href="/alerts",
            place="Alerts",
        )
        for alert in alerts
    ]


def _failed_share(found: Sequence[FiguresAt]) -> float | None:
    ended = sum(one.figures.ended for one in found)
    completed = sum(one.figures.completed for one in found)
    return (ended - completed) / ended if ended >= FEWEST_ATTEMPTS else None


def _tone(severity: str) -> Tone:
    return "bad" if severity == "critical" else "warn" if severity == "warning" else "info"
