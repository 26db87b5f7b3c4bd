"""Awa: an engine in Rust with handlers in Python, on append-only storage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import awa

from bench.adapter import URL, Meter, run

METER = Meter()
QUEUE = {"name": "default", "max_workers": 100, "claimers": 2, "claim_batch_size": 512}


@dataclass
class Noop:
    """The arguments, whose class names the kind."""

    n: int
    sent: int


class Client:
    """Single inserts, and COPY for many."""

    packages = ("awa-pg", "uvloop")

    async def open(self) -> None:
        self._client = awa.AsyncClient(URL, max_connections=20)
        await self._client.migrate()
        await self._client.install_queue_storage()

    async def enqueue(self, n: int, sent: int) -> None:
        await self._client.insert(Noop(n=n, sent=sent))

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await self._client.enqueue_many_copy([Noop(n=n, sent=0) for n in numbers])

    async def remaining(self) -> int:
        stats = await self._client.queue_stats()
        return sum(stat.available + stat.running + stat.scheduled + stat.retryable for stat in stats)

    async def empty(self) -> None:
        await self._client.install_queue_storage(reset=True)
        # Its connections remember statements for tables that are gone.
        await self._client.close()
        self._client = awa.AsyncClient(URL, max_connections=20)


def work(processes: int) -> None:
    """A client with a handler."""
    run(_work())


async def _work() -> None:
    client = awa.AsyncClient(URL, max_connections=20)

    @client.task(Noop, queue="default")
    async def noop(job: Any) -> None:
        METER.note(job.args.sent)

    await client.start([QUEUE])
    await asyncio.Event().wait()
