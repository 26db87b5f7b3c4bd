"""Hints through LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from backstay.errors import StoreError, StoreUnavailable
from backstay.runtime.env import Env
from backstay.stores.database.interface import Lane
from backstay.wakeups.contract import ANYTHING
from backstay.wakeups.listening import OnHint, listen_again
from backstay.wakeups.sending import HintSender

CHANNEL = "backstay"
PROBE_EVERY = 30.0
PROBE_TIMEOUT = 5.0
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
        self._sender = HintSender(self._publish, (StoreError,), env)

    @property
    def can_listen(self) -> bool:
        return self._connect is not None

    def may_ride(self) -> bool:
        if not self._sender.is_idle or self._env.monotonic() < self._sender.last_at + RIDE_EVERY:
            return False
        self._sender.last_at = self._env.monotonic()
        return True

    def send(self, *hints: str) -> None:
        self._sender.send(*hints)

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        if self._connect is None:
            # Behind a transaction pooler nobody can listen; polling finds everything.
            await asyncio.Event().wait()
        await listen_again(lambda heard: self._listen(on_hint, heard), LISTENING_ERRORS, self._env)

    async def _listen(self, on_hint: OnHint, heard: Callable[[], None]) -> None:
        assert self._connect is not None
        connection = await self._connect()
        try:
            await connection.add_listener(CHANNEL, lambda _c, _p, _ch, payload: on_hint(payload))
            # What was announced while nobody listened is found by looking once.
            heard()
            on_hint(ANYTHING)
            await self._watch(connection)
        finally:
            connection.terminate()

    async def close(self) -> None:
        await self._sender.close()

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

    async def _publish(self, hints: Sequence[str]) -> None:
        await self._lane.fetch_each("wakeups/notify", [{"hint": hint} for hint in hints])
