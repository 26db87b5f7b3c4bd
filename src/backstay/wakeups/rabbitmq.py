"""Hints through RabbitMQ: a durable exchange that hands each hint to every listener."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import aio_pika
from aio_pika.abc import (
    AbstractChannel,
    AbstractConnection,
    AbstractExchange,
    AbstractQueue,
    AbstractQueueIterator,
)
from aiormq.exceptions import AMQPError

from backstay.runtime.env import Env
from backstay.wakeups.contract import ANYTHING
from backstay.wakeups.listening import OnHint, hint_of, listen_again
from backstay.wakeups.sending import HintSender

TIMEOUT = 5.0
HEARTBEAT = 15
PROBE_EVERY = 30.0
ERRORS = (AMQPError, aio_pika.exceptions.AMQPException, OSError, TimeoutError, RuntimeError)
"""The driver calls it a RuntimeError when a channel is used that has just been closed."""


class RabbitWakeups:
    """One connection to publish, with confirms, and one to listen, each opened when first used.

    A listener has a queue of its own that goes with its connection: nobody's hints pile up.
    """

    can_listen = True

    def __init__(self, url: str, exchange: str, env: Env, *, tied_again_after: float = PROBE_EVERY) -> None:
        self._url, self._name, self._env = url, exchange, env
        self._tied_again_after = tied_again_after
        self._publisher: AbstractConnection | None = None
        self._exchange: AbstractExchange | None = None
        self._sender = HintSender(self._publish, ERRORS, env)

    def may_ride(self) -> bool:
        """False: no hint can be part of a commit to another server."""
        return False

    def send(self, *hints: str) -> None:
        """Pass hints on in the background; never waits and never fails."""
        self._sender.send(*hints)

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        """Call back for every hint until cancelled, connecting again when need be."""
        await listen_again(lambda heard: self._listen(on_hint, heard), ERRORS, self._env)

    async def close(self) -> None:
        """Stop sending."""
        await self._sender.close()
        await self._forget_publisher()

    async def _publish(self, hints: Sequence[str]) -> None:
        try:
            async with asyncio.timeout(TIMEOUT):
                exchange = self._exchange or await self._open_publisher()
                for hint in hints:
                    await exchange.publish(aio_pika.Message(hint.encode()), routing_key="")
        except ERRORS:
            await self._forget_publisher()
            raise

    async def _open_publisher(self) -> AbstractExchange:
        self._publisher = await self._connect()
        channel = await self._publisher.channel(publisher_confirms=True)
        self._exchange = await self._declare(channel)
        return self._exchange

    async def _forget_publisher(self) -> None:
        connection, self._publisher, self._exchange = self._publisher, None, None
        if connection is not None:
            await connection.close()

    async def _listen(self, on_hint: OnHint, heard: Callable[[], None]) -> None:
        connection = await self._connect()
        try:
            channel = await connection.channel()
            queue = await channel.declare_queue(exclusive=True, auto_delete=True)
            await queue.bind(await self._declare(channel))
            async with queue.iterator(no_ack=True) as messages:
                heard()
                on_hint(ANYTHING)
                await self._hear(messages, channel, queue, on_hint)
        finally:
            await connection.close()
        raise ConnectionError("the broker has ended the connection")

    async def _hear(
        self, messages: AbstractQueueIterator, channel: AbstractChannel, queue: AbstractQueue, on_hint: OnHint
    ) -> None:
        """Pass messages on, and now and then tie the queue to the exchange again, which somebody may have deleted."""
        next_message = asyncio.ensure_future(anext(messages, None))
        try:
            while True:
                done, _ = await asyncio.wait([next_message], timeout=self._tied_again_after)
                if not done:
                    await queue.bind(await self._declare(channel))
                    continue
                message = next_message.result()
                if message is None:
                    return
                on_hint(hint_of(message.body))
                next_message = asyncio.ensure_future(anext(messages, None))
        finally:
            next_message.cancel()

    async def _declare(self, channel: AbstractChannel) -> AbstractExchange:
        return await channel.declare_exchange(self._name, aio_pika.ExchangeType.FANOUT, durable=True)

    async def _connect(self) -> AbstractConnection:
        return await aio_pika.connect(self._url, timeout=TIMEOUT, heartbeat=HEARTBEAT)
