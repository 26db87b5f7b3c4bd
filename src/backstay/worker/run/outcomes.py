"""How what a handler returned or raised becomes an outcome, wherever it ran."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from backstay.attempt.signal_waits import suspended_by
from backstay.errors import (
    Cancel,
    Hopeless,
    InvalidArguments,
    InvalidPayload,
    InvalidSignal,
    InvalidStep,
    Retry,
    SignalTimeout,
    Snooze,
)
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec, Unfit
from backstay.model.classify import ErrorClass, ErrorRules, classify
from backstay.model.control import BY_ITS_HANDLER, length
from backstay.model.job import Claim
from backstay.model.outcome import (
    Complete,
    Crashed,
    ErrorInfo,
    Fail,
    Misfit,
    Outcome,
    Snoozed,
    Stopped,
    Waiting,
)
from backstay.model.text.error_facts import details_of, facts
from backstay.model.text.error_text import error_info, safe_text

_FOR_GOOD = (Hopeless, InvalidArguments, InvalidStep, InvalidSignal, SignalTimeout)
"""What another attempt cannot change."""

MISFIT_TYPE = "backstay.InvalidArguments"

_OUTSIDE = (str(Path(__file__).parents[1]), str(Path(asyncio.__file__).parent))


def returned(spec: HandlerSpec, value: object, *, result_limit: int) -> Outcome:
    """The outcome of a handler that came to its end."""
    try:
        # The worker's limit is the largest of its kinds.
        limit = result_limit if spec.max_result_bytes is None else spec.max_result_bytes
        return Complete(spec.encode_result(value, limit_bytes=limit))
    except InvalidPayload as error:
        return Fail(error_info(error, error_class=ErrorClass.RESULT_INVALID), hopeless=True)


def raised(error: BaseException, *, rules: ErrorRules, now: datetime) -> Outcome:
    """The outcome of a handler that raised."""
    if (wait := suspended_by(error)) is not None:
        return Waiting(wait)
    if isinstance(error, Unfit):
        return _misfit(error)
    try:
        match error:
            case Snooze():
                return Snoozed(length(error.delay, field="delay"))
            case Cancel():
                return Stopped(safe_text(str(error.reason or "")).strip() or BY_ITS_HANDLER)
            case Retry() if error.queue is not None:
                codec.check_name("queue", error.queue)
    except Exception as wrong:  # What a handler hands over, or a subclass of these, may be anything.
        error = wrong
    _forget_frames_before_the_handler(error)
    found = classify(error, rules, now=now)
    info = error_info(error, error_class=found.error_class, code=found.code, status=found.status)
    if details := details_of(error):
        info = replace(info, details=details)
    queue = error.queue if isinstance(error, Retry) else None
    return Fail(info, hopeless=isinstance(error, _FOR_GOOD), retry_after=found.retry_after, queue=queue)


def _misfit(error: Unfit) -> Misfit:
    told = error_info(error, error_class=ErrorClass.INVALID_INPUT)
    # Its traceback shows no line of the user's code.
    return Misfit(replace(told, type=MISFIT_TYPE, traceback=""), error.signature)


def in_step(outcome: Outcome, step: str | None) -> Outcome:
    """The same outcome; a failure also tells in which step of the handler it came about."""
    if step is None or not isinstance(outcome, Fail):
        return outcome
    error = replace(outcome.error, context={**outcome.error.context, "step": step})
    return replace(outcome, error=error)


@dataclass(slots=True)
class Noted:
    """What a handler has said about its attempt, in case that it fails."""

    facts: dict[str, Any] = field(default_factory=dict)
    partial_result: Any = None

    def add(self, more: dict[str, Any]) -> None:
        """Note further facts, the newest of each name."""
        self.facts = facts({**self.facts, **more})


def with_notes(outcome: Outcome, noted: Noted | None) -> Outcome:
    """The same outcome; a failure also tells what the handler noted. What the exception itself says comes first."""
    match outcome:
        case Fail(error=error) if noted is not None:
            told = facts(
                {**error.details, **{k: v for k, v in noted.facts.items() if k not in error.details}}
            )
            return replace(outcome, error=replace(error, details=told, partial_result=noted.partial_result))
        case Crashed() if noted is not None:
            return replace(outcome, details=noted.facts, partial_result=noted.partial_result)
        case _:
            return outcome


def timed_out(claim: Claim, error: BaseException | None = None) -> Fail:
    """The outcome of an attempt whose time limit is over."""
    seconds = claim.timeout.total_seconds()
    told = error_info(error, error_class=ErrorClass.TIMEOUT).traceback if error is not None else ""
    message = f"the handler did not finish within its time limit of {seconds:g} s"
    return Fail(ErrorInfo("TimeoutError", message, ErrorClass.TIMEOUT, traceback=told), timed_out=True)


def _forget_frames_before_the_handler(error: BaseException) -> None:
    """Let the traceback begin where the user's code does."""
    first = traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_OUTSIDE):
        traceback = traceback.tb_next
    BaseException.with_traceback(error, first if traceback is None else traceback)
