"""Tests of the shop: what is enqueued, what it does, and what happens when things go wrong."""

import pytest
from shop import charge, charges, import_orders, send_receipt

from backstay import State
from backstay.testing import Harness, SyncHarness


async def test_a_charge_sends_a_receipt_after_five_minutes(backstay: Harness) -> None:
    await charge.enqueue(order=7, cents=100)

    await backstay.drain()

    await backstay.assert_enqueued(send_receipt.options(delay="5m"), order=7)
    await backstay.refute_enqueued(send_receipt, order=8)


async def test_a_receipt_names_its_order(backstay: Harness) -> None:
    assert await backstay.run_job(send_receipt, order=7) == "receipt for order 7"


async def test_nothing_is_charged_for_free(backstay: Harness) -> None:
    with pytest.raises(ValueError, match="order 7 costs 0"):
        await backstay.run_job(charge, order=7, cents=0)


async def test_a_charge_that_always_fails_dies_after_three_attempts(backstay: Harness) -> None:
    job = await charge.enqueue(order=7, cents=0)

    drained = await backstay.drain(with_scheduled=True)

    assert (drained.retrying, drained.dead) == (2, 1)
    assert (await job.get()).state is State.DEAD


async def test_the_receipt_goes_out_when_its_time_has_come(backstay: Harness) -> None:
    await backstay.run_job(charge, order=7, cents=100)

    await backstay.travel("5m")

    assert (await backstay.drain()).completed == 1


async def test_nobody_is_charged_twice_when_a_worker_dies(backstay: Harness) -> None:
    await charge.enqueue(order=7, cents=100)

    await backstay.crash_worker(charge, when="after")  # the handler has run, but nobody knows
    await backstay.travel("2m")  # its lease runs out
    await backstay.drain()

    assert list(charges.values()) == [100]


def test_without_an_event_loop(backstay_sync: SyncHarness) -> None:
    import_orders.enqueue_sync(lines=["1", "2"])

    backstay_sync.drain()

    assert len(backstay_sync.enqueued(charge)) == 2
