"""How much of the time that workers should have been there they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

SILENCE = timedelta(seconds=30)
"""A worker that has not been heard of for this long, and has not left in order, is down."""


@dataclass(frozen=True)
class Span:
    """One worker from its start to its last sign of life."""

    type: str
    started_at: datetime
    last_seen_at: datetime
    ended: str | None = None
    """`retired` if it left in order, `died` if not, None while it lives or where nobody has told."""


def percent(spans: Sequence[Span], first: datetime, now: datetime) -> float | None:
    """The share of up in up and down from `first` to `now`; None if no worker was there.

    A worker that died is down until another one of its type starts, or until now: each start ends one outage.
    """
    up = sum((_within(one.started_at, one.last_seen_at, first, now) for one in spans), timedelta(0))
    down = sum((_within(start, end, first, now) for start, end in _outages(spans, now)), timedelta(0))
    return 100 * up / (up + down) if up + down else None


def _outages(spans: Sequence[Span], now: datetime) -> list[tuple[datetime, datetime]]:
    starts = sorted(spans, key=lambda one: one.started_at)
    replaced: set[int] = set()
    found = []
    for one in sorted(spans, key=lambda one: one.last_seen_at):
        if not _has_died(one, now):
            continue
        end = now
        for number, other in enumerate(starts):
            is_next = other.type == one.type and other.started_at >= one.last_seen_at
            if is_next and number not in replaced:
                replaced.add(number)
                end = other.started_at
                break
        found.append((one.last_seen_at, end))
    return found


def _has_died(one: Span, now: datetime) -> bool:
    return one.ended == "died" or (one.ended is None and now - one.last_seen_at > SILENCE)


def _within(start: datetime, end: datetime, first: datetime, now: datetime) -> timedelta:
    return max(timedelta(0), min(end, now) - max(start, first))
