"""A TCP proxy before PostgreSQL that reads its messages, and breaks off where it is told to."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit

from backstay.stores.database.postgres import dialect

READY = b"Z\x00\x00\x00\x05"
SSL_REQUEST = 80877103

Chooses = Callable[[str, list[str]], bool]
"""Whether a statement is meant, by its text and by what ran before it on the same connection."""


class Moment(Enum):
    """Where in the exchange of one statement something happens."""

    BEFORE_SEND = "before it is sent"
    BEFORE_REPLY = "after it was carried out, before its reply"
    AFTER_REPLY = "after its reply"


def statement(name: str) -> Chooses:
    """Chooses the product's statement of this name."""
    sql = dialect().statement(name).sql
    return lambda query, _: query == sql


def inserting(table: str) -> Chooses:
    """Chooses the product's statement that adds rows to this table."""
    return lambda query, _: f"INSERT INTO backstay.{table}" in query


def commit(query: str, _: list[str]) -> bool:
    """Chooses the end of any transaction."""
    return query.startswith("COMMIT")


def commit_after_guard() -> Chooses:
    """Chooses the end of a handler's transaction, whichever library writes the statements."""
    return lambda query, before: (
        query.startswith("COMMIT") and any("pg_current_xact_id" in one for one in before)
    )


def commit_after(name: str) -> Chooses:
    """Chooses the end of a transaction in which the statement of this name was run."""
    sql = dialect().statement(name).sql
    return lambda query, before: query.startswith("COMMIT") and sql in before


@dataclass(eq=False)
class Fault:
    """What happens at the first statement that is chosen: a delay, or the end of its connection."""

    chooses: Chooses
    moment: Moment
    seconds: float = 0
    until: asyncio.Event | None = None
    cuts: bool = True
    on_hit: Callable[[], None] = lambda: None
    seen: bool = False


