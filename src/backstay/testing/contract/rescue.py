"""Rescue: the jobs of a worker that is gone go on, and the worker that comes back late is fenced off."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.model.outcome import Released
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, LEASE, MINUTE, POLICY, SECOND, TIMEOUT, Store, wanted

FAILED = Settlement(State.SCHEDULED, run_in=HOUR, attempt_status="failed")


async def test_a_claim_that_ran_out_is_taken_over(store: Store) -> None:
    """ENG-038, ENG-040."""
    claim = await store.claimed(worker="gone")
    store.later(LEASE + SECOND)

    [seized] = await store.seize(hold_for=10 * SECOND)

    assert (seized.claim.id, seized.ran_out, seized.missed_deadline) == (claim.id, True, False)
    assert seized.claim.worker == "gone"
    assert (await store.job(claim.id)).lease_expires_at == store.now() + 10 * SECOND


async def test_taking_over_raises_the_epoch_by_two(store: Store) -> None:
    """One for leaving the old claim, one for entering the new: odd, because the job still runs."""
    claim = await store.claimed()
    store.later(LEASE + SECOND)

    [seized] = await store.seize()

    assert seized.claim.epoch == claim.epoch + 2
    assert (await store.job(claim.id)).lease_epoch == claim.epoch + 2


async def test_a_rescued_job_is_available_at_once(store: Store) -> None:
    """ENG-040: the next attempt is the second, and the first is on record as crashed."""
    claim = await store.claimed(worker="gone")
    store.later(LEASE + SECOND)

    await store.rescue()

    again = await store.claim_one(worker="next")
    [past] = await store.stores.jobs.attempts(claim.id)
    assert (again.id, again.attempt, again.is_suspect) == (claim.id, 2, False)
    assert (past.status, past.worker, past.attempt) == ("crashed", "gone", 1)


async def test_a_job_without_attempts_left_does_not_stay_running(store: Store) -> None:
    """ENG-038: however often workers die, the job ends as dead."""
    job_id = await store.enqueue(max_attempts=1)
    for _ in range(POLICY.max_crashes + 2):
        await store.claim(wanted("report", max_attempts=1))
        store.later(HOUR)
        await store.rescue()
        await store.promote()
        store.later(HOUR)
        await store.promote()

    assert await store.state(job_id) is State.DEAD


async def test_a_slow_worker_cannot_complete_a_rescued_job(store: Store) -> None:
    """ENG-037."""
    slow = await store.claimed(worker="slow")
    store.later(LEASE + SECOND)
    await store.rescue()
    fast = await store.claim_one(worker="fast")

    late = await store.complete(slow, '"late"')
    in_time = await store.complete(fast, '"in time"')

    assert late.lost == in_time.done == {slow.id}
    assert (await store.job(slow.id)).result == "in time"


async def test_a_slow_worker_cannot_settle_or_renew_a_rescued_job(store: Store) -> None:
    """ENG-035, ENG-037."""
    slow = await store.claimed(worker="slow")
    store.later(LEASE + SECOND)
    await store.rescue()
    before = await store.job(slow.id)

    settled = await store.settle(slow, FAILED)
    renewed = await store.stores.claims.renew([slow])

    assert settled.lost == renewed.lost == {slow.id}
    assert await store.job(slow.id) == before


async def test_a_slow_worker_cannot_settle_or_renew_a_job_that_another_runs(store: Store) -> None:
    """The job runs, as the slow worker believes, but it is not its run."""
    slow = await store.claimed(worker="slow")
    store.later(LEASE + SECOND)
    await store.rescue()
    fast = await store.claim_one(worker="fast")
    before = await store.job(slow.id)

    settled = await store.settle(slow, FAILED)
    renewed = await store.stores.claims.renew([slow])

    assert settled.lost == renewed.lost == {slow.id}
    assert await store.job(fast.id) == before


async def test_a_slow_worker_is_fenced_while_the_rescuer_decides(store: Store) -> None:
    """Between taking over and settling the job runs, but not for its old holder."""
    slow = await store.claimed(worker="slow")
    store.later(LEASE + SECOND)
    await store.seize()

    assert (await store.complete(slow)).lost == {slow.id}
    assert (await store.stores.claims.renew([slow])).lost == {slow.id}


async def test_an_expired_claim_that_nobody_took_can_still_be_completed(store: Store) -> None:
    """The guard is the epoch, not the time."""
    claim = await store.claimed()
    store.later(HOUR)

    assert (await store.complete(claim)).done == {claim.id}


async def test_a_renewed_claim_is_not_taken_over(store: Store) -> None:
    """ENG-034."""
    claim = await store.claimed(timeout=HOUR)
    for _ in range(5):
        store.later(LEASE - SECOND)
        await store.stores.claims.renew([claim])

    assert await store.seize() == []
    assert (await store.job(claim.id)).lease_expires_at == store.now() + LEASE


async def test_renewing_tells_held_claims_from_lost_ones(store: Store) -> None:
    """ENG-035: a beat that reaches no row means that the claim is lost."""
    await store.enqueue_many(2)
    held, finished = await store.claim(limit=2)
    await store.complete(finished)

    renewed = await store.stores.claims.renew([held, finished])

    assert renewed.held == {held.id}
    assert renewed.lost == {finished.id}
    assert not renewed.locked


async def test_renewing_tells_which_jobs_somebody_wants_stopped(store: Store) -> None:
    """ENG-101: the flag is seen with the next heartbeat, with its reason."""
    await store.enqueue_many(2)
    wanted_stopped, other = await store.claim(limit=2)
    await store.cancel(wanted_stopped.id, reason="customer left")

    renewed = await store.stores.claims.renew([wanted_stopped, other])

    assert renewed.held == {wanted_stopped.id, other.id}
    assert renewed.cancel == {wanted_stopped.id: "customer left"}


async def test_a_rescuer_that_died_is_replaced_when_its_short_lease_is_over(store: Store) -> None:
    claim = await store.claimed()
    store.later(LEASE + SECOND)
    [first] = await store.seize(hold_for=10 * SECOND)

    too_early = await store.seize()
    store.later(11 * SECOND)
    [second] = await store.seize()

    assert too_early == []
    assert second.claim.epoch == first.claim.epoch + 2 == claim.epoch + 4
    assert (await store.settle(first.claim, FAILED)).lost == {claim.id}


async def test_a_run_that_overran_its_time_limit_is_taken_over(store: Store) -> None:
    """ENG-100: the worker renews, but its handler does not end."""
    claim = await store.claimed()
    store.later(TIMEOUT + 5 * SECOND)
    await store.stores.claims.renew([claim])
    within_the_grace = await store.seize()
    store.later(6 * SECOND)
    await store.stores.claims.renew([claim])

    [seized] = await store.seize()

    assert within_the_grace == []
    assert (seized.claim.id, seized.ran_out, seized.missed_deadline) == (claim.id, False, False)


async def test_a_run_beyond_its_jobs_deadline_is_taken_over(store: Store) -> None:
    claim = await store.claimed(deadline_in=MINUTE)
    store.later(MINUTE + 11 * SECOND)
    await store.stores.claims.renew([claim])

    [seized] = await store.seize()

    assert (seized.claim.id, seized.ran_out, seized.missed_deadline) == (claim.id, False, True)


@pytest.mark.parametrize(
    "options", [{"timeout": 20 * SECOND}, {"deadline_in": 20 * SECOND}], ids=["timeout", "deadline"]
)
async def test_what_one_rescuer_took_for_overrunning_another_leaves_alone(
    store: Store, options: dict[str, Any]
) -> None:
    """The run is still too long, but it is in good hands until the rescuer's own lease is over."""
    claim = await store.claimed(**options)
    store.later(40 * SECOND)
    await store.seize(hold_for=10 * SECOND)

    too_early = await store.seize()
    store.later(11 * SECOND)
    [second] = await store.seize()

    assert too_early == []
    assert second.claim.id == claim.id


