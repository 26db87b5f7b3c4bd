"""The full matrix: every verb in every state moves a job as the table of states says, or changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from backstay.errors import WrongState
from backstay.model.job import Claim, JobId
from backstay.model.outcome import Fail, Misfit, Stopped
from backstay.model.settlement import Settlement
from backstay.model.states import FINAL, TRANSITIONS, State, Transition, is_allowed, sources_of
from backstay.testing.contract.support import BOOM, DAY, HOUR, SECOND, Store, new_worker

# Every job here would expire and miss its deadline, if its state allowed it.
_LIMITS = {"expires_in": HOUR, "deadline_in": HOUR}


async def _arrange(store: Store, state: State) -> JobId:
    """A job in this state, reached the way jobs reach it."""
    if state is State.SCHEDULED:
        return await store.enqueue(delay=60 * SECOND, **_LIMITS)
    if state is State.HELD:
        return await store.enqueue(held_for="an approval", **_LIMITS)
    job_id = await store.enqueue(**_LIMITS)
    if state is State.AVAILABLE:
        return job_id
    claim = await store.claim_one(worker="arranger")
    if state is State.COMPLETED:
        await store.complete(claim, "42")
    if state is State.CANCELLED:
        await store.end(claim, Stopped("not needed"))
    if state in (State.DEAD, State.RESOLVED):
        await store.end(claim, Fail(BOOM, hopeless=True))
    if state is State.RESOLVED:
        await store.resolve(job_id)
    return job_id


async def _holding(store: Store, job_id: JobId) -> Claim:
    """The claim under which the job runs; where it does not run, the one that its next run would have."""
    job = await store.job(job_id)
    epoch = job.lease_epoch if job.state is State.RUNNING else job.lease_epoch + 1
    return Claim(
        id=job_id,
        epoch=epoch,
        kind=job.kind,
        queue=job.queue,
        args="{}",
        attempt=1,
        max_attempts=4,
        run=1,
        crashes=0,
        is_suspect=False,
        timeout=HOUR,
        lease=HOUR,
        worker="w",
    )


Act = Callable[[Store, JobId, State], Awaitable[Any]]


async def _enqueue(store: Store, job_id: JobId, target: State) -> None:
    options: dict[State, dict[str, Any]] = {
        State.SCHEDULED: {"delay": HOUR},
        State.HELD: {"held_for": "an approval"},
        State.AVAILABLE: {},
    }
    await store.enqueue(id=job_id, **options[target])


async def _promote(store: Store, job_id: JobId, target: State) -> None:
    store.later(61 * SECOND)
    await store.promote()


async def _reschedule(store: Store, job_id: JobId, target: State) -> None:
    await store.stores.jobs.reschedule(job_id, run_at=store.now() + DAY, actor="ann")


async def _hold(store: Store, job_id: JobId, target: State) -> None:
    await store.stores.jobs.hold(job_id, reason="paused", actor="ann")


async def _release(store: Store, job_id: JobId, target: State) -> None:
    await store.stores.jobs.release(job_id, actor="ann")


async def _claim(store: Store, job_id: JobId, target: State) -> None:
    await store.claim(limit=10)


async def _complete(store: Store, job_id: JobId, target: State) -> None:
    await store.complete(await _holding(store, job_id))


async def _settle(store: Store, job_id: JobId, target: State) -> None:
    reason = None if target in (State.SCHEDULED, State.AVAILABLE) else "decided"
    run_in = HOUR if target is State.SCHEDULED else None
    settlement = Settlement(target, reason=reason, run_in=run_in, attempt_status="failed")
    await store.settle(await _holding(store, job_id), settlement)


async def _cancel(store: Store, job_id: JobId, target: State) -> None:
    await store.cancel(job_id, running=False)


async def _expire(store: Store, job_id: JobId, target: State) -> None:
    store.later(HOUR)
    await store.stores.upkeep.expire(limit=10)


async def _miss_deadline(store: Store, job_id: JobId, target: State) -> None:
    store.later(HOUR)
    await store.stores.upkeep.miss_deadlines(limit=10)


async def _give_up_misfit(store: Store, job_id: JobId, target: State) -> None:
    if await store.state(job_id) is State.HELD:
        await store.stores.jobs.release(job_id, actor="ann")
        await store.end(await store.claim_one(), Misfit(BOOM, "old"))
    store.later(2 * DAY)
    await store.stores.upkeep.tend_misfits(limit=10)


async def _retry(store: Store, job_id: JobId, target: State) -> None:
    await store.retry(job_id, delay=HOUR if target is State.SCHEDULED else 0 * HOUR)


async def _resolve(store: Store, job_id: JobId, target: State) -> None:
    await store.resolve(job_id)


VERBS: dict[str, Act] = {
    "enqueue": _enqueue,
    "promote": _promote,
    "reschedule": _reschedule,
    "hold": _hold,
    "release": _release,
    "claim": _claim,
    "complete": _complete,
    "settle": _settle,
    "cancel": _cancel,
    "expire": _expire,
    "miss deadline": _miss_deadline,
    "give up misfit": _give_up_misfit,
    "retry": _retry,
    "resolve": _resolve,
}

ASKED_BY_A_PERSON = ("reschedule", "hold", "release", "cancel", "retry", "resolve")
TARGETS = {verb: [arrow.target for arrow in TRANSITIONS if arrow.verb == verb] for verb in VERBS}


def _arrow_name(arrow: Transition) -> str:
    return f"{arrow.verb}: {arrow.source or 'new'} to {arrow.target}"


def _disallowed(verbs: tuple[str, ...]) -> list[tuple[str, State]]:
    return [(verb, state) for verb in verbs for state in State if state not in sources_of(verb)]


def test_every_verb_of_the_table_is_tried() -> None:
    assert set(VERBS) == {arrow.verb for arrow in TRANSITIONS}


def test_every_pair_of_states_is_either_an_arrow_or_refused() -> None:
    """ENG-025: a final state is never left, and a dead job cannot run without waiting first (ENG-026)."""
    allowed = {(arrow.source, arrow.target) for arrow in TRANSITIONS}

    assert all(is_allowed(a, b) == ((a, b) in allowed) for a in State for b in State)
    assert not any(source in FINAL for source, _ in allowed)
    assert (State.DEAD, State.RUNNING) not in allowed


@pytest.mark.parametrize("arrow", TRANSITIONS, ids=_arrow_name)
async def test_every_allowed_arrow_happens(store: Store, arrow: Transition) -> None:
    """ENG-025."""
    job_id = JobId(store.new_job().id) if arrow.source is None else await _arrange(store, arrow.source)
    if arrow.verb == "release" and arrow.target is State.SCHEDULED:
        job_id = await store.enqueue(held_for="an approval", delay=HOUR)

    await VERBS[arrow.verb](store, job_id, arrow.target)

    assert await store.state(job_id) is arrow.target


@pytest.mark.parametrize(("verb", "state"), _disallowed(ASKED_BY_A_PERSON))
async def test_what_a_person_asks_in_the_wrong_state_is_refused_by_name(
    store: Store, verb: str, state: State
) -> None:
    """ENG-025, ENG-101: the refusal names what was asked, the state and the states it needs; nothing changes."""
    job_id = await _arrange(store, state)
    before = await store.job(job_id), await store.stores.audit.of_job(job_id)
    store.later(SECOND)

    with pytest.raises(WrongState) as refused:
        await VERBS[verb](store, job_id, TARGETS[verb][0])

    assert (refused.value.asked, refused.value.state) == (verb, state.value)
    assert set(refused.value.needs) == {needed.value for needed in sources_of(verb)}
    assert state.value in str(refused.value)
    assert (await store.job(job_id), await store.stores.audit.of_job(job_id)) == before


@pytest.mark.parametrize(
    ("verb", "state"), _disallowed(tuple(verb for verb in VERBS if verb not in ASKED_BY_A_PERSON))
)
async def test_what_the_engine_does_passes_over_jobs_in_other_states(
    store: Store, verb: str, state: State
) -> None:
    """ENG-025: every target of the verb is tried, and the job stays as it was to the last column."""
    job_id = await _arrange(store, state)
    before = await store.job(job_id)

    for target in TARGETS[verb]:
        await VERBS[verb](store, job_id, target)

    assert await store.job(job_id) == before


@pytest.mark.parametrize("state", [state for state in State if state is not State.RUNNING])
async def test_a_claim_on_a_job_that_does_not_run_is_lost(store: Store, state: State) -> None:
    """ENG-037: neither renewed, nor completed, nor settled."""
    claim = await _holding(store, await _arrange(store, state))
    failed = Settlement(State.SCHEDULED, run_in=HOUR, attempt_status="failed")

    renewed = await store.stores.claims.renew([claim])
    completed = await store.complete(claim)
    settled = await store.settle(claim, failed)

    assert renewed.lost == completed.lost == settled.lost == {claim.id}


async def test_a_dead_job_goes_through_waiting_before_it_runs(store: Store) -> None:
    """ENG-026."""
    job_id = await store.dead()
    await store.stores.workers.register(new_worker("second"))

    assert await store.claim(limit=10) == []
    await store.retry(job_id)
    assert (await store.claim_one()).id == job_id


async def test_a_claim_for_another_job_settles_nothing(store: Store) -> None:
    claim = await store.claimed()
    stranger = claim._replace(id=store.new_job().id)

    settled = await store.complete(stranger)

    assert settled.lost == {stranger.id}
    assert await store.state(claim.id) is State.RUNNING
