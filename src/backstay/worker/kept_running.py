"""Starts a part of a worker again when it has met an error that nobody foresaw: the jobs go on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backstay.model.events import Emit
from backstay.runtime.env import Env

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


def keep_running(
    name: str, run: Callable[[], Awaitable[None]], *, emit: Emit, env: Env
) -> asyncio.Task[None]:
    """A task that runs a part until it ends by itself or is cancelled."""
    return asyncio.create_task(_run(name, run, emit=emit, env=env), name=name)


async def _run(name: str, run: Callable[[], Awaitable[None]], *, emit: Emit, env: Env) -> None:
    pause = FIRST_PAUSE
    while True:
        try:
            return await run()
        except Exception as error:  # unforeseen, and no reason to leave jobs to their leases
            emit("part.failed", part=name, error=error)
        await env.sleep(pause * (0.5 + env.random()))
        pause = min(pause * 2, LONGEST_PAUSE)
