"""The next state of a job after an attempt: one pure decision for every way an attempt can end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import IntEnum
from typing import assert_never

from backstay.model.classify import LONGEST_RETRY_AFTER, ErrorClass
from backstay.model.job import Claim
from backstay.model.misfits import ARGUMENTS_DO_NOT_FIT, Refusal
from backstay.model.outcome import (
    Complete,
    Crashed,
    ErrorInfo,
    Fail,
    Misfit,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Waiting,
)
from backstay.model.policy.policy import ClassRule, Policy
from backstay.model.signals import Wait, held_reason
from backstay.model.states import State

EXHAUSTED = "exhausted"
HOPELESS = "hopeless"
CRASH_LOOP = "crash loop"
CANCEL_REQUESTED = "cancel requested"

SUSPECT_AFTER = 2
"""So many crashes of its worker in a row make a job a suspect: one may be another job's, or nobody's."""


class CrashCount(IntEnum):
    """What a settlement does to the number of crashes in a row."""

    CLEARED = -1
    KEPT = 0
    MORE = 1


@dataclass(frozen=True, slots=True)
class Settlement:
    """What is written because of an outcome.

    `refund` is taken off the attempt counter, `crashes` is added to the counter of those that the job is to blame for;
    `timeout` and `max_attempts` are set only when the job's next attempt is to have others than this one had.
    """

    state: State
    reason: str | None = None
    run_in: timedelta | None = None
    result: str | None = None
    error: ErrorInfo | None = None
    refund: int = 0
    is_suspect: bool = False
    crashes: int = 0
    crashes_in_row: CrashCount = CrashCount.CLEARED
    timeout: timedelta | None = None
    max_attempts: int | None = None
    attempt_status: str = "completed"
    wait: Wait | None = None
    """The signal that the job is held for."""
    queue: str | None = None
    """Where it waits from now on, if not where it was."""
    refusal: Refusal | None = None
    """Which code the job's arguments did not fit, where it is held for that."""


def settle(
    claim: Claim, outcome: Outcome, policy: Policy, *, chance: float, cancel_requested: bool = False
) -> Settlement:
    """Decide the next state of a job from what its attempt came to.

    `policy` is the job's own, without an error class; `chance` in [0, 1) spreads retries.
    A job that was asked to cancel is not run again, but a result that came first stands.
    """
    match outcome:
        case Complete(result):
            return Settlement(State.COMPLETED, result=result, attempt_status="completed")
        case Stopped(reason):
            return Settlement(State.CANCELLED, reason=reason, attempt_status="cancelled")
        case Fail():
            return _after_failure(claim, outcome, policy, chance=chance, cancel_requested=cancel_requested)
        case Crashed():
            return _after_crash(claim, outcome, policy, chance=chance, cancel_requested=cancel_requested)
        case Snoozed() | Waiting() | Released() | Misfit() if cancel_requested:
            return Settlement(State.CANCELLED, reason=CANCEL_REQUESTED, attempt_status="cancelled")
        case Misfit():
            return _after_misfit(claim, outcome, policy)
        case Snoozed() | Waiting() | Released():
            return _after_pause(claim, outcome)
        case _:
            assert_never(outcome)


def _after_misfit(claim: Claim, outcome: Misfit, policy: Policy) -> Settlement:
    """The handler was not called, so nothing is spent: the job waits for a worker whose code it fits."""
    return Settlement(
        State.HELD,
        reason=ARGUMENTS_DO_NOT_FIT,
        error=outcome.error,
        refund=1,
        is_suspect=claim.is_suspect,
        crashes_in_row=CrashCount.KEPT,
        attempt_status="released",
        refusal=Refusal(outcome.signature, policy.misfit_for),
    )


def _after_pause(claim: Claim, outcome: Snoozed | Waiting | Released) -> Settlement:
    """Nothing failed and nothing is proved: the attempt is given back, and the crashes in a row stay counted."""
    kept = CrashCount.KEPT
    match outcome:
        case Snoozed(delay):
            return Settlement(
                State.SCHEDULED, run_in=delay, refund=1, crashes_in_row=kept, attempt_status="snoozed"
            )
        case Waiting(wait):
            return Settlement(
                State.HELD,
                reason=held_reason(wait.name),
                refund=1,
                crashes_in_row=kept,
                attempt_status="snoozed",
                wait=wait,
            )
        case Released():
            # Proves nothing about a suspect: it may not have reached the place that kills workers.
            return Settlement(
                State.AVAILABLE,
                refund=1,
                is_suspect=claim.is_suspect,
                crashes_in_row=kept,
                attempt_status="released",
            )


