"""The connection to Redis: tried for a moment, left alone where it is away, and nobody's error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as ConnectionClosed
from redis.exceptions import RedisError

from backstay.model.events import Emit
from backstay.runtime.env import Env

TIMEOUT = 5.0
"""Shorter, and Redis would seem to be away on a machine that is only busy, and be filled anew."""
QUICK = 0.25
"""Whoever claims waits this long for Redis, and then goes on without it."""
AGAIN_AFTER = 1.0
ERRORS = (RedisError, OSError, TimeoutError)

T = TypeVar("T")


def script_text(name: str, *before: str) -> str:
    """A Lua script, with the parts that it uses before it."""
    folder = files("backstay.dispatch") / "lua"
    return "\n".join((folder / f"{one}.lua").read_text() for one in (*before, name))


class RedisLink:
    """One client for one event loop, connected when first used."""

    def __init__(self, url: str, *, emit: Emit, env: Env) -> None:
        self._url, self._emit, self._env = url, emit, env
        self._client: Redis | None = None
        self._scripts: dict[str, Any] = {}
        self._again_at = self._slow_until = 0.0
        self.is_away = False
        self.returned = 0
        """How many times it came back after having been away."""

    async def run(
        self, do: Callable[[Redis], Awaitable[T]], *, otherwise: T, may_find_it_back: bool = False
    ) -> T:
        """What `do` gives, or `otherwise` where Redis is away; never raises for what Redis does.

        Once it is away, only what runs in the background tries again, once a second, and nobody else waits for it.
        """
        if self.is_away and not (may_find_it_back and self._env.monotonic() >= self._again_at):
            return otherwise
        return await self._try(do, otherwise)

    async def run_quickly(self, do: Callable[[Redis], Awaitable[T]], *, otherwise: T) -> T:
        """The same for whoever has something better to do than to wait: after that, it is not asked for a second."""
        if self.is_away or self._env.monotonic() < self._slow_until:
            return otherwise
        try:
            async with asyncio.timeout(QUICK):
                return await self._try(do, otherwise)
        except TimeoutError:
            self._slow_until = self._env.monotonic() + AGAIN_AFTER
            return otherwise

    async def _try(self, do: Callable[[Redis], Awaitable[T]], otherwise: T) -> T:
        try:
            async with asyncio.timeout(TIMEOUT):
                found = await do(self._open())
        except ERRORS as error:
            self._lost(error)
            return otherwise
        if self.is_away:
            self.is_away, self.returned = False, self.returned + 1
            self._emit("dispatch.back")
        return found

    async def ask(self, do: Callable[[Redis], Awaitable[T]]) -> T:
        """The same for people and programs that want to know; raises what Redis raises."""
        async with asyncio.timeout(TIMEOUT):
            try:
                return await do(self._open())
            except ConnectionClosed:
                # Of a server that was there before: this one has not been asked yet.
                await self._open().connection_pool.disconnect()
                return await do(self._open())

    def script(self, name: str, *before: str) -> Any:
        """A script of ours, ready to be called."""
        client = self._open()
        if name not in self._scripts:
            self._scripts[name] = client.register_script(script_text(name, *before))
        return self._scripts[name]

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        self._scripts.clear()
        if client is not None:
            await client.aclose()

    def _open(self) -> Redis:
        if self._client is None:
            self._client = Redis.from_url(
                self._url, decode_responses=True, socket_connect_timeout=TIMEOUT, socket_timeout=TIMEOUT
            )
        return self._client

    def _lost(self, error: Exception) -> None:
        self._again_at = self._env.monotonic() + AGAIN_AFTER
        if not self.is_away:
            self.is_away = True
            self._emit("dispatch.away", error=f"{type(error).__name__}: {error}")
