"""Tests of the shop: what is enqueued, what it does, and what happens when things go wrong."""

import pytest
from shop import charge, charges, import_orders, send_receipt

from windlass import State
from windlass.testing import Harness, SyncHarness


async def test_a_charge_sends_a_receipt_after_five_minutes(windlass: Harness) -> None:
    await charge.enqueue(order=7, cents=100)

    await windlass.drain()

    await windlass.assert_enqueued(send_receipt.options(delay="5m"), order=7)
    await windlass.refute_enqueued(send_receipt, order=8)


async def test_a_receipt_names_its_order(windlass: Harness) -> None:
    assert await windlass.run_job(send_receipt, order=7) == "receipt for order 7"


async def test_nothing_is_charged_for_free(windlass: Harness) -> None:
    with pytest.raises(ValueError, match="order 7 costs 0"):
        await windlass.run_job(charge, order=7, cents=0)


async def test_a_charge_that_always_fails_dies_after_three_attempts(windlass: Harness) -> None:
    job = await charge.enqueue(order=7, cents=0)

    drained = await windlass.drain(with_scheduled=True)

    assert (drained.retrying, drained.dead) == (2, 1)
    assert (await job.get()).state is State.DEAD


async def test_the_receipt_goes_out_when_its_time_has_come(windlass: Harness) -> None:
    await windlass.run_job(charge, order=7, cents=100)

    await windlass.travel("5m")

    assert (await windlass.drain()).completed == 1


async def test_nobody_is_charged_twice_when_a_worker_dies(windlass: Harness) -> None:
    await charge.enqueue(order=7, cents=100)

    await windlass.crash_worker(charge, when="after")  # the handler has run, but nobody knows
    await windlass.travel("2m")  # its lease runs out
    await windlass.drain()

    assert list(charges.values()) == [100]


def test_without_an_event_loop(windlass_sync: SyncHarness) -> None:
    import_orders.enqueue_sync(lines=["1", "2"])

    windlass_sync.drain()

    assert len(windlass_sync.enqueued(charge)) == 2
