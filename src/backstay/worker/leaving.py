"""Stops a worker that is to leave by itself: when nothing is left to do, or when it uses too much memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import psutil

from backstay.errors import StoreError
from backstay.model.events import Emit
from backstay.runtime.env import Env
from backstay.stores.contract import Claims
from backstay.worker.fetch.fetcher import Fetcher
from backstay.worker.run.runner import Runner
from backstay.worker.settler import Settler

LOOK_EVERY = 0.2
WEIGH_EVERY = 2.0


class Stoppable(Protocol):
    """A worker that can be stopped."""

    id: str

    def stop(self) -> None:
        """Claim no more and let running jobs finish."""
        ...


async def stop_when_outgrown(worker: Stoppable, most_mb: int, *, emit: Emit, env: Env) -> None:
    """Look now and then how much memory the process uses, and stop its worker above the limit; never returns.

    What was taken is finished or given back as at every stop; the supervisor or service manager starts it again.
    """
    process = psutil.Process()
    while (rss_mb := process.memory_info().rss >> 20) <= most_mb:
        await env.sleep(WEIGH_EVERY)
    emit("worker.outgrown", worker=worker.id, rss_mb=rss_mb, most_mb=most_mb)
    worker.stop()
    await asyncio.Event().wait()


async def stop_when_empty(
    stop: Callable[[], None],
    claims: Claims,
    runner: Runner,
    settler: Settler,
    fetcher: Fetcher,
    *,
    env: Env,
) -> None:
    """Look now and then, while the worker has nothing in hand, and stop it when nothing is left; never returns."""
    is_empty = False
    while not is_empty:
        await env.sleep(LOOK_EVERY)
        if runner.in_hand.is_busy or not settler.is_idle:
            continue
        # A database that does not answer is reported by those who need it.
        with suppress(StoreError):
            is_empty = not await claims.has_work(fetcher.asks.wanted)
    stop()
    # The end of one of a worker's tasks is taken for a failure.
    await asyncio.Event().wait()
