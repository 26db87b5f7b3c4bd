"""Real servers on loopback for the tests of web pages and outgoing requests."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

READ_DEADLINE = 20


@dataclass
class Sink:
    """A server that counts connections, keeps requests, and answers what it was told."""

    port: int
    answer: bytes = b"HTTP/1.1 204 No Content\r\n\r\n"
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)


OpenSink = Callable[..., Awaitable[Sink]]


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(
    handler: Handler,
    hosts: tuple[str, ...] = ("127.0.0.1",),
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Serve on one port of several addresses; every connection has ended when this ends."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            try:
                await handler(reader, writer)
            finally:
                writer.close()
                await writer.wait_closed()

    async with AsyncExitStack() as stack:
        for host in hosts:
            server = await stack.enter_async_context(await asyncio.start_server(handle, host, port, ssl=tls))
            port = server.sockets[0].getsockname()[1]
        yield port
        async with asyncio.timeout(READ_DEADLINE):
            await asyncio.gather(*tasks)


@pytest.fixture
async def open_sink() -> AsyncIterator[OpenSink]:
    """Open sinks on free ports; all are closed after the test."""
    async with AsyncExitStack() as stack:

        async def opened(
            hosts: tuple[str, ...] = ("127.0.0.1",),
            port: int = 0,
            tls: ssl.SSLContext | None = None,
            **settings: bytes,
        ) -> Sink:
            sink = Sink(port, **settings)

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                sink.connections += 1
                sink.requests.append(await read_request(reader))
                writer.write(sink.answer)
                await writer.drain()

            sink.port = await stack.enter_async_context(serving(serve, hosts, port, tls))
            return sink

        yield opened


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Read one request with its body."""
    async with asyncio.timeout(READ_DEADLINE):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        return head + await reader.readexactly(length)