async def test_what_ran_out_only_by_a_clock_that_jumped_is_left(store: Store) -> None:
    """The rescuer compared the database's time with its own a moment ago; a jump since then is not to be believed."""
    await store.claimed()
    compared = store.now() + SECOND
    store.later(HOUR)

    by_the_compared_time = await store.stores.claims.seize(
        limit=10, hold_for=SECOND, overrun=SECOND, as_of=compared
    )

    assert by_the_compared_time == []
    assert len(await store.seize()) == 1


async def test_what_ran_out_only_before_the_clock_was_set_back_is_left(store: Store) -> None:
    compared = store.now() + HOUR
    await store.claimed()

    assert await store.stores.claims.seize(limit=10, hold_for=SECOND, overrun=SECOND, as_of=compared) == []


async def test_rescue_takes_a_bounded_batch(store: Store) -> None:
    await store.enqueue_many(5)
    await store.claim(limit=5)
    store.later(LEASE + SECOND)

    assert [len(await store.seize(limit=2)) for _ in range(3)] == [2, 2, 1]


async def test_everything_a_dead_worker_holds_is_taken_over_before_its_lease_is_over(store: Store) -> None:
    """The promise of two seconds: somebody saw the process end."""
    await store.enqueue_many(4)
    gone = await store.claim(limit=3, worker="gone")
    [other] = await store.claim(limit=1, worker="other")

    seized = await store.stores.claims.seize_worker("gone", limit=10, hold_for=10 * SECOND)

    assert {one.claim.id for one in seized} == {claim.id for claim in gone}
    assert all(one.ran_out for one in seized)
    assert (await store.complete(other)).done == {other.id}


