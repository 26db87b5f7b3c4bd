"""What came back from a model, and what does it mean?"""

import json
from dataclasses import dataclass
from enum import StrEnum


class ModelError(Exception):
    """No answer of the model came back."""


class ModelBusy(ModelError):
    """The provider asks to slow down (429); `retry_after` is in seconds where it said how long."""

    def __init__(self, retry_after: float | None) -> None:
        told = f"in {retry_after:g} seconds" if retry_after is not None else "later"
        super().__init__(f"the model's provider is busy; ask again {told}")
        self.retry_after = retry_after


class ModelUnavailable(ModelError):
    """The provider failed, was not reached, or did not answer in time; `status` where it answered."""

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class ModelRefusedRequest(ModelError):
    """The provider will not take this request, now or later: a wrong key, a wrong form, too long a text."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"the model's provider refused the request with {status}: {reason}")
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `reasoning` is the hidden part of `completion`."""

    prompt: int
    completion: int
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer, whatever it is worth; `judge` says that."""

    content: str
    finish_reason: str
    refusal: str | None
    usage: Usage
    model: str
    choices_length: int


class Verdict(StrEnum):
    """What an answer is worth."""

    ANSWERED = "answered"
    BUDGET_USED_UP = "budget used up"
    """Nothing visible and `length`: hidden reasoning ate the budget before any text."""
    CUT = "cut"
    """Text that ends in the middle because the budget did."""
    EMPTY = "empty"
    """Nothing visible for another reason."""
    REFUSED = "refused"
    FILTERED = "filtered"
    BAD_JSON = "bad JSON"
    """Whole, but not the JSON object that was asked for."""


def judge(answer: ModelAnswer, *, expects_json: bool = True) -> Verdict:
    """What the answer is worth; a cut text is never taken for a whole one, even if it happens to parse."""
    if answer.refusal:
        return Verdict.REFUSED
    if answer.finish_reason == "content_filter":
        return Verdict.FILTERED
    if answer.finish_reason == "length":
        return Verdict.CUT if answer.content.strip() else Verdict.BUDGET_USED_UP
    if not answer.content.strip():
        return Verdict.EMPTY
    if expects_json and not _is_object(answer.content):
        return Verdict.BAD_JSON
    return Verdict.ANSWERED


def _is_object(content: str) -> bool:
    try:
        return isinstance(json.loads(content), dict)
    except ValueError:
        return False
