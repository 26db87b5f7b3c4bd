"""Hints through LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import asyncpg

from windlass.env import Env
from windlass.errors import StoreError, StoreUnavailable
from windlass.stores.database import Lane
from windlass.wakeups.contract import ANYTHING

CHANNEL = "windlass"
PROBE_EVERY = 30.0
PROBE_TIMEOUT = 5.0
SEND_EVERY = 0.02
RIDE_EVERY = 0.025

# The driver calls it an internal error when a session is used that the server has just ended.
LISTENING_ERRORS = (
    StoreUnavailable,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


class PostgresWakeups:
    """Sends on a connection of its own, and listens on another that checks itself.

    A hint of one name goes out at most fifty times a second: a notification inside every transaction would make
    commits wait for one another. Only the first after a while rides with its own.
    """

    def __init__(self, lane: Lane, connect: Callable[[], Awaitable[Any]] | None, env: Env) -> None:
        self._lane, self._connect, self._env = lane, connect, env
        self._waiting: set[str] = set()
        self._sender: asyncio.Task[None] | None = None
        self._last_at = 0.0

    @property
    def can_listen(self) -> bool:
        return self._connect is not None

    def may_ride(self) -> bool:
        if self._waiting or self._env.monotonic() < self._last_at + RIDE_EVERY:
            return False
        self._last_at = self._env.monotonic()
        return True

    def send(self, *hints: str) -> None:
        self._waiting.update(hints)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.get_running_loop().create_task(self._send_all())

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        if self._connect is None:
            # Behind a transaction pooler nobody can listen; polling finds everything.
            await asyncio.Event().wait()
        assert self._connect is not None
        pause = 0.1
        while True:
            try:
                connection = await self._connect()
                try:
                    await connection.add_listener(CHANNEL, lambda _c, _p, _ch, payload: on_hint(payload))
                    # What was announced while nobody listened is found by looking once.
                    on_hint(ANYTHING)
                    pause = 0.1
                    await self._watch(connection)
                finally:
                    connection.terminate()
            except LISTENING_ERRORS:
                await self._env.sleep(pause * (0.5 + self._env.random()))
                pause = min(pause * 2, 5.0)

    async def close(self) -> None:
        if self._sender is not None and not self._sender.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._sender, timeout=1)

    async def _watch(self, connection: Any) -> None:
        """Notice an ended connection at once, and ask now and then whether a silent one still listens.

        Seldom, because an idle worker should hardly be noticed, and while nobody listens it still polls.
        """
        ended = asyncio.Event()
        connection.add_termination_listener(lambda _: ended.set())
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PROBE_EVERY):
                    await ended.wait()
            found = await connection.fetchval(
                "SELECT count(*) FROM pg_listening_channels() AS channel WHERE channel = $1",
                CHANNEL,
                timeout=PROBE_TIMEOUT,
            )
            if not found:
                raise ConnectionError("the session does not listen any more")

    async def _send_all(self) -> None:
        while self._waiting:
            hints, self._waiting = self._waiting, set()
            # A hint that cannot be sent is no loss: workers poll.
            with suppress(StoreError):
                await self._lane.fetch_each("wakeups/notify", [{"hint": hint} for hint in sorted(hints)])
            self._last_at = self._env.monotonic()
            await self._env.sleep(SEND_EVERY)
