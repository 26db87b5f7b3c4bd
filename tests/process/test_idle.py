"""What a worker costs its database while there is nothing to do."""

from __future__ import annotations

import asyncio

import psutil
import pytest
from support import Workshop

WATCH_SECONDS = 40
MOST_PER_SECOND = 0.5


@pytest.mark.slow
async def test_an_idle_worker_makes_at_most_one_transaction_in_two_seconds(
    postgres_shop: Workshop, record_property: pytest.RecordProperty
) -> None:
    shop = postgres_shop
    worker = await shop.started_worker(tick=5.0, leader_lease=15, lease="60s")
    await asyncio.sleep(5)  # what belongs to the start

    before = await transactions(shop)
    await asyncio.sleep(WATCH_SECONDS)
    after = await transactions(shop)

    # The second look sees the first one's own transactions besides the worker's.
    per_second = (after - before - OWN_TRANSACTIONS) / WATCH_SECONDS
    resident = psutil.Process(worker.pid).memory_info().rss // 1024 // 1024
    record_property("transactions_per_second", per_second)
    record_property("resident_megabytes", resident)
    assert 0 < per_second <= MOST_PER_SECOND
    assert resident < 150
    assert await worker.terminated() == 0


OWN_TRANSACTIONS = 1


async def transactions(shop: Workshop) -> int:
    found = await shop.rows(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    )
    return int(found[0][0])
