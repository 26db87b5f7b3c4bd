"""Triage: who looks into which dead job, and deciding about many."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from backstay.errors import DeadLetterChanged, JobNotFound, KeyTaken, WrongState
from backstay.handlers.codec import fingerprint
from backstay.model.job import JobId
from backstay.model.records import DeadLetter, DeadLetterFilter
from backstay.model.states import State
from backstay.model.text.salted import salted
from backstay.testing.contract.support import MINUTE, Store, other_args


async def letter_of(store: Store, job_id: JobId) -> DeadLetter:
    """The newest letter of a job."""
    return (await store.stores.dead_letters.of_job(job_id))[0]


async def test_a_letter_under_investigation_is_open_and_has_an_owner(store: Store) -> None:
    """ENG-068."""
    job_id = await store.dead()
    store.later(MINUTE)

    version = await store.investigate(job_id, by="bea", note="asked the warehouse")

    letter = await letter_of(store, job_id)
    assert (letter.status, letter.owner, letter.note) == ("investigating", "bea", "asked the warehouse")
    assert (letter.changed_by, letter.changed_at, letter.version) == ("bea", store.now(), version)
    assert await store.state(job_id) is State.DEAD
    assert await store.stores.dead_letters.open(kind=None, queue=None, tenant=None, limit=10) == [letter]


async def test_an_investigation_is_written_down(store: Store) -> None:
    job_id = await store.dead(tenant="acme")

    await store.investigate(job_id, by="bea", note="asked the warehouse")

    entry = (await store.stores.audit.of_job(job_id))[-1]
    assert (entry.actor, entry.action, entry.tenant) == ("bea", "job.investigate", "acme")
    assert (entry.from_state, entry.to_state, entry.reason) == ("dead", "dead", "asked the warehouse")


async def test_who_takes_an_investigation_over_keeps_its_note(store: Store) -> None:
    job_id = await store.dead()
    await store.investigate(job_id, by="bea", note="asked the warehouse")

    await store.investigate(job_id, by="cem")

    letter = await letter_of(store, job_id)
    assert (letter.owner, letter.note) == ("cem", "asked the warehouse")


async def test_a_closed_letter_keeps_its_owner(store: Store) -> None:
    job_id = await store.dead()
    await store.investigate(job_id, by="bea")

    await store.resolve(job_id, by="cem")

    letter = await letter_of(store, job_id)
    assert (letter.status, letter.owner, letter.resolved_by) == ("resolved", "bea", "cem")


@pytest.mark.parametrize("verb", ["investigate", "retry", "resolve"])
async def test_a_decision_on_old_facts_is_refused_with_who_and_when(store: Store, verb: str) -> None:
    """Nothing is written by the one who is late, neither to the job nor to the audit trail."""
    job_id = await store.dead()
    seen = await letter_of(store, job_id)
    store.later(MINUTE)
    await store.investigate(job_id, by="bea")
    before = await store.stores.audit.of_job(job_id)
    decide: Any = {"investigate": store.investigate, "retry": store.retry, "resolve": store.resolve}[verb]

    with pytest.raises(DeadLetterChanged, match=r"changed by bea at .* is investigating now") as refused:
        await decide(job_id, version=seen.version)

    assert (refused.value.by, refused.value.at) == ("bea", store.now())
    assert await store.state(job_id) is State.DEAD
    assert (await letter_of(store, job_id)).owner == "bea"
    assert await store.stores.audit.of_job(job_id) == before


async def test_a_decision_on_the_newest_version_stands(store: Store) -> None:
    job_id = await store.dead()
    version = await store.investigate(job_id, by="bea")

    await store.resolve(job_id, version=version)

    assert (await letter_of(store, job_id)).status == "resolved"


async def test_of_two_who_close_the_same_version_one_is_told_who_was_faster(store: Store) -> None:
    """The audit trail has the action that happened, and no other."""
    job_id = await store.dead()
    version = (await letter_of(store, job_id)).version
    before = len(await store.stores.audit.of_job(job_id))

    outcomes = await asyncio.gather(
        store.resolve(job_id, by="bea", version=version),
        store.resolve(job_id, by="cem", version=version),
        return_exceptions=True,
    )

    [refused] = [outcome for outcome in outcomes if outcome is not None]
    winner = (await letter_of(store, job_id)).resolved_by
    assert isinstance(refused, DeadLetterChanged)
    assert (refused.by, refused.status) == (winner, "resolved")
    assert [entry.actor for entry in (await store.stores.audit.of_job(job_id))[before:]] == [winner]


async def test_a_version_of_an_earlier_death_does_not_decide_about_the_next(store: Store) -> None:
    job_id = await store.dead()
    version = (await letter_of(store, job_id)).version
    await store.retry(job_id)
    await store.fail_for_good(await store.claim_one())

    with pytest.raises(DeadLetterChanged):
        await store.resolve(job_id, version=version)

    assert await store.state(job_id) is State.DEAD


async def test_only_a_dead_job_is_investigated(store: Store) -> None:
    resolved = await store.dead()
    await store.resolve(resolved)

    with pytest.raises(WrongState, match=r"cannot investigate job .* it is resolved, not dead"):
        await store.investigate(resolved)
    with pytest.raises(JobNotFound):
        await store.investigate(JobId(store.new_id()))


EVERYTHING = DeadLetterFilter()


async def test_open_letters_are_walked_through_oldest_first(store: Store) -> None:
    died: list[JobId] = []
    for _ in range(5):
        died.append(await store.dead())
        store.later(MINUTE)
    letters, until = store.stores.dead_letters, store.now()

    first = await letters.next_open(EVERYTHING, died_until=until, after=None, limit=2)
    others = await letters.next_open(EVERYTHING, died_until=until, after=first[-1], limit=10)

    assert [mark.job_id for mark in first + others] == died


async def test_a_walk_keeps_to_its_filter_and_its_time(store: Store) -> None:
    report = await store.dead()
    welcome = await store.dead(kind="welcome")
    mail = await store.dead(queue="mail")
    acme = await store.dead(tenant="acme")
    cause = (await letter_of(store, welcome)).fingerprint
    until = store.now()
    store.later(MINUTE)
    await store.dead()

    async def found(filters: DeadLetterFilter) -> set[JobId]:
        marks = await store.stores.dead_letters.next_open(filters, died_until=until, after=None, limit=10)
        assert await store.stores.dead_letters.count(filters, died_until=until) == len(marks)
        return {mark.job_id for mark in marks}

    assert await found(DeadLetterFilter(kind="welcome")) == {welcome}
    assert await found(DeadLetterFilter(queue="mail")) == {mail}
    assert await found(DeadLetterFilter(tenant="acme")) == {acme}
    assert await found(DeadLetterFilter(fingerprint=cause)) == {welcome}
    assert await found(EVERYTHING) == {report, welcome, mail, acme}


async def test_many_are_retried_together_and_each_is_written_down(store: Store) -> None:
    dead = [await store.dead() for _ in range(3)]
    resolved = await store.dead()
    await store.resolve(resolved)

    queues = await store.stores.dead_letters.retry_many(
        [*dead, resolved], actor="ann", reason="fixed", delay=timedelta(0)
    )

    assert queues == dict.fromkeys(dead, "default")
    assert await store.state(resolved) is State.RESOLVED
    for job_id in dead:
        entry = (await store.stores.audit.of_job(job_id))[-1]
        assert (await store.state(job_id), (await letter_of(store, job_id)).status) == (
            "available",
            "retried",
        )
        assert (entry.actor, entry.action, entry.reason) == ("ann", "job.retry", "fixed")


async def test_a_taken_key_does_not_hold_up_the_others(store: Store) -> None:
    keyed = (await store.enqueue_keyed(unique_key="customer-7")).id
    await store.fail_for_good(await store.claim_one())
    await store.dead()
    plain = await store.dead()
    await store.enqueue_keyed(unique_key="customer-7", kind="other")

    queues = await store.stores.dead_letters.retry_many(
        [keyed, plain], actor="ann", reason="fixed", delay=timedelta(0)
    )

    assert set(queues) == {plain}
    assert (await store.state(keyed), (await letter_of(store, keyed)).status) == (State.DEAD, "new")


async def test_many_are_closed_together(store: Store) -> None:
    dead = [await store.dead() for _ in range(3)]
    await store.retry(dead[0])

    closed = await store.stores.dead_letters.resolve_many(
        dead, actor="ann", reason="sent by hand", ignored=False
    )

    assert set(closed) == set(dead[1:])
    assert [await store.state(job_id) for job_id in dead] == ["available", "resolved", "resolved"]


async def test_a_retry_can_have_other_arguments(store: Store) -> None:
    """The audit trail tells that they changed, never what they are, nor anything by which they could be guessed."""
    job_id = await store.dead(args='{"card":"4111"}')

    await store.stores.dead_letters.retry(
        job_id, actor="ann", reason="typo", delay=timedelta(0), args=other_args('{"card":"4222"}')
    )

    details = (await store.stores.audit.of_job(job_id))[-1].details
    assert (await store.job(job_id)).args == {"card": "4222"}
    assert details is not None
    assert details["args_before"] != details["args_after"]
    assert "4111" not in str(details)
    assert "4222" not in str(details)
    assert details["args_after"] == salted(b"a secret", fingerprint("report", '{"card":"4222"}', {}))


async def as_new(store: Store, job_id: JobId, **options: Any) -> JobId:
    """Retry a dead job as a new one."""
    given = {"actor": "ann", "reason": "typo", "delay": timedelta(0), **options}
    new_id = JobId(store.new_id())
    await store.stores.dead_letters.retry_as_new(job_id, new_id=new_id, **given)
    return new_id


async def test_a_retry_as_new_takes_the_place_of_the_dead_job(store: Store) -> None:
    """ENG-068: linked both ways."""
    dead = await store.dead(
        args='{"page":1}',
        tenant="acme",
        priority=2,
        max_attempts=9,
        metadata='{"colour":"red"}',
        tags='["a"]',
    )

    new_id = await as_new(store, dead)

    old, new, letter = await store.job(dead), await store.job(new_id), await letter_of(store, dead)
    assert (old.state, old.reason) == (State.RESOLVED, f"retried as {new_id}")
    assert (letter.status, letter.resolution) == ("retried", f"typo; retried as {new_id}")
    assert (new.state, new.attempt, new.run, new.error) == (State.AVAILABLE, 0, 0, None)
    assert (new.args, new.tenant, new.priority, new.tags) == ({"page": 1}, "acme", 2, ("a",))
    assert new.metadata == {"colour": "red", "retried_from": str(dead)}
    entry = (await store.stores.audit.of_job(dead))[-1]
    assert (entry.action, entry.to_state, entry.details) == (
        "job.retry",
        "resolved",
        {"retried_as": str(new_id)},
    )
    assert (await store.claim_one()).id == new_id


async def test_a_retry_as_new_can_have_other_arguments_and_wait(store: Store) -> None:
    dead = await store.dead(args='{"page":1}')

    new_id = await as_new(store, dead, args=other_args('{"page":2}'), delay=MINUTE)

    old, new = await store.job(dead), await store.job(new_id)
    assert (old.args, new.args) == ({"page": 1}, {"page": 2})
    assert (new.state, new.run_at) == (State.SCHEDULED, store.now() + MINUTE)


async def test_a_retry_as_new_is_refused_as_any_other(store: Store) -> None:
    """Nothing is stored then."""
    resolved, changed = await store.dead(), await store.dead()
    keyed = (await store.enqueue_keyed(unique_key="customer-7")).id
    await store.fail_for_good(await store.claim_one())
    await store.resolve(resolved)
    await store.investigate(changed, by="bea")
    await store.enqueue_keyed(unique_key="customer-7")
    before = await store.stores.jobs.counts()

    with pytest.raises(WrongState, match="cannot retry"):
        await as_new(store, resolved)
    with pytest.raises(DeadLetterChanged):
        await as_new(store, changed, version=1)
    with pytest.raises(KeyTaken):
        await as_new(store, keyed)

    assert await store.stores.jobs.counts() == before
