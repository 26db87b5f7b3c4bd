"""Usage counters: when a day's count is closed, which day it belongs to, and what starts anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Counter:
    """What one source of one organisation has used in the current period (a row of rate_limits)."""

    organization_id: str
    source: str
    api_calls: int
    watchpoints: int
    period_start: datetime
    period_end: datetime


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A closed day of one source (what is added to usage_history)."""

    organization_id: str
    date: date
    source: str
    api_calls: int
    watchpoints: int


def next_midnight(now: datetime) -> datetime:
    """Return the first UTC midnight after a moment."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)


def fresh_counter(organization_id: str, source: str, now: datetime) -> Counter:
    """Return an empty counter for the day that a moment is in."""
    return Counter(organization_id, source, 0, 0, now, next_midnight(now))


def roll_over(counter: Counter, now: datetime) -> tuple[Snapshot, Counter] | None:
    """Close a counter whose period has ended: its snapshot, and the counter that goes on. None while it is current.

    A snapshot bears the day of its own period, also when it is taken days later.
    """
    if not counter.period_end < now:
        return None
    day = (counter.period_end - timedelta(microseconds=1)).astimezone(UTC).date()
    snapshot = Snapshot(counter.organization_id, day, counter.source, counter.api_calls, counter.watchpoints)
    return snapshot, fresh_counter(counter.organization_id, counter.source, now)


def merge(stored: Snapshot, added: Snapshot) -> Snapshot:
    """Put two snapshots of one day together: calls add up, of watchpoints the larger number counts."""
    return replace(
        stored,
        api_calls=stored.api_calls + added.api_calls,
        watchpoints=max(stored.watchpoints, added.watchpoints),
    )


def target_date(now: datetime) -> date:
    """Return the day that the nightly run closes: the one before."""
    return (now.astimezone(UTC) - timedelta(days=1)).date()