@dataclass(eq=False)
class Link:
    """One connection through the proxy."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    names: dict[str, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    is_in_transaction: bool = False
    is_silent: bool = False
    fault: Fault | None = None
    held: bytes = b""

    def cut(self) -> None:
        for writer in (self.client, self.server):
            with suppress(RuntimeError):
                writer.transport.abort()

    def reset(self) -> None:
        """End the client's side with an RST, as a machine does that knows nothing of the connection."""
        raw = self.client.get_extra_info("socket")
        with suppress(OSError, AttributeError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.cut()


class Proxy:
    """Forwards between clients and one server, until a fault says otherwise."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._faults: list[Fault] = []
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.refuse_after_fault = False
        self.seconds_per_reply = 0.0
        self.keeps_clients = False
        self.server_has_left = asyncio.Event()
        self.transactions = 0
        self.observed: list[str] | None = None
        self.url = ""
        self.port = 0

    @classmethod
    @asynccontextmanager
    async def before(cls, url: str) -> AsyncIterator[Proxy]:
        proxy = cls(url)
        await proxy.open()
        try:
            yield proxy
        finally:
            await proxy.close()

    async def open(self) -> None:
        """Accept connections, on the port it had before if there was one."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        target = self._target
        self.url = target._replace(netloc=f"{target.username}@127.0.0.1:{self.port}").geturl()

    async def close(self) -> None:
        """Cut every connection and accept no more."""
        self.refuse_after_fault = True
        self._stop_accepting()
        for link in list(self._links):
            link.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def connections(self) -> int:
        """How many are open and can still be heard."""
        return sum(not link.is_silent for link in self._links)

    def go_silent(self, *, which: Callable[[Link], bool] = lambda _: True) -> int:
        """Let connections that are open now die without a sign; new ones work. Returns how many."""
        hit = [link for link in self._links if not link.is_silent and which(link)]
        for link in hit:
            link.is_silent = True
        return len(hit)

    def reset_all(self) -> int:
        """Reset every connection that is open now; returns how many."""
        hit = list(self._links)
        for link in hit:
            link.reset()
        return len(hit)

    def delay_reply(self, chooses: Chooses, *, seconds: float) -> Fault:
        """Hold the reply to the first such statement back for a while."""
        return self.add(Fault(chooses, Moment.BEFORE_REPLY, seconds, cuts=False))

    def hold_reply(self, chooses: Chooses, *, until: asyncio.Event) -> Fault:
        """Hold the reply to the first such statement back until it may go on."""
        return self.add(Fault(chooses, Moment.BEFORE_REPLY, until=until, cuts=False))

    def lose_reply(self, chooses: Chooses, *, until: asyncio.Event | None = None) -> Fault:
        """Let the first such statement be carried out, and cut the connection instead of passing its reply on."""
        return self.add(Fault(chooses, Moment.BEFORE_REPLY, until=until))

    def lose_request(self, chooses: Chooses) -> Fault:
        """Cut the connection instead of passing the first such statement on."""
        return self.add(Fault(chooses, Moment.BEFORE_SEND))

    def add(self, fault: Fault) -> Fault:
        """Let this happen to the next statement that it chooses."""
        self._faults = [other for other in self._faults if not other.seen]
        self._faults.append(fault)
        return fault

    def forget(self, fault: Fault) -> None:
        """Let it not happen, if it has not."""
        self._faults = [other for other in self._faults if other is not fault]

    def _stop_accepting(self) -> None:
        if self.refuse_after_fault and self._server is not None:
            self._server.close()
            self._server = None

    async def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        assert self._target.hostname is not None
        assert self._target.port is not None
        try:
            replies, server = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            client.transport.abort()
            return
        link = Link(client, server)
        self._links.add(link)
        tasks = [
            asyncio.ensure_future(self._forward_requests(reader, link)),
            asyncio.ensure_future(self._forward_replies(replies, link)),
        ]
        self._tasks.update(tasks)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            link.cut()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tasks.difference_update(tasks)
            self._links.discard(link)

    async def _forward_requests(self, reader: asyncio.StreamReader, link: Link) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            is_starting = True
            while True:
                kind = b"" if is_starting else await reader.readexactly(1)
                size = await reader.readexactly(4)
                body = await reader.readexactly(struct.unpack("!I", size)[0] - 4)
                if is_starting:
                    is_starting = struct.unpack("!I", body[:4])[0] == SSL_REQUEST
                else:
                    self._look(kind, body, link)
                if link.fault is not None and link.fault.moment is Moment.BEFORE_SEND:
                    self._hit(link.fault)
                    return
                if link.is_silent:
                    continue
                link.server.write(kind + size + body)
                await link.server.drain()

    def _look(self, kind: bytes, body: bytes, link: Link) -> None:
        """Note which statement is about to run, and whether something is to happen to it."""
        words = body.split(b"\0", 2)
        match kind:
            case b"P":
                link.names[words[0].decode()] = words[1].decode()
                return
            case b"B":
                query = link.names.get(words[1].decode(), "")
            case b"Q":
                query = words[0].decode()
            case _:
                return
        for fault in self._faults:
            if not fault.seen and link.fault is None and fault.chooses(query, link.before):
                fault.seen, link.fault = True, fault
        if self.observed is not None:
            self.observed.append(query)
        if query.startswith("BEGIN"):
            link.is_in_transaction = True
        elif query.startswith(("COMMIT", "ROLLBACK")):
            link.is_in_transaction = False
        # What ran before in the same transaction; outside of one there is no before.
        link.before = [*link.before, query] if link.is_in_transaction else []
        self.transactions += not link.is_in_transaction

    async def _forward_replies(self, replies: asyncio.StreamReader, link: Link) -> None:
        with suppress(ConnectionError):
            while data := await replies.read(65536):
                if link.is_silent:
                    continue
                if link.fault is None:
                    if self.seconds_per_reply:
                        await asyncio.sleep(self.seconds_per_reply)
                    link.client.write(data)
                    await link.client.drain()
                    continue
                link.held += data
                if READY in link.held and await self._end_exchange(link, link.fault):
                    return
        self.server_has_left.set()
        if self.keeps_clients:
            # The last word of the server arrives, the end of the connection does not.
            await asyncio.Event().wait()

    async def _end_exchange(self, link: Link, fault: Fault) -> bool:
        """Do with a whole reply what the fault says; returns whether the connection is over."""
        await asyncio.sleep(fault.seconds)
        if fault.until is not None:
            await fault.until.wait()
        if fault.cuts and fault.moment is Moment.BEFORE_REPLY:
            self._hit(fault)
            return True
        link.client.write(link.held)
        link.held, link.fault = b"", None
        if fault.cuts:
            await link.client.drain()
            # A close instead of an abort, so that the reply is not thrown away on its way.
            link.client.close()
            self._hit(fault)
        return fault.cuts

    def _hit(self, fault: Fault) -> None:
        fault.on_hit()
        self._stop_accepting()
