"""What a worker costs its database while there is nothing to do."""

from __future__ import annotations

import asyncio

import psutil
import pytest
from support import Workshop

from chaos.proxy import Proxy

# Short of the first minute, at whose end the leader looks for old jobs, which it then does every ten.
WATCH_SECONDS = 50
MOST_PER_SECOND = 0.5
MOST_MEGABYTES = 120


@pytest.mark.prove
async def test_an_idle_worker_makes_at_most_one_transaction_in_two_seconds(
    postgres_shop: Workshop,
) -> None:
    async with Proxy.before(postgres_shop.url) as proxy:
        worker = await postgres_shop.started_worker(url=proxy.url, tick=5.0, leader_lease=15, lease="60s")
        await asyncio.sleep(5)  # what belongs to the start

        # Counted on the wire: the server's own counters include autovacuum and whoever reads them.
        before = proxy.transactions
        await asyncio.sleep(WATCH_SECONDS)
        per_second = (proxy.transactions - before) / WATCH_SECONDS

        resident = psutil.Process(worker.pid).memory_info().rss >> 20
        assert 0 < per_second <= MOST_PER_SECOND
        assert resident <= MOST_MEGABYTES
        assert await worker.terminated() == 0
