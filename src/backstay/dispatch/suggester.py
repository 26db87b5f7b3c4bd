"""Pushes the ids of new jobs in the background, so that nobody waits for a Redis that hangs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from backstay.dispatch.lines import MOST_IN_ONE_CALL, Lines
from backstay.model.suggestions import Suggestion

PATIENCE = 0.05
"""Whoever stores a job waits this long for its id to be in Redis, which otherwise goes there later, or not at all."""
MOST_UNSENT = 10_000
"""While Redis is slow, at most this many ids wait; older ones are dropped, and found in PostgreSQL."""


class Suggester:
    """One task pushes what has gathered meanwhile, in the order in which it came."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._waiting: deque[Suggestion] = deque(maxlen=MOST_UNSENT)
        self._task: asyncio.Task[None] | None = None

    async def suggest(self, jobs: Sequence[Suggestion]) -> None:
        """Push soon; waits for it, but not for long."""
        self._waiting.extend(jobs)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._push())
        await asyncio.wait([self._task], timeout=PATIENCE)

    async def close(self) -> None:
        """Wait for ids under way, but not for long."""
        if self._task is not None and not self._task.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._task, timeout=1)

    async def _push(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), MOST_IN_ONE_CALL)
            await self._lines.push([self._waiting.popleft() for _ in range(count)])
