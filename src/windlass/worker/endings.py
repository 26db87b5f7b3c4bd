"""How what a handler returned or raised becomes an outcome, wherever it ran."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from windlass.attempt_ends import BY_ITS_HANDLER, length
from windlass.classify import ErrorClass, Rules, classify
from windlass.error_text import error_info, safe_text
from windlass.errors import (
    Cancel,
    Hopeless,
    InvalidArguments,
    InvalidPayload,
    InvalidSignal,
    InvalidStep,
    SignalTimeout,
    Snooze,
)
from windlass.job import Claim
from windlass.mailbox import suspended_by
from windlass.outcome import Complete, ErrorInfo, Fail, Outcome, Snoozed, Stopped, Waiting
from windlass.registry import HandlerSpec

_FOR_GOOD = (Hopeless, InvalidArguments, InvalidStep, InvalidSignal, SignalTimeout)
"""What another attempt cannot change."""

_OUTSIDE = (str(Path(__file__).parent), str(Path(asyncio.__file__).parent))


def returned(spec: HandlerSpec, value: object, *, result_limit: int) -> Outcome:
    """The outcome of a handler that came to its end."""
    try:
        return Complete(spec.encode_result(value, limit_bytes=result_limit))
    except InvalidPayload as error:
        return Fail(error_info(error, error_class=ErrorClass.RESULT_INVALID), hopeless=True)


def raised(error: BaseException, *, rules: Rules, now: datetime) -> Outcome:
    """The outcome of a handler that raised."""
    if (wait := suspended_by(error)) is not None:
        return Waiting(wait)
    try:
        match error:
            case Snooze():
                return Snoozed(length(error.delay, field="delay"))
            case Cancel():
                return Stopped(safe_text(str(error.reason or "")).strip() or BY_ITS_HANDLER)
    except Exception as wrong:  # What a handler hands over, or a subclass of these, may be anything.
        error = wrong
    _forget_frames_before_the_handler(error)
    found = classify(error, rules, now=now)
    info = error_info(error, error_class=found.error_class, code=found.code, status=found.status)
    return Fail(info, hopeless=isinstance(error, _FOR_GOOD), retry_after=found.retry_after)


def in_step(outcome: Outcome, step: str | None) -> Outcome:
    """The same outcome; a failure also tells in which step of the handler it came about."""
    if step is None or not isinstance(outcome, Fail):
        return outcome
    error = replace(outcome.error, context={**outcome.error.context, "step": step})
    return replace(outcome, error=error)


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
