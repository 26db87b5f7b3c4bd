"""Steps and progress: kept for the one who holds the claim, shown with the job, and gone with it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.model.job import Claim, JobId, NewStep, Progress, Step
from backstay.model.outcome import Released
from backstay.model.records import JobFilter
from backstay.model.states import State
from backstay.testing.contract.support import DAY, HOUR, LEASE, SECOND, Store, other_args


def _step(name: str, position: int = 1, result: str | None = "7") -> NewStep:
    return NewStep(name, position, result, duration_ms=12)


async def _save(store: Store, claim: Claim, *steps: NewStep) -> frozenset[JobId]:
    return await store.stores.steps.save([(claim, step) for step in steps])


async def _names(store: Store, job_id: JobId) -> list[str]:
    return [step.name for step in await store.stores.steps.of_job(job_id)]


async def _run_again(store: Store, claim: Claim, worker: str = "w") -> Claim:
    await store.end(claim, Released())
    return await store.claim_one(worker)


async def test_a_finished_step_is_remembered_with_its_result(store: Store) -> None:
    claim = await store.claimed()
    store.later(SECOND)

    lost = await _save(store, claim, _step("fetch", result='{"pages":7}'))

    assert lost == frozenset()
    assert await store.stores.steps.results(claim.id) == {"fetch": '{"pages":7}'}
    assert await store.stores.steps.of_job(claim.id) == [
        Step(
            job_id=claim.id,
            name="fetch",
            position=1,
            result={"pages": 7},
            attempt=1,
            run=1,
            worker="w",
            duration_ms=12,
            finished_at=store.now(),
        )
    ]


async def test_a_step_may_have_no_result(store: Store) -> None:
    claim = await store.claimed()

    await _save(store, claim, _step("clean up", result=None))

    assert await store.stores.steps.results(claim.id) == {"clean up": None}


async def test_steps_are_listed_in_the_order_of_the_handler(store: Store) -> None:
    claim = await store.claimed()

    await _save(store, claim, _step("second", 2), _step("third", 3))
    await _save(store, claim, _step("first", 1))

    assert await _names(store, claim.id) == ["first", "second", "third"]


async def test_a_step_that_is_sent_again_is_there_once(store: Store) -> None:
    """The reply to the first sending may have been lost."""
    claim = await store.claimed()
    await _save(store, claim, _step("fetch"))

    lost = await _save(store, claim, _step("fetch"))

    assert lost == frozenset()
    assert await _names(store, claim.id) == ["fetch"]


async def test_another_worker_finds_the_steps_that_are_done(store: Store) -> None:
    claim = await store.claimed()
    await _save(store, claim, _step("fetch"))

    again = await _run_again(store, claim, worker="other")
    await _save(store, again, _step("send", 2))

    found = [(step.name, step.run, step.worker) for step in await store.stores.steps.of_job(claim.id)]
    assert found == [("fetch", 1, "w"), ("send", 2, "other")]


async def test_a_slow_worker_cannot_save_a_step_of_a_rescued_job(store: Store) -> None:
    slow = await store.claimed(worker="slow")
    store.later(LEASE + SECOND)
    await store.rescue()
    await store.promote()
    fast = await store.claim_one("fast")

    lost = await _save(store, slow, _step("fetch", result='"slow"'))

    assert lost == {slow.id}
    assert await store.stores.steps.results(fast.id) == {}


async def test_a_lost_claim_does_not_keep_others_from_being_saved(store: Store) -> None:
    gone, held = await store.claimed(), await store.claimed()
    await store.complete(gone)

    lost = await store.stores.steps.save([(gone, _step("fetch")), (held, _step("fetch"))])

    assert lost == {gone.id}
    assert await _names(store, held.id) == ["fetch"]
    assert await _names(store, gone.id) == []


async def test_a_retried_job_keeps_its_steps_unless_its_arguments_change(store: Store) -> None:
    claim = await store.claimed()
    await _save(store, claim, _step("fetch"))
    await store.fail_for_good(claim)
    await store.retry(claim.id)
    kept = await _names(store, claim.id)
    await store.fail_for_good(await store.claim_one())
    await store.stores.dead_letters.retry(
        claim.id, actor="ann", reason="typo", delay=timedelta(0), args=other_args('{"page":2}')
    )

    assert kept == ["fetch"]
    assert await _names(store, claim.id) == []


async def test_steps_and_progress_go_with_their_job(store: Store) -> None:
    claim = await store.claimed()
    await _save(store, claim, _step("fetch"))
    await _tell(store, claim, Progress(1, 2))
    await store.complete(claim)
    store.later(DAY + SECOND)

    await store.stores.upkeep.delete_finished({State.COMPLETED: DAY}, after=UUID(int=0), limit=10)

    assert await store.stores.jobs.get(claim.id) is None
    assert await _names(store, claim.id) == []


async def _tell(store: Store, claim: Claim, progress: Progress) -> None:
    await store.stores.progress.write([(claim, progress)])


async def _told(store: Store, job_id: JobId) -> Any:
    told = (await store.job(job_id)).progress
    return None if told is None else (told.current, told.total, told.message, told.percent)


async def test_the_newest_progress_is_shown_with_the_job(store: Store) -> None:
    """ENG-014, ENG-096."""
    claim = await store.claimed()
    await _tell(store, claim, Progress(1, 4, "one page"))
    store.later(SECOND)
    await _tell(store, claim, Progress(2.5, 4, "two pages and a half"))

    page = await store.stores.jobs.search(JobFilter(), before=None, limit=10)

    assert await _told(store, claim.id) == (2.5, 4, "two pages and a half", 62.5)
    assert [job.progress for job in page] == [
        Progress(2.5, 4, "two pages and a half", updated_at=store.now())
    ]


async def test_progress_needs_neither_total_nor_message(store: Store) -> None:
    claim = await store.claimed()

    await _tell(store, claim, Progress(12))

    assert await _told(store, claim.id) == (12, None, None, None)


async def test_a_job_that_never_told_has_no_progress(store: Store) -> None:
    assert await _told(store, (await store.claimed()).id) is None


async def test_progress_of_a_lost_claim_is_dropped(store: Store) -> None:
    slow = await store.claimed(worker="slow")
    await _tell(store, slow, Progress(1, 4))
    again = await _run_again(store, slow, worker="fast")
    await _tell(store, again, Progress(2, 4))

    await _tell(store, slow, Progress(4, 4, "late"))

    assert await _told(store, slow.id) == (2, 4, None, 50)


async def test_progress_stays_when_the_job_has_ended(store: Store) -> None:
    claim = await store.claimed()
    await _tell(store, claim, Progress(4, 4))
    store.later(HOUR)

    await store.complete(claim)

    assert await _told(store, claim.id) == (4, 4, None, 100)
