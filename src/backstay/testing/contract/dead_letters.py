"""Dead letters: what a person sees of a job that died, and the ways out."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from backstay.errors import JobNotFound, KeyTaken, WrongState
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.testing.contract.support import HOUR, MINUTE, SECOND, Store


async def test_a_death_opens_a_dead_letter_with_its_history(store: Store) -> None:
    """ENG-065, ENG-066, ENG-067: written with the death itself; the attempts are the true number of runs."""
    first = await store.claimed(tenant="acme")
    started_at = store.now()
    await store.fail(first)
    store.later(HOUR)
    await store.promote()
    await store.fail_for_good(await store.claim_one())

    [letter] = await store.stores.dead_letters.of_job(first.id)

    assert (letter.kind, letter.queue, letter.tenant) == ("report", "default", "acme")
    assert (letter.reason, letter.status, letter.attempts) == ("hopeless", "new", 2)
    assert (letter.first_attempted_at, letter.died_at) == (started_at, store.now())
    assert letter.error is not None
    assert letter.error["message"] == "boom"
    assert (letter.resolution, letter.resolved_by, letter.resolved_at) == (None, None, None)


async def test_open_dead_letters_are_listed_newest_first(store: Store) -> None:
    """ENG-069."""
    died: list[JobId] = []
    for _ in range(3):
        died.append(await store.dead())
        store.later(MINUTE)

    letters = await store.stores.dead_letters.open(kind=None, queue=None, tenant=None, limit=2)

    assert [letter.job_id for letter in letters] == [died[2], died[1]]


async def test_open_dead_letters_can_be_narrowed(store: Store) -> None:
    """ENG-069."""
    report = await store.dead()
    welcome = await store.dead(kind="welcome")
    mail = await store.dead(queue="mail")
    acme = await store.dead(tenant="acme")

    async def found(**narrowed: str | None) -> set[JobId]:
        asked = {"kind": None, "queue": None, "tenant": None, **narrowed}
        return {letter.job_id for letter in await store.stores.dead_letters.open(**asked, limit=10)}

    assert await found(kind="welcome") == {welcome}
    assert await found(queue="mail") == {mail}
    assert await found(tenant="acme") == {acme}
    assert await found() == {report, welcome, mail, acme}


async def test_a_retry_restarts_the_budget_while_the_fence_goes_on(store: Store) -> None:
    """ENG-068: attempts from one again, epoch and runs never fall."""
    first = await store.claimed()
    await store.fail_for_good(first)

    queue = await store.retry(first.id)

    waiting = await store.job(first.id)
    again = await store.claim_one()
    assert queue == "default"
    assert (waiting.state, waiting.attempt, waiting.run) == (State.AVAILABLE, 0, 1)
    assert (waiting.finished_at, waiting.reason, waiting.worker) == (None, None, None)
    assert (again.attempt, again.run, again.epoch) == (1, 2, first.epoch + 2)
    assert (await store.stores.claims.renew([first])).lost == {first.id}


async def test_a_retry_keeps_the_last_error_until_the_next_run_ends(store: Store) -> None:
    """ENG-057."""
    job_id = await store.dead()

    await store.retry(job_id)

    error = (await store.job(job_id)).error
    assert error is not None
    assert error["message"] == "boom"


async def test_a_retry_with_a_delay_is_scheduled(store: Store) -> None:
    job_id = await store.dead(priority=1)

    await store.retry(job_id, delay=HOUR)

    job = await store.job(job_id)
    assert (job.state, job.run_at) == (State.SCHEDULED, store.now() + HOUR)


async def test_a_retried_job_takes_its_turn_by_its_priority(store: Store) -> None:
    job_id = await store.dead(priority=1)
    store.later(HOUR)
    await store.enqueue(priority=5)

    await store.retry(job_id)

    assert (await store.claim_one()).id == job_id


async def test_a_retry_clears_what_the_crashes_left(store: Store) -> None:
    job_id = await store.enqueue(max_attempts=50)
    for _ in range(5):
        await store.claim(limit=1)
        store.later(HOUR)
        await store.rescue()
        store.later(HOUR)
        await store.promote()
    assert (await store.job(job_id)).reason == "crash loop"

    await store.retry(job_id)

    job = await store.job(job_id)
    assert (job.crashes, job.is_suspect) == (0, False)


async def test_a_retry_closes_the_letter_and_a_second_death_opens_another(store: Store) -> None:
    """ENG-068."""
    job_id = await store.dead()
    await store.retry(job_id)
    store.later(MINUTE)
    await store.fail_for_good(await store.claim_one())

    newest, oldest = await store.stores.dead_letters.of_job(job_id)

    assert (newest.status, newest.attempts) == ("new", 2)
    assert (oldest.status, oldest.resolution, oldest.resolved_by, oldest.version) == (
        "retried",
        "fixed",
        "ann",
        2,
    )
    assert len(await store.stores.dead_letters.open(kind=None, queue=None, tenant=None, limit=10)) == 1


@pytest.mark.parametrize(("ignored", "status"), [(False, "resolved"), (True, "ignored")])
async def test_a_dead_job_is_closed_with_a_reason_and_a_name(
    store: Store, ignored: bool, status: str
) -> None:
    """ENG-068."""
    job_id = await store.dead()
    store.later(MINUTE)

    await store.resolve(job_id, ignored=ignored)

    job, [letter] = await store.job(job_id), await store.stores.dead_letters.of_job(job_id)
    assert (job.state, job.reason) == (State.RESOLVED, "done by hand")
    assert (letter.status, letter.resolution, letter.resolved_by) == (status, "done by hand", "ann")
    assert letter.resolved_at == store.now()
    assert await store.stores.dead_letters.open(kind=None, queue=None, tenant=None, limit=10) == []


async def test_of_two_admins_the_first_wins_and_the_second_is_told(store: Store) -> None:
    """One retries, one resolves."""
    job_id = await store.dead()

    outcomes = await asyncio.gather(store.retry(job_id), store.resolve(job_id), return_exceptions=True)

    refused = [outcome for outcome in outcomes if isinstance(outcome, WrongState)]
    [letter] = await store.stores.dead_letters.of_job(job_id)
    assert len(refused) == 1
    assert letter.status in ("retried", "resolved")
    assert await store.state(job_id) in (State.AVAILABLE, State.RESOLVED)


async def test_a_second_click_on_retry_moves_the_job_once(store: Store) -> None:
    job_id = await store.dead()
    await store.retry(job_id)

    with pytest.raises(WrongState, match=r"cannot retry job .* it is available, not dead"):
        await store.retry(job_id)

    assert len(await store.stores.audit.of_job(job_id)) == 2


async def test_a_deadline_that_is_over_does_not_kill_a_retried_job_again(store: Store) -> None:
    job_id = await store.enqueue(deadline_in=MINUTE)
    store.later(2 * MINUTE)
    await store.stores.upkeep.miss_deadlines(limit=10)

    await store.retry(job_id)

    assert (await store.job(job_id)).deadline is None
    assert await store.stores.upkeep.miss_deadlines(limit=10) == 0


async def test_a_retry_is_refused_while_another_job_holds_its_unique_key(store: Store) -> None:
    """Two active jobs of one key must not come about, whatever the way."""
    stored = await store.enqueue_keyed(unique_key="customer-7")
    await store.fail_for_good(await store.claim_one())
    await store.enqueue_keyed(unique_key="customer-7")

    with pytest.raises(KeyTaken, match="unique key"):
        await store.retry(stored.id)

    [letter] = await store.stores.dead_letters.of_job(stored.id)
    assert (await store.state(stored.id), letter.status) == (State.DEAD, "new")


@pytest.mark.parametrize("verb", ["retry", "resolve"])
async def test_acting_on_an_unknown_job_says_that_there_is_none(store: Store, verb: str) -> None:
    missing = JobId(store.new_job().id)

    with pytest.raises(JobNotFound):
        await (store.retry(missing, delay=timedelta(0)) if verb == "retry" else store.resolve(missing))


async def test_a_job_that_is_not_dead_has_no_letter(store: Store) -> None:
    claim = await store.claimed()
    await store.fail(claim)
    store.later(SECOND)

    assert await store.stores.dead_letters.of_job(claim.id) == []
