"""Signals: kept for the job, received in order, once; a job that waits uses nothing and misses nothing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from backstay.errors import JobNotFound, SignalRefused
from backstay.model.job import Claim, JobId
from backstay.model.outcome import Stopped, Waiting
from backstay.model.settlement import settle
from backstay.model.signals import (
    MOST_SIGNALS,
    Mail,
    NewSignal,
    NotYet,
    Received,
    Sent,
    TimedOut,
    Wait,
    answer,
)
from backstay.model.states import State
from backstay.testing.contract.support import DAY, HOUR, POLICY, SECOND, Store, other_args


async def _send(store: Store, job_id: JobId, name: str = "approval", **facts: Any) -> Sent:
    given = {"key": str(store.new_id()), **facts}
    return await store.stores.signals.send(NewSignal(job_id, name, **given))


async def _wait(store: Store, claim: Claim, name: str = "approval", **facts: Any) -> None:
    await store.end(claim, Waiting(Wait(name, **facts)))


async def test_a_waiting_job_is_held_and_spends_nothing(store: Store) -> None:
    claim = await store.claimed()

    await _wait(store, claim)

    job = await store.job(claim.id)
    assert (job.state, job.reason) == (State.HELD, "waiting for signal approval")
    assert (job.attempt, job.run, job.lease_expires_at, job.worker) == (0, 1, None, None)


async def test_a_signal_lets_the_job_that_waits_for_it_go_on(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim)

    sent = await _send(store, claim.id, payload='{"by":"ann"}', sent_by="ann")

    assert sent == Sent(is_new=True, queue="default")
    assert (await store.claim_one()).id == claim.id
    assert (await store.stores.signals.mail(claim.id)).received == {"approval": ['{"by":"ann"}']}


async def test_a_signal_that_comes_early_is_kept(store: Store) -> None:
    claim = await store.claimed()

    await _send(store, claim.id)
    await _wait(store, claim)

    assert await store.state(claim.id) is State.AVAILABLE


async def test_another_signal_changes_nothing_for_the_one_that_is_waited_for(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, "approval")

    sent = await _send(store, claim.id, "something else")

    assert sent == Sent(is_new=True)
    assert await store.state(claim.id) is State.HELD


async def test_signals_of_one_name_are_received_in_the_order_of_sending(store: Store) -> None:
    claim = await store.claimed()
    for payload in ("1", "2", "3"):
        await _send(store, claim.id, payload=payload)
        store.later(SECOND)

    mail = await store.stores.signals.mail(claim.id)

    assert [answer(mail, "approval", number) for number in (1, 2, 3, 4)] == [
        Received("1"),
        Received("2"),
        Received("3"),
        NotYet(4),
    ]


async def test_a_second_wait_is_not_answered_by_the_first_signal(store: Store) -> None:
    claim = await store.claimed()
    await _send(store, claim.id)

    await _wait(store, claim, number=2, position=2)

    assert await store.state(claim.id) is State.HELD
    await _send(store, claim.id)
    assert await store.state(claim.id) is State.AVAILABLE


async def test_a_signal_sent_again_under_its_key_is_there_once(store: Store) -> None:
    claim = await store.claimed()
    first = await _send(store, claim.id, key="order-7", payload="1")

    again = await _send(store, claim.id, key="order-7", payload="2")

    assert (first.is_new, again.is_new) == (True, False)
    assert [signal.payload for signal in await store.stores.signals.of_job(claim.id)] == [1]


async def test_a_key_is_of_one_job_and_one_name(store: Store) -> None:
    one, other = await store.enqueue(), await store.enqueue()
    await _send(store, one, key="k")

    assert (await _send(store, other, key="k")).is_new
    assert (await _send(store, one, "rejection", key="k")).is_new


async def test_a_wait_runs_out_and_the_job_goes_on(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)

    assert await store.stores.upkeep.next_due() == HOUR
    assert await store.stores.signals.time_out(limit=10) == []
    store.later(HOUR)
    released = await store.stores.signals.time_out(limit=10)

    assert released == ["default"]
    assert (await store.claim_one()).id == claim.id
    mail = await store.stores.signals.mail(claim.id)
    assert answer(mail, "approval", 1) == TimedOut()
    assert await store.stores.upkeep.next_due() is None


async def test_a_signal_that_comes_too_late_is_for_the_next_wait(store: Store) -> None:
    """A handler that runs again must be told of the same timeout, whatever has come since."""
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)
    store.later(HOUR)
    await store.stores.signals.time_out(limit=10)

    await _send(store, claim.id, payload='"late"')

    mail = await store.stores.signals.mail(claim.id)
    assert (answer(mail, "approval", 1), answer(mail, "approval", 2)) == (TimedOut(), Received('"late"'))


async def test_a_signal_before_the_sweep_wins_over_the_timeout(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)
    store.later(2 * HOUR)

    await _send(store, claim.id, payload="1")
    await store.stores.signals.time_out(limit=10)

    assert answer(await store.stores.signals.mail(claim.id), "approval", 1) == Received("1")


async def test_a_wait_keeps_its_deadline_when_the_job_runs_in_between(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, timeout=2 * HOUR)
    store.later(HOUR)
    await store.stores.jobs.release(claim.id, actor="ann")

    await _wait(store, await store.claim_one(), timeout=2 * HOUR)

    assert await store.stores.upkeep.next_due() == HOUR


async def test_a_wait_that_the_job_has_left_another_way_is_forgotten(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)
    await store.cancel(claim.id)
    store.later(2 * HOUR)

    assert await store.stores.signals.time_out(limit=10) == []
    assert await store.stores.upkeep.next_due() is None
    assert (await store.stores.signals.mail(claim.id)).timed_out == {}
    assert await store.state(claim.id) is State.CANCELLED


async def test_a_job_held_for_something_else_does_not_time_out(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)
    await store.stores.jobs.release(claim.id, actor="ann")
    await store.stores.jobs.hold(claim.id, reason="paused", actor="ann")
    store.later(2 * HOUR)

    assert await store.stores.signals.time_out(limit=10) == []
    assert await store.stores.upkeep.next_due() is None
    assert await store.state(claim.id) is State.HELD


async def test_a_wait_that_is_over_while_its_job_runs_runs_out_when_the_job_waits_again(store: Store) -> None:
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)
    await store.stores.jobs.release(claim.id, actor="ann")
    again = await store.claim_one()
    store.later(2 * HOUR)
    assert await store.stores.signals.time_out(limit=10) == []
    assert await store.stores.upkeep.next_due() is None

    await _wait(store, again, timeout=HOUR)

    assert await store.stores.signals.time_out(limit=10) == ["default"]
    assert answer(await store.stores.signals.mail(claim.id), "approval", 1) == TimedOut()


async def test_a_wait_that_was_answered_after_all_does_not_run_out_later(store: Store) -> None:
    """Released by hand, the job got its first signal; it waits for the second when the time of the first is over."""
    claim = await store.claimed()
    await _wait(store, claim, timeout=HOUR)
    await store.stores.jobs.release(claim.id, actor="ann")
    await _send(store, claim.id, payload="1")
    await _wait(store, await store.claim_one(), number=2, position=2, timeout=DAY)
    store.later(HOUR)

    assert await store.stores.signals.time_out(limit=10) == []
    assert answer(await store.stores.signals.mail(claim.id), "approval", 1) == Received("1")


async def test_waits_run_out_a_batch_at_a_time(store: Store) -> None:
    for _ in range(3):
        await _wait(store, await store.claimed(), timeout=HOUR)
    store.later(HOUR)

    sizes = [len(await store.stores.signals.time_out(limit=2)) for _ in range(3)]

    assert sizes == [2, 1, 0]


async def test_a_job_can_be_enqueued_held_for_a_signal(store: Store) -> None:
    job_id = await store.enqueue(held_for="waiting for signal approval", wait=Wait("approval", timeout=DAY))
    keyed = await store.enqueue_keyed(
        held_for="waiting for signal approval",
        wait=Wait("approval", timeout=HOUR),
        idempotency_key="k",
        fingerprint="f",
    )

    assert await store.stores.upkeep.next_due() == HOUR
    await _send(store, job_id, payload="1")

    assert await store.state(job_id) is State.AVAILABLE
    assert await store.state(keyed.id) is State.HELD
    assert answer(await store.stores.signals.mail(job_id), "approval", 1) == Received("1")


async def test_a_job_held_for_a_signal_and_a_time_goes_on_at_its_time(store: Store) -> None:
    job_id = await store.enqueue(held_for="waiting for signal go", wait=Wait("go"), delay=HOUR)

    await _send(store, job_id, "go")

    assert await store.state(job_id) is State.SCHEDULED


async def test_a_job_that_has_ended_takes_no_signal(store: Store) -> None:
    done, dead = await store.claimed(), await store.dead()
    await store.complete(done)

    with pytest.raises(SignalRefused, match="completed and waits for nothing"):
        await _send(store, done.id)
    with pytest.raises(SignalRefused, match="retry it first"):
        await _send(store, dead)
    assert await store.stores.signals.of_job(done.id) == []


async def test_a_signal_for_no_job_is_refused(store: Store) -> None:
    with pytest.raises(JobNotFound):
        await _send(store, JobId(UUID(int=7)))


async def test_a_job_takes_so_many_signals_and_no_more(store: Store) -> None:
    job_id = await store.enqueue()
    for _ in range(MOST_SIGNALS):
        await _send(store, job_id)

    with pytest.raises(SignalRefused, match="1,000 signals"):
        await _send(store, job_id)

    assert len(await store.stores.signals.of_job(job_id)) == MOST_SIGNALS


async def test_a_cancel_that_was_asked_for_wins_over_the_wait(store: Store) -> None:
    claim = await store.claimed()
    await store.cancel(claim.id)

    await _wait(store, claim)

    assert await store.state(claim.id) is State.CANCELLED


async def test_a_slow_worker_cannot_make_a_rescued_job_wait(store: Store) -> None:
    slow = await store.claimed(worker="slow")
    await store.end(slow, Stopped("done with it"))

    settled = await store.settle(slow, settle(slow, Waiting(Wait("approval")), POLICY, chance=0.5))

    assert settled.done == {slow.id} or settled.lost == {slow.id}
    assert await store.state(slow.id) is State.CANCELLED


async def test_mail_is_forgotten_when_the_job_begins_anew_with_other_arguments(store: Store) -> None:
    claim = await store.claimed()
    await _send(store, claim.id)
    await store.fail_for_good(claim)

    await store.stores.dead_letters.retry(
        claim.id, actor="ann", reason="typo", delay=0 * SECOND, args=other_args('{"page":2}')
    )

    assert await store.stores.signals.mail(claim.id) == Mail()
