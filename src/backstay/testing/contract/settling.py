"""Settling: what a run came to is written once, by the one who holds the claim, with its history."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backstay.errors import StoreError
from backstay.model.outcome import Complete, ErrorInfo, Fail, Outcome, Released, Snoozed, Stopped
from backstay.model.policy.policy import ClassRule, Policy
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.testing.contract.support import BOOM, HOUR, LEASE, MINUTE, POLICY, SECOND, Store


async def test_success_is_recorded_with_its_result(store: Store) -> None:
    """ENG-006, ENG-028."""
    claim = await store.claimed()
    store.later(3 * SECOND)

    settled = await store.complete(claim, '{"pages": 7}')

    job = await store.job(claim.id)
    assert settled.done == {claim.id}
    assert (job.state, job.result, job.error, job.duration_ms) == (State.COMPLETED, {"pages": 7}, None, 3000)
    assert (job.lease_epoch, job.settled_epoch, job.settled_by) == (claim.epoch + 1, claim.epoch, "w")
    assert (job.finished_at, job.heartbeat_at, job.lease_expires_at) == (store.now(), None, None)


async def test_success_after_failures_leaves_no_error_behind(store: Store) -> None:
    """ENG-060: the history keeps the failures, the job shows its success."""
    claim = await store.claimed()
    await store.fail(claim)
    store.later(HOUR)
    await store.promote()
    await store.complete(await store.claim_one())

    job = await store.job(claim.id)

    assert (job.state, job.error, job.attempt) == (State.COMPLETED, None, 2)
    assert [past.status for past in await store.stores.jobs.attempts(claim.id)] == ["failed"]


async def test_a_failure_is_scheduled_again_and_forgets_its_worker(store: Store) -> None:
    """ENG-055, ENG-057: the row waits, not the worker; error and history stay, lease and worker go."""
    claim = await store.claimed()

    decided = await store.fail(claim)

    job = await store.job(claim.id)
    assert (job.state, job.attempt, job.is_retrying) == (State.SCHEDULED, 1, True)
    assert decided.run_in is not None
    assert job.run_at == store.now() + decided.run_in
    assert job.error == {
        "type": "ValueError",
        "message": "boom",
        "error_class": "unknown",
        "traceback": "Traceback …",
    }
    assert (job.worker, job.heartbeat_at, job.lease_expires_at, job.result) == (None, None, None, None)


async def test_a_retry_keeps_the_distance_that_its_priority_gave_it(store: Store) -> None:
    """ENG-032: after a failure an urgent job is still urgent."""
    urgent = await store.claimed(priority=1)
    await store.fail(urgent)
    store.later(HOUR)
    await store.enqueue(priority=5)
    await store.promote()

    claims = await store.claim(limit=1)

    assert [claim.id for claim in claims] == [urgent.id]


async def test_every_failed_attempt_leaves_a_row(store: Store) -> None:
    """ENG-020: attempt, run, status, times, worker and error."""
    claim = await store.claimed(worker="a")
    store.later(2 * SECOND)
    await store.fail(claim)
    store.later(HOUR)
    await store.promote()
    timed_out = ErrorInfo(type="TimeoutError", message="too slow", error_class="timeout")
    await store.end(await store.claim_one(worker="b"), Fail(timed_out, timed_out=True))

    first, second = await store.stores.jobs.attempts(claim.id)

    assert (first.attempt, first.run, first.epoch, first.status, first.worker) == (1, 1, 1, "failed", "a")
    assert first.finished_at == first.started_at + 2 * SECOND
    assert first.duration_ms == 2000
    assert first.error is not None
    assert first.error["message"] == "boom"
    assert (second.attempt, second.run, second.epoch, second.status, second.worker) == (
        2,
        2,
        3,
        "timeout",
        "b",
    )


async def test_a_job_dies_with_its_last_attempt(store: Store) -> None:
    """ENG-052, ENG-064."""
    job_id = await store.enqueue()
    for _ in range(POLICY.max_attempts):
        await store.fail(await store.claim_one())
        store.later(HOUR)
        await store.promote()

    job = await store.job(job_id)

    assert (job.state, job.reason, job.attempt, job.run) == (State.DEAD, "exhausted", 4, 4)
    assert len(await store.stores.jobs.attempts(job_id)) == 4


async def test_an_error_class_may_allow_more_attempts_than_the_job_had(store: Store) -> None:
    """ENG-009: the limit on the row follows, so that no rule of the tables is broken."""
    policy = Policy(max_attempts=2, classes={"unknown": ClassRule(max_attempts=6)})
    job_id = await store.enqueue(max_attempts=2)
    for _ in range(6):
        await store.fail(await store.claim_one(), policy=policy)
        store.later(HOUR)
        await store.promote()

    job = await store.job(job_id)

    assert (job.state, job.attempt) == (State.DEAD, 6)


@pytest.mark.parametrize(
    ("outcome", "state", "status"),
    [
        (Snoozed(MINUTE), State.SCHEDULED, "snoozed"),
        (Released(), State.AVAILABLE, "released"),
    ],
    ids=["snooze", "release"],
)
async def test_what_is_not_a_failure_gives_the_attempt_back(
    store: Store, outcome: Outcome, state: State, status: str
) -> None:
    """ENG-043: shutdown and snooze cost no attempt, but the run is counted and kept."""
    claim = await store.claimed()

    await store.end(claim, outcome)

    job = await store.job(claim.id)
    [past] = await store.stores.jobs.attempts(claim.id)
    assert (job.state, job.attempt, job.run, job.error) == (state, 0, 1, None)
    assert (past.status, past.attempt, past.run) == (status, 1, 1)


async def test_a_snoozed_job_comes_back_after_its_delay(store: Store) -> None:
    claim = await store.claimed()
    await store.end(claim, Snoozed(MINUTE))

    store.later(MINUTE - SECOND)
    too_early = await store.promote()
    store.later(SECOND)
    in_time = await store.promote()

    assert (too_early, in_time) == ([], ["default"])


async def test_a_released_job_keeps_its_place_in_the_line(store: Store) -> None:
    """ENG-043."""
    claim = await store.claimed()
    store.later(MINUTE)
    await store.enqueue()

    await store.end(claim, Released())

    assert (await store.claim_one()).id == claim.id


async def test_a_job_can_be_held_by_its_own_run(store: Store) -> None:
    """ENG-088."""
    claim = await store.claimed()

    await store.settle(
        claim, Settlement(State.HELD, reason="an approval", refund=1, attempt_status="snoozed")
    )

    job = await store.job(claim.id)
    assert (job.state, job.reason, job.attempt) == (State.HELD, "an approval", 0)


async def test_a_stopped_job_is_cancelled_with_the_reason(store: Store) -> None:
    claim = await store.claimed()

    await store.end(claim, Stopped("not needed"))

    job = await store.job(claim.id)
    assert (job.state, job.reason, job.finished_at) == (State.CANCELLED, "not needed", store.now())


async def test_a_time_limit_that_was_too_short_grows(store: Store) -> None:
    """ENG-047: a job that timed out gets more time."""
    claim = await store.claimed()
    await store.end(claim, Fail(BOOM, timed_out=True))
    store.later(HOUR)
    await store.promote()

    again = await store.claim_one()

    assert again.timeout == claim.timeout * POLICY.timeout_growth


async def test_crashes_count_only_against_a_sole_suspect(store: Store) -> None:
    """The second crash in a row makes a suspect; those that follow are its own, and the third of them ends it."""
    job_id = await store.enqueue()
    seen: list[tuple[State, int, bool, int]] = []
    for _ in range(5):
        await store.claim_one()
        store.later(LEASE + SECOND)
        await store.rescue()
        job = await store.job(job_id)
        seen.append((job.state, job.crashes, job.is_suspect, job.attempt))
        store.later(HOUR)
        await store.promote()

    assert seen == [
        (State.AVAILABLE, 0, False, 1),
        (State.AVAILABLE, 0, True, 1),
        (State.SCHEDULED, 1, True, 2),
        (State.SCHEDULED, 2, True, 3),
        (State.DEAD, 3, True, 4),
    ]
    assert (await store.job(job_id)).reason == "crash loop"


@pytest.mark.parametrize(
    ("outcome", "is_suspect"),
    [(Fail(BOOM), False), (Released(), True), (Snoozed(timedelta(0)), True)],
    ids=["fails", "is released", "snoozes"],
)
async def test_a_handler_that_ends_by_itself_clears_the_crashes_in_a_row(
    store: Store, outcome: Outcome, is_suspect: bool
) -> None:
    """One that is released or snoozes has proved nothing."""
    claim = await store.claimed()
    store.later(LEASE + SECOND)
    await store.rescue()
    await store.end(await store.claim_one(), outcome)
    store.later(HOUR)
    await store.promote()
    await store.claim_one()
    store.later(LEASE + SECOND)

    await store.rescue()

    assert (await store.job(claim.id)).is_suspect is is_suspect


async def test_a_suspect_that_completes_is_cleared(store: Store) -> None:
    claim = await store.claimed()
    await store.crash_again(claim)

    await store.complete(await store.claim_one())

    assert (await store.job(claim.id)).is_suspect is False


@pytest.mark.parametrize("outcome", [Fail(BOOM), Snoozed(MINUTE), Released(), Fail(BOOM, hopeless=True)])
async def test_a_repeated_settlement_is_done_and_changes_nothing(store: Store, outcome: Outcome) -> None:
    """ENG-037: the reply was lost, so the worker sends it again."""
    claim = await store.claimed()
    decided = await store.end(claim, outcome)
    before = await store.job(claim.id)
    store.later(SECOND)

    settled = await store.settle(claim, decided)

    assert settled.done == {claim.id}
    assert await store.job(claim.id) == before
    assert len(await store.stores.jobs.attempts(claim.id)) == 1
    assert len(await store.stores.audit.of_job(claim.id)) == (1 if isinstance(outcome, Fail) else 0)


async def test_a_repeated_completion_is_done_and_changes_nothing(store: Store) -> None:
    """ENG-037."""
    claim = await store.claimed()
    await store.complete(claim, "1")
    before = await store.job(claim.id)
    store.later(SECOND)

    settled = await store.complete(claim, "2")

    assert settled.done == {claim.id}
    assert await store.job(claim.id) == before


async def test_a_batch_tells_the_kept_claims_from_the_lost(store: Store) -> None:
    await store.enqueue_many(3)
    kept, rescued, gone = await store.claim(limit=3)
    stale = rescued._replace(epoch=rescued.epoch - 2)
    unknown = gone._replace(id=store.new_job().id)

    settled = await store.stores.claims.complete([(kept, None), (stale, None), (unknown, None)])

    assert settled.done == {kept.id}
    assert settled.lost == {stale.id, unknown.id}


async def test_a_claim_with_an_epoch_that_no_claim_ever_had_is_refused(store: Store) -> None:
    """ENG-037: even epochs belong to jobs that nobody holds; the tables' own rules stop a forger."""
    claim = await store.claimed()
    await store.fail(claim)
    before = await store.job(claim.id)
    forged = claim._replace(epoch=before.lease_epoch)

    with pytest.raises(StoreError):
        await store.complete(forged)

    assert await store.job(claim.id) == before


