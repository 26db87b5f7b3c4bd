"""Passes hints on in the background, whatever carries them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from backstay.runtime.env import Env

SEND_EVERY = 0.02

Publish = Callable[[Sequence[str]], Awaitable[None]]


class HintSender:
    """Gathers hints and publishes them; one of the same name goes out at most fifty times a second.

    Errors of the types `errors` that `publish` raises are ignored, because workers also poll.
    """

    def __init__(self, publish: Publish, errors: tuple[type[Exception], ...], env: Env) -> None:
        self._publish, self._errors, self._env = publish, errors, env
        self._waiting: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.last_at = 0.0

    @property
    def is_idle(self) -> bool:
        """True if no hint waits to be published."""
        return not self._waiting

    def send(self, *hints: str) -> None:
        """Publish hints soon; never waits and never fails."""
        self._waiting.update(hints)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Wait for hints under way, but not for long."""
        if self._task is not None and not self._task.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._task, timeout=1)

    async def _run(self) -> None:
        while self._waiting:
            hints, self._waiting = self._waiting, set()
            with suppress(*self._errors):
                await self._publish(sorted(hints))
            self.last_at = self._env.monotonic()
            await self._env.sleep(SEND_EVERY)
