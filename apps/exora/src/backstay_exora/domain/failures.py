"""What can fail, by which code is it known, and what happens then?"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Action(StrEnum):
    """What is done about a failure, besides trying again."""

    BIGGER_BUDGET = "bigger output limit, then split, then complex lane"
    SAME_REQUEST = "same request"
    REVIEW = "manual review item"
    WAIT = "wait as told, else five minutes"
    REPAIR = "one repair prompt, then try again"
    TELL_USER = "fail, tell the user"
    AGAIN = "try again"


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table: the action, and whether the job is tried again."""

    action: Action
    is_retried: bool


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "AI_TRUNCATED": Rule(Action.BIGGER_BUDGET, is_retried=True),
        "AI_EMPTY": Rule(Action.SAME_REQUEST, is_retried=True),
        "AI_REFUSED": Rule(Action.REVIEW, is_retried=False),
        "AI_RATE_LIMIT": Rule(Action.WAIT, is_retried=True),
        "AI_HTTP_5XX": Rule(Action.AGAIN, is_retried=True),
        "AI_TIMEOUT": Rule(Action.AGAIN, is_retried=True),
        "AI_BAD_JSON": Rule(Action.REPAIR, is_retried=True),
        "FILE_MISSING": Rule(Action.TELL_USER, is_retried=False),
        "BAD_FILE": Rule(Action.TELL_USER, is_retried=False),
        "OCR_FAILED": Rule(Action.AGAIN, is_retried=True),
        "HEARTBEAT_LOST": Rule(Action.AGAIN, is_retried=True),
        "STORAGE_UNAVAILABLE": Rule(Action.AGAIN, is_retried=True),
        "MAIL_REFUSED": Rule(Action.TELL_USER, is_retried=False),
        "MAIL_UNREACHABLE": Rule(Action.AGAIN, is_retried=True),
        "REGISTRY_UNAVAILABLE": Rule(Action.AGAIN, is_retried=True),
        "CONSENT_MISSING": Rule(Action.TELL_USER, is_retried=False),
        "PROVIDER_UNKNOWN": Rule(Action.TELL_USER, is_retried=False),
        "BACKUP_FAILED": Rule(Action.AGAIN, is_retried=True),
        "BAD_REQUEST": Rule(Action.TELL_USER, is_retried=False),
    }
)


class ExoraError(Exception):
    """A failure of a job: a code of the table, a sentence without private data, details as values."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.details = code, details

    @property
    def rule(self) -> Rule:
        """The row of the table."""
        return RULES[self.code]


class FinalFailure(ExoraError):
    """A failure that another attempt cannot heal."""


class PassingFailure(ExoraError):
    """A failure that another attempt may heal; `retry_after` is in seconds where somebody said how long."""

    def __init__(self, code: str, message: str, *, retry_after: float | None = None, **details: Any) -> None:
        super().__init__(code, message, **details)
        self.retry_after = retry_after


def failure(code: str, message: str, *, retry_after: float | None = None, **details: Any) -> ExoraError:
    """The exception of the right class for a code."""
    if RULES[code].is_retried:
        return PassingFailure(code, message, retry_after=retry_after, **details)
    return FinalFailure(code, message, **details)