async def test_the_end_of_an_awaited_job_is_told(store: Store) -> None:
    await store.enqueue_many(2)
    awaited, other = await store.claim(limit=2)
    await store.stores.jobs.note_waiter(awaited.id)

    settled = await store.stores.claims.complete([(awaited, None), (other, None)])

    assert settled.done == {awaited.id, other.id}
    assert settled.awaited == {awaited.id}


async def test_the_budget_and_the_runs_are_counted_apart(store: Store) -> None:
    """ENG-008: what is given back shows in the attempts, never in the runs."""
    job_id = await store.enqueue()
    for outcome in (Snoozed(SECOND), Fail(BOOM), Released(), Complete()):
        claim = await store.claim_one()
        if isinstance(outcome, Complete):
            await store.complete(claim)
        else:
            await store.end(claim, outcome)
        store.later(HOUR)
        await store.promote()

    job = await store.job(job_id)

    assert (job.attempt, job.run, job.lease_epoch) == (2, 4, 8)


async def test_a_run_of_a_month_can_be_settled(store: Store) -> None:
    """A worker's host was off for weeks; its jobs must not be beyond rescue."""
    claim = await store.claimed()
    store.later(timedelta(days=40))

    await store.fail(claim)

    assert (await store.job(claim.id)).duration_ms == 40 * 24 * 3600 * 1000


async def test_an_attempt_that_began_after_its_end_by_the_clock_is_settled_all_the_same(store: Store) -> None:
    """The database's clock was set back while the handler ran."""
    claim = await store.claimed()
    store.later(-HOUR)

    await store.fail(claim)

    [past] = await store.stores.jobs.attempts(claim.id)
    assert past.finished_at == past.started_at
    assert past.duration_ms == 0


async def test_a_job_that_completes_after_the_clock_was_set_back_took_no_time(store: Store) -> None:
    claim = await store.claimed()
    store.later(-HOUR)

    assert (await store.complete(claim)).done == {claim.id}
    assert (await store.job(claim.id)).duration_ms == 0
