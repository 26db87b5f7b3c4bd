"""A TCP proxy before PostgreSQL that delays or loses the reply to a chosen statement."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from windlass.stores.postgres import dialect

READY = b"Z\x00\x00\x00\x05"
SSL_REQUEST = 80877103

Chooses = Callable[[str, list[str]], bool]


def statement(name: str) -> Chooses:
    """Chooses the product's statement of this name."""
    sql = dialect().statement(name).sql
    return lambda query, _: query == sql


def inserting(table: str) -> Chooses:
    """Chooses the product's statement that adds rows to this table."""
    return lambda query, _: f"INSERT INTO windlass.{table}" in query


def commit_after(name: str) -> Chooses:
    """Chooses the end of a transaction in which the statement of this name was run."""
    sql = dialect().statement(name).sql
    return lambda query, before: query.startswith("COMMIT") and sql in before


@dataclass
class Fault:
    """What happens to the reply of the first statement that is chosen."""

    chooses: Chooses
    seconds: float
    loses: bool
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


class Proxy:
    """Forwards between clients and one server, until a fault says otherwise."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._faults: list[Fault] = []
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.refuse_after_fault = False
        self.transactions = 0
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

    def go_silent(self) -> None:
        """Let every connection that is open now die without a sign; new ones work."""
        for link in self._links:
            link.is_silent = True

    def delay_reply(self, chooses: Chooses, *, seconds: float) -> Fault:
        """Hold the reply to the first such statement back for a while."""
        return self._add(Fault(chooses, seconds, loses=False))

    def lose_reply(self, chooses: Chooses, *, after: float = 0) -> Fault:
        """Let the first such statement be carried out, and cut the connection instead of passing its reply on."""
        return self._add(Fault(chooses, after, loses=True))

    def _stop_accepting(self) -> None:
        if self.refuse_after_fault and self._server is not None:
            self._server.close()
            self._server = None

    def _add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

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
                if link.is_silent:
                    continue
                link.server.write(kind + size + body)
                await link.server.drain()

    def _look(self, kind: bytes, body: bytes, link: Link) -> None:
        """Note which statement is about to run, and whether something is to happen to it."""
        words = body.split(b"\0")
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
        link.before.append(query)
        if query.startswith(("BEGIN", "COMMIT")):
            link.is_in_transaction = query.startswith("BEGIN")
        self.transactions += not link.is_in_transaction

    async def _forward_replies(self, replies: asyncio.StreamReader, link: Link) -> None:
        with suppress(ConnectionError):
            while data := await replies.read(65536):
                if link.fault is None:
                    link.client.write(data)
                    await link.client.drain()
                    continue
                link.held += data
                if READY in link.held:
                    await asyncio.sleep(link.fault.seconds)
                    if link.fault.loses:
                        self._stop_accepting()
                        return
                    link.client.write(link.held)
                    link.held, link.fault = b"", None
