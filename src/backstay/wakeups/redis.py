"""Hints through Redis, by publish and subscribe: for where nobody can LISTEN, such as behind a transaction pooler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from backstay.runtime.env import Env
from backstay.wakeups.contract import ANYTHING
from backstay.wakeups.listening import OnHint, hint_of, listen_again
from backstay.wakeups.sending import HintSender

TIMEOUT = 5.0
PROBE_EVERY = 30.0
ERRORS = (RedisError, OSError, TimeoutError)


class RedisWakeups:
    """One connection to publish and one to subscribe, each opened when first used.

    Redis keeps nothing of it: what was published while nobody listened is found by looking once.
    """

    can_listen = True

    def __init__(self, url: str, channel: str, env: Env) -> None:
        self._url, self._channel, self._env = url, channel, env
        self._publisher: Redis | None = None
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
        if self._publisher is not None:
            await self._publisher.aclose()
            self._publisher = None

    async def _publish(self, hints: Sequence[str]) -> None:
        if self._publisher is None:
            self._publisher = self._connect()
        pipeline = self._publisher.pipeline(transaction=False)
        for hint in hints:
            pipeline.publish(self._channel, hint)
        await pipeline.execute()

    async def _listen(self, on_hint: OnHint, heard: Callable[[], None]) -> None:
        connection = self._connect()
        try:
            subscription = connection.pubsub(ignore_subscribe_messages=True)
            await subscription.subscribe(self._channel)
            heard()
            on_hint(ANYTHING)
            while True:
                message = await subscription.get_message(timeout=PROBE_EVERY)
                if message is not None and message["type"] == "message":
                    on_hint(hint_of(message["data"]))
        finally:
            await connection.aclose()

    def _connect(self) -> Redis:
        return Redis.from_url(
            self._url,
            socket_connect_timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            socket_keepalive=True,
            # A link that died in silence answers no ping.
            health_check_interval=PROBE_EVERY,
        )
