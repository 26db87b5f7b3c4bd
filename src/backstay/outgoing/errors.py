"""What can go wrong with an outgoing request, told apart by what the caller would do about it.

OutgoingError
├── TargetRefused       the address may not be called: trying again does not help
├── SendFailed          no answer came: trying again may help
└── AnswerRefused       the receiver answered, and said no
    └── AnswerLater     … for now: trying again may help, at the earliest after `retry_after`
"""

from __future__ import annotations

from datetime import timedelta


class OutgoingError(Exception):
    """A request to somebody else did not succeed."""

    permanent = False
    """True if the same request cannot succeed later."""


class TargetRefused(OutgoingError):
    """The address may not be called; nothing was sent."""

    permanent = True

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"refused to call {host!r}: {reason}")
        self.host = host
        self.reason = reason


class SendFailed(OutgoingError):
    """No complete answer came: no such name, no connection, a broken one, or no time left."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"no answer from {host!r}: {reason}")
        self.host = host
        self.reason = reason


class AnswerRefused(OutgoingError):
    """The receiver refused the request for good (a redirect, or a status 4xx other than 408, 425 and 429)."""

    permanent = True

    def __init__(self, host: str, status: int) -> None:
        super().__init__(f"{host!r} answered {status}")
        self.host = host
        self.status = status


class AnswerLater(AnswerRefused):
    """The receiver could not take the request now (408, 425, 429 or 5xx)."""

    permanent = False

    def __init__(self, host: str, status: int, retry_after: timedelta | None = None) -> None:
        super().__init__(host, status)
        self.retry_after = retry_after
