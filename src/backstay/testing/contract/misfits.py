"""Misfits: a job whose arguments fit no code here is held, spends nothing, and goes on when fitting code comes."""

from __future__ import annotations

from dataclasses import replace

from backstay.model.job import Claim
from backstay.model.misfits import ARGUMENTS_DO_NOT_FIT
from backstay.model.outcome import Misfit
from backstay.model.records import Vitals
from backstay.model.states import State
from backstay.testing.contract.support import BOOM, DAY, HOUR, MINUTE, POLICY, SECOND, Store


async def _refuse(store: Store, claim: Claim, signature: str = "old", **numbers: object) -> None:
    await store.end(claim, Misfit(BOOM, signature), policy=replace(POLICY, **numbers))  # type: ignore[arg-type]  # the policy's own fields


async def _tend(store: Store) -> list[str]:
    return await store.stores.upkeep.tend_misfits(limit=100)


async def _old_worker(store: Store) -> None:
    await store.register("old", signatures={"report": "old"})


async def test_a_misfit_is_held_and_spends_nothing(store: Store) -> None:
    claim = await store.claimed()

    await _refuse(store, claim)

    job = await store.job(claim.id)
    assert (job.state, job.reason) == (State.HELD, ARGUMENTS_DO_NOT_FIT)
    assert (job.attempt, job.run, job.worker) == (0, 1, None)
    assert job.error is not None
    [attempt] = await store.stores.jobs.attempts(claim.id)
    assert (attempt.status, attempt.error) == ("released", job.error)


async def test_it_stays_held_while_only_workers_live_that_refused_it(store: Store) -> None:
    await _old_worker(store)
    claim = await store.claimed(worker="old")
    await _refuse(store, claim)
    store.later(HOUR)

    assert await _tend(store) == []
    assert await store.state(claim.id) is State.HELD


async def test_it_goes_on_as_soon_as_a_worker_lives_that_has_not_refused_it(store: Store) -> None:
    await _old_worker(store)
    claim = await store.claimed(worker="old")
    await _refuse(store, claim)
    await store.register("new", signatures={"report": "new"})

    assert await _tend(store) == ["default"]
    assert (await store.claim_one("new")).id == claim.id


async def test_a_worker_of_another_kind_changes_nothing(store: Store) -> None:
    claim = await store.claimed()
    await _refuse(store, claim)
    await store.register("other", signatures={"invoice": "new"})

    assert await _tend(store) == []


async def test_a_worker_that_has_stopped_changes_nothing(store: Store) -> None:
    claim = await store.claimed()
    await _refuse(store, claim)
    await store.register("new", signatures={"report": "new"})
    await store.stores.workers.retire("new", state="stopped")

    assert await _tend(store) == []


async def test_one_that_is_refused_again_waits_longer_each_time(store: Store) -> None:
    await _old_worker(store)
    await store.register("new", signatures={"report": "new"})
    await _refuse(store, await store.claimed(worker="old"))
    await _tend(store)

    for pause in (5, 10, 20, 40, 80, 160, 300, 300):
        await _refuse(store, await store.claim_one("old"))
        store.later((pause - 1) * SECOND)
        assert await _tend(store) == []
        store.later(SECOND)
        assert await _tend(store) == ["default"]


async def test_one_that_ran_in_between_is_refused_as_if_for_the_first_time(store: Store) -> None:
    await _old_worker(store)
    await store.register("new", signatures={"report": "new"})
    await _refuse(store, await store.claimed(worker="old"))
    await _tend(store)
    await store.fail(await store.claim_one("new"), retry_after=SECOND)
    store.later(DAY)
    await store.promote()

    await _refuse(store, await store.claim_one("old"))

    assert await _tend(store) == ["default"]


async def test_it_is_given_up_after_as_long_as_its_policy_says(store: Store) -> None:
    claim = await store.claimed()
    await _refuse(store, claim, misfit_for=HOUR)
    store.later(HOUR - SECOND)
    assert (await _tend(store), await store.state(claim.id)) == ([], State.HELD)
    store.later(SECOND)

    assert await _tend(store) == []

    job = await store.job(claim.id)
    assert (job.state, job.reason, job.finished_at) == (State.DEAD, ARGUMENTS_DO_NOT_FIT, store.now())
    [letter] = await store.stores.dead_letters.of_job(claim.id)
    assert letter.reason == ARGUMENTS_DO_NOT_FIT
    assert [line.action for line in await store.stores.audit.of_job(claim.id)][-1] == "job.given_up"


async def test_refusals_do_not_put_the_end_off(store: Store) -> None:
    await _old_worker(store)
    await store.register("new", signatures={"report": "new"})
    await _refuse(store, await store.claimed(worker="old"), misfit_for=MINUTE)
    await _tend(store)
    store.later(30 * SECOND)
    claim = await store.claim_one("old")
    await _refuse(store, claim, misfit_for=MINUTE)

    store.later(30 * SECOND)
    await _tend(store)

    assert await store.state(claim.id) is State.DEAD


async def test_one_that_was_given_up_and_retried_has_its_whole_time_again(store: Store) -> None:
    await _old_worker(store)
    claim = await store.claimed(worker="old")
    await _refuse(store, claim, misfit_for=HOUR)
    store.later(HOUR)
    await _tend(store)
    await store.retry(claim.id)

    await _refuse(store, await store.claim_one("old"), misfit_for=HOUR)
    store.later(HOUR - SECOND)
    await _tend(store)

    assert await store.state(claim.id) is State.HELD


async def test_one_that_went_another_way_is_left_alone(store: Store) -> None:
    claim = await store.claimed()
    await _refuse(store, claim, misfit_for=HOUR)
    await store.cancel(claim.id)
    store.later(DAY)

    await _tend(store)

    assert await store.state(claim.id) is State.CANCELLED
    assert await store.stores.insights.misfits() == {}


async def test_how_many_are_held_is_told_by_kind(store: Store) -> None:
    await _refuse(store, await store.claimed())
    await _refuse(store, await store.claimed())

    assert await store.stores.insights.misfits() == {"report": 2}


async def test_the_regular_look_tells_of_them(store: Store) -> None:
    await store.register("w")

    async def tells() -> bool:
        tick = await store.stores.workers.tick("w", vitals=Vitals(), lease=MINUTE, overrun=SECOND)
        return tick.look is not None and tick.look.has_misfits

    assert not await tells()
    await _refuse(store, await store.claimed())
    assert await tells()
