"""What can be wrong, by name; the class of an error decides whether a job is tried again."""

from __future__ import annotations


class AeonError(Exception):
    """Something that the caller can understand and mend; `field` is the part of the request that it is about."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.message, self.field = message, field


class BadRequest(AeonError):
    """What was sent cannot be accepted."""


class ValidationError(AeonError):
    """The data of a job can never be processed as it is."""


class Missing(AeonError):
    """There is no such thing, or it belongs to another team."""


class Conflict(AeonError):
    """What was asked does not fit the state that the thing is in."""


class BadSettings(AeonError):
    """A setting is missing or wrong; the message names it."""