def _after_failure(
    claim: Claim, outcome: Fail, policy: Policy, *, chance: float, cancel_requested: bool
) -> Settlement:
    status = "timeout" if outcome.timed_out else "failed"
    rule = policy.rule_for(outcome.error.error_class)
    limit = _limit(claim, rule)
    is_last, is_hopeless = claim.attempt >= limit, outcome.hopeless or not rule.retry

    if cancel_requested:
        return Settlement(
            State.CANCELLED, reason=CANCEL_REQUESTED, error=outcome.error, attempt_status=status
        )
    if is_hopeless and not (is_last and policy.exhausted_wins):
        return Settlement(State.DEAD, reason=HOPELESS, error=outcome.error, attempt_status=status)
    if is_last:
        return Settlement(
            State.DEAD,
            reason=EXHAUSTED,
            error=outcome.error,
            max_attempts=_new_limit(claim, limit),
            attempt_status=status,
        )
    return Settlement(
        State.SCHEDULED,
        run_in=_delay(claim, outcome.retry_after, rule, policy, chance=chance),
        error=outcome.error,
        timeout=_grown_timeout(claim, policy) if outcome.timed_out else None,
        queue=None if outcome.queue == claim.queue else outcome.queue,
        max_attempts=_new_limit(claim, limit),
        attempt_status=status,
    )


def _after_crash(
    claim: Claim, outcome: Crashed, policy: Policy, *, chance: float, cancel_requested: bool
) -> Settlement:
    rule = policy.rule_for(ErrorClass.CRASHED)
    limit = _limit(claim, rule)
    is_culprit = claim.is_suspect or outcome.was_alone
    is_suspected = not outcome.was_alone and claim.crashes_in_row + 1 >= SUSPECT_AFTER
    crash = Settlement(
        State.SCHEDULED,
        error=_crash_error(outcome),
        # A job that was alone in its process is to blame without having been suspected, and no danger to others:
        # it need not be kept apart, unless it was suspected of taking a whole worker down before.
        is_suspect=claim.is_suspect or is_suspected,
        crashes=1 if is_culprit else 0,
        crashes_in_row=CrashCount.KEPT if outcome.was_alone else CrashCount.MORE,
        max_attempts=_new_limit(claim, limit),
        attempt_status="crashed",
    )
    if cancel_requested:
        return replace(crash, state=State.CANCELLED, reason=CANCEL_REQUESTED)
    if not rule.retry:
        return replace(crash, state=State.DEAD, reason=HOPELESS)
    if not is_culprit:
        # All jobs of a dead worker come here and at most one of them killed it, so none pays with its last attempt.
        # After the first crash it runs again as any other job; after the second with no other suspect beside it, so
        # that the next crash is its own, and what the two have cost it has back in part.
        is_refunded = is_suspected or claim.attempt >= limit
        return replace(crash, state=State.AVAILABLE, refund=1 if is_refunded else 0)
    if claim.crashes + 1 >= policy.max_crashes:
        return replace(crash, state=State.DEAD, reason=CRASH_LOOP)
    if claim.attempt >= limit:
        return replace(crash, state=State.DEAD, reason=EXHAUSTED)
    return replace(crash, run_in=_delay(claim, None, rule, policy, chance=chance))


def _crash_error(outcome: Crashed) -> ErrorInfo:
    told = outcome.told or f"worker {outcome.worker} is gone"
    return ErrorInfo(
        type="ProcessCrashed" if outcome.was_alone else "WorkerCrashed",
        message=f"{told}; nobody knows how far this attempt came",
        error_class=ErrorClass.CRASHED.value,
        details=outcome.details,
        partial_result=outcome.partial_result,
    )


def _limit(claim: Claim, rule: ClassRule) -> int:
    return claim.max_attempts if rule.max_attempts is None else rule.max_attempts


def _new_limit(claim: Claim, limit: int) -> int | None:
    # The row keeps attempt <= max_attempts, also when a class allows fewer attempts than were already made.
    effective = max(limit, claim.attempt)
    return None if effective == claim.max_attempts else effective


def _delay(
    claim: Claim, retry_after: timedelta | None, rule: ClassRule, policy: Policy, *, chance: float
) -> timedelta:
    if retry_after is not None:
        return min(max(retry_after, timedelta(0)), LONGEST_RETRY_AFTER)
    backoff = policy.backoff if rule.backoff is None else rule.backoff
    return backoff.delay(claim.attempt, chance)


def _grown_timeout(claim: Claim, policy: Policy) -> timedelta:
    return max(claim.timeout, min(claim.timeout * policy.timeout_growth, policy.max_timeout))
