"""Groups of failures: how often a cause struck lately, and whether it is new or has come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.kit.words import aware
from backstay.model.records import DeadLetterGroup, DeadLetterHour

HOURS = 24
HOUR = timedelta(hours=1)
NEW_WITHIN = timedelta(hours=1)
ACTIVE_WITHIN = timedelta(minutes=15)


@dataclass(frozen=True)
class GroupRow:
    """A cause of death with its recent course: deaths an hour over the last day, the oldest hour first."""

    group: DeadLetterGroup
    hours: Sequence[float]
    is_new: bool
    is_active: bool


def group_rows(
    groups: Sequence[DeadLetterGroup], counted: Sequence[DeadLetterHour], now: datetime
) -> list[GroupRow]:
    """Return the groups as a page shows them."""
    return [
        GroupRow(
            group,
            hours_of([one for one in counted if one.fingerprint == group.fingerprint], now),
            is_new=group.last_closed_at is None and now - aware(group.first_died_at) <= NEW_WITHIN,
            is_active=now - aware(group.last_died_at) <= ACTIVE_WITHIN,
        )
        for group in groups
    ]


def hours_of(counted: Sequence[DeadLetterHour], now: datetime, hours: int = HOURS) -> list[float]:
    """Return how many letters are from each of the last hours of the clock, the oldest first."""
    this_hour = aware(now).replace(minute=0, second=0, microsecond=0)
    found = {aware(one.at): one.letters for one in counted}
    return [float(found.get(this_hour - age * HOUR, 0)) for age in reversed(range(hours))]
