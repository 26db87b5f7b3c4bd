"""What becomes of a job after each way an attempt can end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import AEON, ALL, EXORA, OBLICORE, PASSPORT, SINGLE_KIND, WATCHPOINT

from backstay.errors import Retry
from backstay.model.backoff import Backoff
from backstay.model.classify import ErrorClass, classify
from backstay.model.job import Claim, JobId
from backstay.model.outcome import (
    Complete,
    Crashed,
    ErrorInfo,
    Fail,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Waiting,
)
from backstay.model.policy.policy import ClassRule, Policy, change, resolve
from backstay.model.policy.profile import Profile
from backstay.model.settlement import CrashCount, Settlement, settle
from backstay.model.signals import Wait
from backstay.model.states import FINISHED, State, is_allowed

SECOND = timedelta(seconds=1)
RETRYABLE = "transient_network"
STANDARD = Policy()


def claim_of(policy: Policy = STANDARD, **changes: Any) -> Claim:
    claim = Claim(
        id=JobId(UUID(int=7)),
        epoch=1,
        kind="report",
        queue="default",
        args="{}",
        attempt=1,
        max_attempts=policy.max_attempts,
        run=1,
        crashes=0,
        is_suspect=False,
        timeout=policy.timeout,
        lease=policy.lease,
    )
    return claim._replace(**changes)


def failure(error_class: str = RETRYABLE, **changes: Any) -> Fail:
    return replace(Fail(ErrorInfo(type="Oops", message="no luck", error_class=error_class)), **changes)


def settled(outcome: Outcome, policy: Policy = STANDARD, **changes: Any) -> Settlement:
    return settle(claim_of(policy, **changes), outcome, policy, chance=0.5)


def life(policy: Policy, outcomes: Callable[[Claim], Outcome | None]) -> Iterator[tuple[Claim, Settlement]]:
    """Run one job from claim to claim, as a store would, until it is finished or there is no outcome left."""
    claim = claim_of(policy)
    while (outcome := outcomes(claim)) is not None:
        settlement = settle(claim, outcome, policy, chance=0.5)
        yield claim, settlement
        if settlement.state in FINISHED:
            return
        attempt = claim.attempt - settlement.refund + 1
        limit = policy.max_attempts if settlement.max_attempts is None else settlement.max_attempts
        claim = claim._replace(
            epoch=claim.epoch + 2,
            run=claim.run + 1,
            attempt=attempt,
            max_attempts=max(limit, attempt),
            crashes=claim.crashes + settlement.crashes,
            is_suspect=settlement.is_suspect,
            crashes_in_row=0
            if settlement.crashes_in_row is CrashCount.CLEARED
            else claim.crashes_in_row + settlement.crashes_in_row,
            timeout=settlement.timeout or claim.timeout,
        )


def executions(policy: Policy, error_class: str) -> int:
    return len(list(life(policy, lambda _: failure(error_class))))


def test_a_result_completes_the_job() -> None:
    assert settled(Complete("42")) == Settlement(State.COMPLETED, result="42", attempt_status="completed")


def test_a_snooze_costs_no_attempt() -> None:
    settlement = settled(Snoozed(30 * SECOND))

    assert (settlement.state, settlement.run_in, settlement.refund) == (State.SCHEDULED, 30 * SECOND, 1)
    assert settlement.attempt_status == "snoozed"


def test_a_wait_for_a_signal_holds_the_job_and_costs_no_attempt() -> None:
    wait = Wait("approval", timeout=SECOND)

    settlement = settled(Waiting(wait))

    assert (settlement.state, settlement.reason) == (State.HELD, "waiting for signal approval")
    assert (settlement.refund, settlement.wait, settlement.run_in) == (1, wait, None)


def test_a_job_given_back_costs_no_attempt_and_waits_for_nobody() -> None:
    """ENG-043."""
    settlement = settled(Released())

    assert (settlement.state, settlement.run_in, settlement.refund) == (State.AVAILABLE, None, 1)
    assert (settlement.reason, settlement.attempt_status) == (None, "released")


def test_a_stopped_job_is_cancelled_with_its_reason() -> None:
    settlement = settled(Stopped("no longer needed"))

    assert (settlement.state, settlement.reason) == (State.CANCELLED, "no longer needed")
    assert settlement.attempt_status == "cancelled"


def test_a_failed_attempt_is_tried_again_later_and_keeps_its_error() -> None:
    """ENG-055, ENG-057: the row is rescheduled; nobody sleeps on it."""
    settlement = settled(failure(), attempt=2)

    assert (settlement.state, settlement.run_in, settlement.reason) == (State.SCHEDULED, 4 * SECOND, None)
    assert settlement.error is not None
    assert settlement.attempt_status == "failed"


def test_the_last_failure_kills() -> None:
    settlement = settled(failure(), attempt=4)

    assert (settlement.state, settlement.reason, settlement.run_in) == (State.DEAD, "exhausted", None)


@pytest.mark.parametrize("outcome", [failure("not_found"), failure(hopeless=True), failure("result_invalid")])
def test_what_cannot_help_is_not_repeated(outcome: Fail) -> None:
    settlement = settled(outcome)

    assert (settlement.state, settlement.reason) == (State.DEAD, "hopeless")


def test_a_servers_wish_to_wait_outranks_the_backoff_but_not_for_ever() -> None:
    """ENG-056."""
    assert settled(failure(retry_after=90 * SECOND)).run_in == 90 * SECOND
    assert settled(failure(retry_after=-SECOND)).run_in == timedelta(0)
    assert settled(failure(retry_after=timedelta(days=400))).run_in == timedelta(days=7)


def test_a_retry_that_was_asked_for_happens_even_where_unknown_errors_are_final() -> None:
    """ENG-050, ENG-051."""
    policy = resolve(PASSPORT.policy)
    asked = classify(Retry("webhook answered 502")).error_class

    assert settled(failure("unknown"), policy).state is State.DEAD
    assert settled(failure(asked), policy).state is State.SCHEDULED


def test_after_a_timeout_the_next_attempt_has_more_time() -> None:
    """ENG-047, ENG-100."""
    settlement = settled(failure("timeout", timed_out=True))

    assert (settlement.timeout, settlement.attempt_status) == (450 * SECOND, "timeout")
    assert settled(failure("timeout", timed_out=True), timeout=3000 * SECOND).timeout == 3600 * SECOND
    assert settled(failure("timeout")).timeout is None


def test_a_failed_job_that_was_asked_to_cancel_is_cancelled() -> None:
    for outcome in (
        failure(),
        failure("not_found"),
        Snoozed(SECOND),
        Waiting(Wait("s")),
        Released(),
        Crashed("w1"),
    ):
        settlement = settle(claim_of(), outcome, Policy(), chance=0.5, cancel_requested=True)

        assert (settlement.state, settlement.reason) == (State.CANCELLED, "cancel requested")


def test_a_result_outranks_a_request_to_cancel() -> None:
    settlement = settle(claim_of(), Complete("1"), Policy(), chance=0.5, cancel_requested=True)

    assert (settlement.state, settlement.result) == (State.COMPLETED, "1")


def test_the_first_crash_is_nobodys_fault() -> None:
    settlement = settled(Crashed("w1"))

    assert (settlement.state, settlement.run_in, settlement.refund) == (State.AVAILABLE, None, 0)
    assert (settlement.is_suspect, settlement.crashes, settlement.attempt_status) == (False, 0, "crashed")
    assert settlement.crashes_in_row is CrashCount.MORE


def test_the_second_crash_in_a_row_makes_a_suspect_and_gives_the_attempt_back() -> None:
    settlement = settled(Crashed("w1"), attempt=2, crashes_in_row=1)

    assert (settlement.state, settlement.run_in, settlement.refund) == (State.AVAILABLE, None, 1)
    assert (settlement.is_suspect, settlement.crashes) == (True, 0)


def test_only_a_handler_that_ends_by_itself_clears_the_crashes_in_a_row() -> None:
    assert settled(failure()).crashes_in_row is CrashCount.CLEARED
    assert settled(Snoozed(SECOND)).crashes_in_row is CrashCount.KEPT
    assert settled(Released()).crashes_in_row is CrashCount.KEPT


def test_a_crash_beside_others_never_costs_the_last_attempt() -> None:
    settlement = settled(Crashed("w1"), attempt=4)

    assert (settlement.state, settlement.refund) == (State.AVAILABLE, 1)


def test_a_suspect_that_crashes_again_waits_and_is_blamed() -> None:
    settlement = settled(Crashed("w1"), attempt=2, is_suspect=True)

    assert (settlement.state, settlement.run_in, settlement.crashes) == (State.SCHEDULED, 4 * SECOND, 1)
    assert settlement.is_suspect


def test_a_crash_alone_in_a_process_is_blamed_at_once_but_not_suspected() -> None:
    crash = Crashed("w1", told="the handler's process 5 was killed by SIGSEGV", was_alone=True)

    first, last = settled(crash), settled(crash, attempt=4)

    assert (first.state, first.crashes, first.is_suspect) == (State.SCHEDULED, 1, False)
    assert first.error is not None
    assert first.error.message.startswith("the handler's process 5 was killed by SIGSEGV")
    assert (last.state, last.reason, last.refund) == (State.DEAD, "exhausted", 0)
    assert settled(crash, is_suspect=True).is_suspect


def test_a_crash_loop_ends_dead() -> None:
    policy = resolve(change(max_attempts=100))

    *_, (claim, last) = life(policy, lambda _: Crashed("w1"))

    assert (last.state, last.reason, claim.run) == (State.DEAD, "crash loop", 5)


def test_a_crashing_job_with_few_attempts_is_exhausted_first() -> None:
    *_, (claim, last) = life(resolve(change(max_attempts=2)), lambda _: Crashed("w1"))

    assert (last.state, last.reason, claim.attempt) == (State.DEAD, "exhausted", 2)


def test_an_attempt_that_ends_clears_the_suspicion() -> None:
    assert not settled(failure(), is_suspect=True).is_suspect
    assert settled(Released(), is_suspect=True).is_suspect


def test_a_kind_may_ask_never_to_run_again_after_a_crash() -> None:
    policy = resolve(change(classes={"crashed": ClassRule(retry=False)}))

    assert settled(Crashed("w1"), policy).state is State.DEAD


@pytest.mark.parametrize(
    ("policy", "error_class", "expected"),
    [
        (resolve(OBLICORE.policy), RETRYABLE, 3),
        (resolve(OBLICORE.policy, SINGLE_KIND), RETRYABLE, 2),
        (resolve(AEON.policy), "other_class", 4),
        (resolve(AEON.policy), "unknown", 3),
        (resolve(PASSPORT.policy), RETRYABLE, 5),
        (resolve(WATCHPOINT.policy), RETRYABLE, 1),
        (resolve(EXORA.policy), "unknown", 4),
    ],
    ids=["oblicore", "oblicore single", "aeon", "aeon unknown", "passport", "watchpoint", "exora"],
)
def test_an_always_failing_job_runs_as_often_as_its_profile_says(
    policy: Policy, error_class: str, expected: int
) -> None:
    """ENG-052, ENG-059."""
    assert executions(policy, error_class) == expected


def test_a_class_with_more_attempts_raises_the_limit_on_the_row() -> None:
    """ENG-009: six executions, and no attempt is ever above the recorded limit."""
    runs = list(life(resolve(AEON.policy), lambda _: failure("transient_network")))

    assert [claim.attempt for claim, _ in runs] == [1, 2, 3, 4, 5, 6]
    assert runs[0][1].max_attempts == 6
    assert all(claim.attempt <= claim.max_attempts for claim, _ in runs)


def test_three_failures_then_success_are_four_attempts_with_growing_gaps() -> None:
    """ENG-060."""
    runs = list(life(resolve(PASSPORT.policy), lambda claim: Complete() if claim.attempt == 4 else failure()))

    assert [settlement.run_in for _, settlement in runs[:-1]] == [2 * SECOND, 4 * SECOND, 8 * SECOND]
    assert runs[-1][1].state is State.COMPLETED


@pytest.mark.parametrize(("attempt", "word"), [(1, "FAILED"), (4, "FAILED"), (5, "DEAD_LETTER")])
def test_where_exhaustion_wins_the_last_attempt_is_a_dead_letter(attempt: int, word: str) -> None:
    """ENG-058."""
    settlement = settled(failure("not_found"), resolve(PASSPORT.policy), attempt=attempt)

    assert PASSPORT.word_for(settlement.state, attempt, settlement.reason) == word


def test_elsewhere_a_hopeless_error_stays_hopeless_on_the_last_attempt() -> None:
    """ENG-058."""
    assert settled(failure("not_found"), resolve(AEON.policy), attempt=4).reason == "hopeless"


def test_the_jobs_own_numbers_outrank_those_of_the_class() -> None:
    policy = resolve(AEON.policy, job=change(max_attempts=2, backoff=Backoff.fixed("9s")))

    first, second = (settlement for _, settlement in life(policy, lambda _: failure("transient_network")))

    assert (first.run_in, first.max_attempts) == (9 * SECOND, None)
    assert second.reason == "exhausted"


failures = st.builds(
    failure,
    st.sampled_from([error_class.value for error_class in ErrorClass]),
    hopeless=st.booleans(),
    timed_out=st.booleans(),
    retry_after=st.none() | st.timedeltas(),
)
outcomes = st.one_of(
    st.builds(Complete, st.none() | st.just("1")),
    failures,
    st.builds(Snoozed, st.timedeltas(timedelta(0), timedelta(days=1))),
    st.just(Waiting(Wait("approval"))),
    st.just(Stopped("asked")),
    st.just(Released()),
    st.just(Crashed("w1")),
)
policies = st.sampled_from([resolve(), *(resolve(profile.policy) for profile in ALL)])


@given(policies, st.lists(failures | st.just(Released()) | st.just(Crashed("w1")), max_size=40))
def test_no_sequence_of_outcomes_takes_an_attempt_above_its_limit(
    policy: Policy, script: list[Outcome]
) -> None:
    """ENG-009, ENG-025."""
    remaining = iter(script)
    highest = max([policy.max_attempts, *(rule.max_attempts or 0 for rule in policy.classes.values())])

    for claim, settlement in life(policy, lambda _: next(remaining, None)):
        assert 1 <= claim.attempt <= highest
        assert settlement.max_attempts is None or claim.attempt <= settlement.max_attempts
        assert is_allowed(State.RUNNING, settlement.state)


@given(policies, outcomes, st.integers(1, 9), st.booleans(), st.booleans(), st.floats(0, 1, exclude_max=True))
def test_every_settlement_makes_sense(
    policy: Policy, outcome: Outcome, attempt: int, is_suspect: bool, cancel: bool, chance: float
) -> None:
    claim = claim_of(policy, attempt=attempt, is_suspect=is_suspect)

    settlement = settle(claim, outcome, policy, chance=chance, cancel_requested=cancel)

    assert is_allowed(State.RUNNING, settlement.state)
    assert (settlement.run_in is not None) == (settlement.state is State.SCHEDULED)
    assert settlement.run_in is None or settlement.run_in >= timedelta(0)
    assert settlement.refund in (0, 1)
    assert (settlement.reason is not None) == (settlement.state in {State.HELD, State.DEAD, State.CANCELLED})
    assert (settlement.wait is not None) == (settlement.state is State.HELD)
    assert settlement.timeout is None or claim.timeout <= settlement.timeout <= policy.max_timeout
    assert (settlement.state is State.COMPLETED) == isinstance(outcome, Complete)


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_crashes_and_exceptions_alone_always_end(profile: Profile) -> None:
    """ENG-038: a job whose worker keeps dying never stays running forever."""
    runs = list(life(resolve(profile.policy), lambda _: Crashed("w1")))

    assert runs[-1][1].state is State.DEAD
