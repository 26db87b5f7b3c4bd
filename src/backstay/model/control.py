"""What handlers raise to say how an attempt ended; drawn with the errors in `errors.py`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

LOOK_AGAIN = timedelta(seconds=15)
"""How soon a job that found its lock taken looks again."""
BY_ITS_HANDLER = "cancelled by its handler"


def length(given: object, *, field: str) -> timedelta:
    """Read how long to wait, in any of the ways of `duration`; what lies in the past is no wait at all."""
    # Here, because durations are refused by an error which is drawn beside these endings.
    from backstay.model.text.durations import duration

    is_past = (isinstance(given, timedelta) and given < timedelta(0)) or (
        isinstance(given, int | float) and given < 0
    )
    return timedelta(0) if is_past else duration(given, field=field)


class EndOfAttempt(Exception):
    """Raised by handlers to end an attempt in another way than returning or failing.

    `details` are facts that are kept with the error: small, plain, and nothing that must stay private.
    """

    details: Mapping[str, Any] | None = None


class Retry(EndOfAttempt):
    """The attempt failed; run it again, after `after` if given, otherwise by the policy's backoff.

    With `queue` it waits in another queue from now on, as for a lane with more time or memory.
    """

    def __init__(
        self,
        message: str = "retry asked for",
        *,
        after: timedelta | float | str | None = None,
        queue: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.details, self.queue = details, queue
        self.after = None if after is None else length(after, field="after")


class Hopeless(EndOfAttempt):
    """The attempt failed and no other attempt can help: the job is dead at once."""

    def __init__(self, *args: object, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(*args)
        self.details = details


class Snooze(EndOfAttempt):
    """Nothing failed: run again after `delay`, without spending an attempt."""

    def __init__(self, delay: timedelta | float | str) -> None:
        super().__init__("snoozed")
        self.delay = length(delay, field="delay")


class LockTaken(Snooze):
    """Somebody else holds the lock; a handler that lets this through is looked at again later, at no cost."""

    def __init__(self, lock_id: str, *, holder: str, expires_at: datetime) -> None:
        super().__init__(LOOK_AGAIN)
        self.args = (
            f"the lock {lock_id!r} is held by {holder} until {expires_at:%Y-%m-%d %H:%M:%S} UTC at most",
        )
        self.lock_id, self.holder, self.expires_at = lock_id, holder, expires_at


class Cancel(EndOfAttempt):
    """Stop this job for good; nothing is wrong with it."""

    def __init__(self, reason: str = BY_ITS_HANDLER) -> None:
        super().__init__(reason)
        self.reason = reason
