"""One reader of changes for all streams of an event loop: it gives positions, reads what is new, and hands it out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from enum import Enum

from backstay.errors import StoreError
from backstay.model.live import Change
from backstay.runtime.env import Env
from backstay.stores.contract.outbox import Outbox

LOOK_EVERY = 0.1
AGAIN_AFTER = 1.0
RENEW_EVERY = 30.0
LISTENS = timedelta(minutes=10, seconds=30)
"""A listener outlives the connection by ten minutes, so that a client that reconnects goes on where it was cut off."""
READ_AT_ONCE = 1000
MOST_WAITING = 5000
"""A stream that falls this many changes behind gets the state again instead."""


class Notice(Enum):
    """What a stream is told besides changes."""

    LOOK = "look"
    """Transactions have ended that did not know of the listener: read the state again."""
    RESET = "reset"
    """Changes were lost on the way: begin again with the state."""


class Subscription:
    """What one stream has still to hear."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._waiting: deque[Change | Notice] = deque()
        self._wake_event = asyncio.Event()

    def put(self, heard: Change | Notice) -> None:
        """Add something; a stream that is too far behind begins again."""
        if heard is Notice.RESET or len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
            heard = Notice.RESET
        self._waiting.append(heard)
        self._wake_event.set()

    def skip_looks(self) -> None:
        """Forget that the state is to be read, which is about to be."""
        self._waiting = deque(heard for heard in self._waiting if heard is not Notice.LOOK)

    async def next(self) -> Change | Notice:
        """Wait for the next thing."""
        while not self._waiting:
            self._wake_event.clear()
            await self._wake_event.wait()
        return self._waiting.popleft()


class Feed:
    """Reads changes while somebody subscribes; whatever it costs, it costs once for all streams of this loop."""

    def __init__(self, outbox: Outbox, env: Env) -> None:
        self._outbox, self._env = outbox, env
        self._by_topic: dict[str, set[Subscription]] = {}
        self._unconfirmed: dict[str, int] = {}
        self._position: int | None = None
        self._reader: asyncio.Task[None] | None = None
        self._renewed_at = 0.0
        self._confirming = asyncio.Lock()

    async def subscribe(self, topic: str) -> Subscription:
        """Hear of every change of a topic that commits from now on."""
        subscription = Subscription(topic)
        self._by_topic.setdefault(topic, set()).add(subscription)
        try:
            if self._position is None:
                self._position = (await self._outbox.look()).last
            if (await self._outbox.listen([topic], length=LISTENS))[topic] is None:
                self._unconfirmed[topic] = await self._outbox.mark()
                await self._confirm()
                subscription.skip_looks()
        except BaseException:
            self.leave(subscription)
            raise
        if self._reader is None or self._reader.done():
            self._renewed_at = self._env.monotonic()
            self._reader = asyncio.get_running_loop().create_task(self._read())
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Hear no more; the listener runs out by itself."""
        left = self._by_topic.get(subscription.topic, set())
        left.discard(subscription)
        if not left:
            self._by_topic.pop(subscription.topic, None)
            self._unconfirmed.pop(subscription.topic, None)

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader
            self._reader = None

    async def _read(self) -> None:
        while self._by_topic:
            try:
                await self._renew()
                await self._confirm()
                await self._hand_out()
                await self._env.sleep(LOOK_EVERY)
            except StoreError:
                # The database is away, or busy: streams stay open and go on when it is back.
                await self._env.sleep(AGAIN_AFTER)
        self._position = None

    async def _renew(self) -> None:
        if self._env.monotonic() - self._renewed_at < RENEW_EVERY:
            return
        since = await self._outbox.listen(list(self._by_topic), length=LISTENS)
        self._renewed_at = self._env.monotonic()
        ran_out = [topic for topic, position in since.items() if position is None]
        for topic in ran_out:
            if topic not in self._unconfirmed:
                self._unconfirmed[topic] = await self._outbox.mark()
                self._tell([topic], Notice.RESET)

    async def _confirm(self) -> None:
        async with self._confirming:
            if not self._unconfirmed:
                return
            oldest = await self._outbox.oldest()
            over = [topic for topic, mark in self._unconfirmed.items() if oldest >= mark]
            if over:
                await self._outbox.confirm(over)
                for topic in over:
                    self._unconfirmed.pop(topic, None)
                self._tell(over, Notice.LOOK)

    async def _hand_out(self) -> None:
        while True:
            look = await self._outbox.look()
            if look.has_new:
                await self._outbox.number()
            elif look.last == self._position:
                return
            assert self._position is not None
            if not look.has_all_after(self._position):
                self._position = look.last
                self._tell(list(self._by_topic), Notice.RESET)
                continue
            changes = await self._outbox.after(self._position, limit=READ_AT_ONCE)
            for change in changes:
                self._tell(change.topics, change)
            self._position = changes[-1].position if changes else look.last
            if len(changes) < READ_AT_ONCE and not look.has_new:
                return

    def _tell(self, topics: Iterable[str], heard: Change | Notice) -> None:
        for topic in topics:
            for subscription in self._by_topic.get(topic, ()):
                subscription.put(heard)
