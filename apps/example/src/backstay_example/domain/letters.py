"""What a reminder says, and to whom it can be sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Reminder:
    """Somebody is to be reminded of something that is due."""

    name: str
    subject: str
    due: date


class NobodyToRemind(ValueError):
    """The reminder names nobody, so no letter can be written."""


def letter(reminder: Reminder, *, today: date) -> str:
    """The text of the letter; raises NobodyToRemind."""
    if not reminder.name.strip():
        raise NobodyToRemind(f"the reminder of {reminder.subject!r} names nobody: give it a name")
    days = (reminder.due - today).days
    when = (
        "is due today" if days == 0 else f"is due in {days} days" if days > 0 else f"was due {-days} days ago"
    )
    return f"Dear {reminder.name.strip()}, {reminder.subject} {when}."
