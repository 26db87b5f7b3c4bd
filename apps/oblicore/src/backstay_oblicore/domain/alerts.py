"""Which alert a deadline or an expiry date has earned by today, and which of them are still to be sent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from backstay_oblicore.domain.words import Channel, Priority, Severity

THRESHOLDS = (7, 3, 1, 0)
# What comes round within a threshold is not announced that early: a daily duty is told on its day.
SHORT_PERIODS = {"DAILY": 1, "WEEKLY": 7}
ESCALATION_DAYS = (1, 3, 7)
RENEWAL_DAYS = (90, 30, 7)


@dataclass(frozen=True)
class Alert:
    """One alert that a deadline has earned: its key is what "already sent" is remembered by."""

    key: str
    days_remaining: int
    severity: Severity
    priority: Priority
    channels: tuple[Channel, ...]
    escalates: bool = False


def deadline_alert(
    due: date, *, today: date, sent: Collection[str], frequency: str | None = None
) -> Alert | None:
    """Return the tightest alert that has been reached and not been sent.

    An outage costs no alert: what was reached while nobody looked is sent at the next look, once, in its
    tightest form. Late deadlines are told once a day; on days 1, 3 and 7 after, managers are told as well.
    """
    days = (due - today).days
    if days < 0:
        return _overdue_alert(-days, sent)
    period = SHORT_PERIODS.get(frequency or "")
    reached = [one for one in THRESHOLDS if days <= one and (period is None or one < period)]
    if not reached:
        return None
    tightest = min(reached)
    if _key(tightest) in sent:
        return None
    return _alert(_key(tightest), days, tightest)


def renewal_reminder(
    expiry: date, *, today: date, sent: Collection[int], reminder_days: Sequence[int] = RENEWAL_DAYS
) -> int | None:
    """Return the reminder day that has been reached and not been sent, the tightest one only."""
    days = (expiry - today).days
    if days < 0:
        return None
    reached = [threshold for threshold in reminder_days if days <= threshold]
    if not reached or min(reached) in sent:
        return None
    return min(reached)


def renewal_severity(days: int) -> Severity:
    """Grade a renewal reminder by the day that it stands for."""
    if days <= 7:
        return Severity.CRITICAL
    return Severity.WARNING if days <= 30 else Severity.INFO


def _overdue_alert(late: int, sent: Collection[str]) -> Alert | None:
    key = f"late:{late}"
    if key in sent:
        return None
    # An escalation day that passed during an outage is made up for at the next look.
    escalates = any(
        day <= late and not any(f"late:{other}" in sent for other in range(day, late))
        for day in ESCALATION_DAYS
    )
    alert = _alert(key, -late, 0)
    return Alert(key, -late, alert.severity, alert.priority, alert.channels, escalates)


def _key(threshold: int) -> str:
    return f"due:{threshold}"


def _alert(key: str, days: int, threshold: int) -> Alert:
    told = (Channel.IN_APP, Channel.EMAIL)
    if threshold >= 7:
        return Alert(key, days, Severity.INFO, Priority.NORMAL, told)
    if threshold >= 3:
        return Alert(key, days, Severity.WARNING, Priority.HIGH, told)
    return Alert(key, days, Severity.CRITICAL, Priority.URGENT, (*told, Channel.SMS))
