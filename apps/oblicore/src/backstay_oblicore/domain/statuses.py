"""What status a duty or a deadline has on a day."""

from __future__ import annotations

from datetime import date

from backstay_oblicore.domain.words import DeadlineStatus, ObligationStatus

OBLIGATION_SOON_DAYS = 7
DEADLINE_SOON_DAYS = 3
OPEN_STATUSES = (
    ObligationStatus.PENDING,
    ObligationStatus.IN_PROGRESS,
    ObligationStatus.DUE_SOON,
    ObligationStatus.OVERDUE,
)


def obligation_status(current: ObligationStatus, *, due: date | None, today: date) -> ObligationStatus:
    """Move an obligation on: soon within seven days (today included), overdue once the day has passed."""
    if due is None or current not in OPEN_STATUSES:
        return current
    days = (due - today).days
    if days < 0:
        return ObligationStatus.OVERDUE
    if current is ObligationStatus.OVERDUE:
        # A new due date lies ahead: the late one has been answered or corrected.
        current = ObligationStatus.PENDING
    if current is ObligationStatus.DUE_SOON and days > OBLIGATION_SOON_DAYS:
        return ObligationStatus.PENDING
    if current is ObligationStatus.PENDING and days <= OBLIGATION_SOON_DAYS:
        return ObligationStatus.DUE_SOON
    return current


def deadline_status(current: DeadlineStatus, *, due: date, today: date) -> DeadlineStatus:
    """Move a deadline on: soon within three days (today included), overdue once the day has passed."""
    if current not in (DeadlineStatus.PENDING, DeadlineStatus.DUE_SOON):
        return current
    days = (due - today).days
    if days < 0:
        return DeadlineStatus.OVERDUE
    return DeadlineStatus.DUE_SOON if days <= DEADLINE_SOON_DAYS else current
