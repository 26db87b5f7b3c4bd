"""What one event loop of an application has open: how it is made ready, and how it ends with its loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from backstay.client.client import Client, make_client
from backstay.client.enqueue.building import Builder
from backstay.client.enqueue.coalescer import MOST_SENDERS
from backstay.errors import NoLoop
from backstay.handle import Lookup
from backstay.handlers.registry import Registry
from backstay.runtime.env import Env
from backstay.settings.sources import Settings

if TYPE_CHECKING:
    from backstay.composition.connect import Connections

T = TypeVar("T")
Also = Callable[["Connections"], Awaitable[None]]


_inherited: list[object] = []


def leave_to_parent(opened: object) -> None:
    """Forget what was open before a fork: it is not closed, nor disposed of, which drivers would complain about."""
    _inherited.append(opened)


@dataclass
class Resources:
    """What one event loop has open."""

    connections: Connections
    client: Client
    ready: asyncio.Task[None] | None = None
    secret: bytes | None = None
    guard: AsyncGenerator[None, None] | None = None

    async def close(self) -> None:
        """Close it, by its guard if the loop has one."""
        await (self.end() if self.guard is None else self.guard.aclose())

    async def handler_pool(self) -> Any:
        """Connections for handlers' own transactions, which are closed with the loop."""
        await self.client.enqueuer.joiner.prepare()
        return await self.connections.handler_pool()

    async def end(self) -> None:
        """Close the client and its connections."""
        await self.client.close()
        await self.connections.close()


class Application(Protocol):
    """What has something open on every event loop that it is used on."""

    def _here(self) -> Resources:
        """What the running event loop has open."""
        ...


class PerLoop(Generic[T]):
    """A noun of the client, found where the application is used: each event loop has its own."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.removeprefix("_")

    def __get__(self, app: Application | None, owner: type) -> T:
        if app is None:
            # Asked of the class, as by what inspects it.
            return cast(T, self)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise NoLoop(f"app.{self._name}") from None
        return cast(T, getattr(app._here().client, self._name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is needed to open: `also` is done with the tables first, `forget` when the loop has ended."""

    registry: Registry
    builder: Builder
    lookup: Lookup
    settings: Settings
    env: Env
    also: Also | None
    forget: Callable[[], object]

    def open(self, connections: Connections) -> Resources:
        """A client on these connections; nothing is asked of the database before its first use."""
        held: Resources

        async def ready() -> None:
            if held.ready is None:
                held.ready = asyncio.get_running_loop().create_task(self._prepare(held))
            if not (held.ready.done() and held.ready.exception() is None):
                await asyncio.shield(held.ready)

        async def secret() -> bytes:
            await ready()
            held.secret = held.secret or await connections.secret()
            return held.secret

        client = make_client(
            connections.stores_when(ready, "general", size=self.settings.client_connections),
            connections.stores_when(ready, "enqueue", size=MOST_SENDERS).enqueuing,
            connections.wakeups,
            registry=self.registry,
            builder=self.builder,
            lookup=self.lookup,
            joiner=connections.joining(ready),
            secret=secret,
            env=self.env,
            url=connections.url,
            archive_to=self.settings.archive_to,
            alert_thresholds=self.settings.alert_thresholds,
        )
        held = Resources(connections, client)
        return held

    async def _prepare(self, held: Resources) -> None:
        try:
            await held.connections.prepare()
            if self.also is not None:
                await self.also(held.connections)
        except BaseException:
            # Tried again by the next call: the database may be there by then.
            held.ready = None
            raise
        held.guard = self._close_with_loop(held)
        await anext(held.guard)

    async def _close_with_loop(self, held: Resources) -> AsyncGenerator[None, None]:
        # An event loop that ends finishes its asynchronous generators: that is how connections end with it.
        try:
            yield
        finally:
            # What is open points back at its loop, so the entry would keep both forever.
            self.forget()
            await held.end()


async def started_or_ended(started: Any, task: asyncio.Task[None]) -> None:
    """Wait until a worker has started; raises what ended it before."""
    await asyncio.wait([asyncio.ensure_future(started), task], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
