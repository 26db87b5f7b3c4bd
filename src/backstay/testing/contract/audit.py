"""The audit trail: failures and what people did, with who, when and why."""

from __future__ import annotations

import pytest

from backstay.model.outcome import Crashed, Fail, Outcome, Released, Snoozed
from backstay.testing.contract.support import BOOM, HOUR, MINUTE, Store


@pytest.mark.parametrize(
    ("outcome", "action", "to_state"),
    [
        (Fail(BOOM), "job.failed", "scheduled"),
        (Fail(BOOM, timed_out=True), "job.timeout", "scheduled"),
        (Fail(BOOM, hopeless=True), "job.failed", "dead"),
        (Crashed("w"), "job.crashed", "available"),
    ],
    ids=["failure", "timeout", "death", "crash"],
)
async def test_every_failure_is_audited(store: Store, outcome: Outcome, action: str, to_state: str) -> None:
    """ENG-027: old state, new state, who, when, and which attempt."""
    claim = await store.claimed(tenant="acme")
    store.later(MINUTE)

    await store.end(claim, outcome)

    [line] = await store.stores.audit.of_job(claim.id)
    assert (line.action, line.from_state, line.to_state) == (action, "running", to_state)
    assert (line.actor, line.tenant, line.at) == ("w", "acme", store.now())
    assert line.details is not None
    assert line.details["attempt"] == 1


@pytest.mark.parametrize("outcome", [Snoozed(MINUTE), Released()])
async def test_what_is_not_a_failure_is_not_audited(store: Store, outcome: Outcome) -> None:
    claim = await store.claimed()

    await store.end(claim, outcome)

    assert await store.stores.audit.of_job(claim.id) == []


async def test_a_job_that_succeeds_at_once_leaves_no_line(store: Store) -> None:
    claim = await store.claimed()

    await store.complete(claim)

    assert await store.stores.audit.of_job(claim.id) == []


async def test_what_people_do_to_a_waiting_job_is_audited_in_order(store: Store) -> None:
    """ENG-027."""
    job_id = await store.enqueue(tenant="acme")
    jobs = store.stores.jobs
    await jobs.reschedule(job_id, run_at=store.now() + HOUR, actor="ann")
    await jobs.hold(job_id, reason="an approval", actor="ben")
    await jobs.release(job_id, actor="cleo")
    await jobs.cancel(job_id, actor="dora", reason="not needed", running=True)

    trail = await store.stores.audit.of_job(job_id)

    assert [(line.action, line.actor, line.reason) for line in trail] == [
        ("job.reschedule", "ann", None),
        ("job.hold", "ben", "an approval"),
        ("job.release", "cleo", None),
        ("job.cancel", "dora", "not needed"),
    ]
    assert [(line.from_state, line.to_state) for line in trail] == [
        ("available", "scheduled"),
        ("scheduled", "held"),
        ("held", "scheduled"),
        ("scheduled", "cancelled"),
    ]
    assert {line.tenant for line in trail} == {"acme"}
    assert {line.at for line in trail} == {store.now()}


@pytest.mark.parametrize(("verb", "to_state"), [("retry", "available"), ("resolve", "resolved")])
async def test_what_people_do_to_a_dead_job_is_audited(store: Store, verb: str, to_state: str) -> None:
    """ENG-027, ENG-068."""
    job_id = await store.dead()

    await (store.retry(job_id) if verb == "retry" else store.resolve(job_id))

    line = (await store.stores.audit.of_job(job_id))[-1]
    assert (line.action, line.actor) == (f"job.{verb}", "ann")
    assert (line.from_state, line.to_state) == ("dead", to_state)
    assert line.reason is not None


async def test_a_request_to_stop_and_a_release_that_is_due_tell_both_states(store: Store) -> None:
    """ENG-027: old state and new state."""
    running = await store.claimed()
    held = await store.enqueue(held_for="an approval")

    await store.cancel(running.id)
    await store.stores.jobs.release(held, actor="cleo")

    trail = [line for job_id in (running.id, held) for line in await store.stores.audit.of_job(job_id)]
    assert [(line.action, line.from_state, line.to_state) for line in trail] == [
        ("job.request_cancel", "running", "running"),
        ("job.release", "held", "available"),
    ]


async def test_what_upkeep_ends_is_audited(store: Store) -> None:
    """ENG-027."""
    expired = await store.enqueue(expires_in=HOUR)
    late = await store.enqueue(deadline_in=HOUR, held_for="an approval")
    store.later(HOUR)
    await store.stores.upkeep.expire(limit=10)
    await store.stores.upkeep.miss_deadlines(limit=10)

    trail = [await store.stores.audit.of_job(job_id) for job_id in (expired, late)]

    assert [[(line.action, line.actor) for line in lines] for lines in trail] == [
        [("job.expired", "maintenance")],
        [("job.missed_deadline", "maintenance")],
    ]
    assert [[(line.from_state, line.to_state) for line in lines] for lines in trail] == [
        [("available", "cancelled")],
        [("held", "dead")],
    ]