async def test_taking_a_dead_workers_claims_leaves_those_that_a_rescuer_has(store: Store) -> None:
    await store.claimed(worker="gone")
    await store.stores.claims.seize_worker("gone", limit=10, hold_for=10 * SECOND)

    again = await store.stores.claims.seize_worker("gone", limit=10, hold_for=10 * SECOND)
    store.later(11 * SECOND)
    afterwards = await store.stores.claims.seize_worker("gone", limit=10, hold_for=10 * SECOND)

    assert (len(again), len(afterwards)) == (0, 1)


async def test_claims_whose_reply_was_lost_are_found_by_their_worker(store: Store) -> None:
    """Stored for this worker in a request that was never answered."""
    await store.enqueue_many(3)
    answered, unanswered = store.new_job().id, store.new_job().id
    await store.claim(worker="w", claim_id=answered)
    [lost] = await store.claim(worker="w", claim_id=unanswered)
    await store.claim(worker="other")

    strays = await store.stores.claims.strays("w", unanswered=[unanswered])

    assert strays == [lost]
    await store.end(strays[0], Released())
    assert (await store.job(lost.id)).attempt == 0


async def test_a_claim_that_a_rescuer_took_is_no_stray(store: Store) -> None:
    unanswered = store.new_job().id
    await store.enqueue()
    await store.claim(worker="w", claim_id=unanswered)
    store.later(LEASE + SECOND)
    await store.seize()

    assert await store.stores.claims.strays("w", unanswered=[unanswered]) == []


async def test_a_worker_can_ask_which_of_its_jobs_somebody_wants_stopped(store: Store) -> None:
    """ENG-101: between two renewals, with the epoch that tells an old request from a new run."""
    await store.enqueue_many(3)
    first, second = await store.claim(limit=2, worker="w")
    [other] = await store.claim(worker="other")
    for claim in (first, other):
        await store.cancel(claim.id, reason="customer left")

    requests = await store.stores.claims.cancel_requests("w")

    assert requests == {first.id: (first.epoch, "customer left")}
    assert second.id not in requests
