"""What can go wrong with a notification, told apart by whether trying again can help.

NotificationError
├── Undeliverable      a bad address, a refusal for good: a job handler raises Hopeless
└── TryAgain           no connection, a refusal for now: a job handler lets it fly, and is retried
"""

from __future__ import annotations

from datetime import timedelta


class NotificationError(Exception):
    """A notification was not delivered."""

    permanent = False

    def __init__(self, channel: str, reason: str) -> None:
        super().__init__(f"{channel}: {reason}")
        self.channel = channel
        self.reason = reason


class Undeliverable(NotificationError):
    """It cannot be delivered, now or later."""

    permanent = True


class TryAgain(NotificationError):
    """It could not be delivered now; `retry_after` is how long the other side asks to wait, if it said so."""

    def __init__(self, channel: str, reason: str, retry_after: timedelta | None = None) -> None:
        super().__init__(channel, reason)
        self.retry_after = retry_after
