"""Redis dispatch of one event loop, put together: what enqueues, what claims, and what keeps the lists true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import Redis

from backstay.dispatch.claims import DispatchedClaims, Named
from backstay.dispatch.enqueuing import AnnouncingEnqueuing
from backstay.dispatch.keys import LONGEST_LIST, Keys
from backstay.dispatch.lines import DUE_IN_ONE_PASS, Lines
from backstay.dispatch.link import ERRORS, RedisLink
from backstay.dispatch.mirror import Mirror
from backstay.errors import StoreUnavailable
from backstay.model.events import Emit
from backstay.model.limits.fairness import Fair
from backstay.model.records import Vitals
from backstay.model.suggestions import Rebuilt, Snapshot, Suggestion
from backstay.runtime.env import Env
from backstay.stores.contract import Claims, Enqueuing, Telling

LOOK_EVERY = 1.0
BEAT_EVERY = 10.0
MEND_EVERY = 10.0
COMPARED = 1000
"""So many of the first in line are looked for in Redis, every ten seconds."""


class Truth(Named, Protocol):
    """PostgreSQL, as far as Redis is made from it."""

    async def waiting(self, limit: int) -> list[Suggestion]:
        """The jobs that are first in line."""
        ...

    async def snapshot(self, limit: int) -> Snapshot:
        """What the lists hold when they are made anew."""
        ...


class RedisDispatch:
    """One link, and everything that goes through it."""

    def __init__(self, url: str, prefix: str, fair: Mapping[str, Fair], *, emit: Emit, env: Env) -> None:
        self._link, self._emit, self._env = RedisLink(url, emit=emit, env=env), emit, env
        self._keys = Keys(prefix)
        self.lines = Lines(self._link, self._keys, fair)
        self.mirror = Mirror(self._link, self._keys, env)

    @property
    def is_away(self) -> bool:
        """Whether Redis did not answer when it was last asked."""
        return self._link.is_away

    def enqueuing(self, stored: Enqueuing) -> Enqueuing:
        """What stores jobs and then suggests them."""
        return AnnouncingEnqueuing(stored, self.lines, self._env)

    def claims(self, claims: Claims, named: Named) -> Claims:
        """What claims jobs that Redis suggests, and tells Redis what became of them."""
        return DispatchedClaims(claims, named, self.lines, self.mirror, self._env)

    def telling(self, progress: Telling) -> Telling:
        """What keeps how far jobs have come, and tells Redis of it."""
        return MirroredProgress(progress, self.mirror)

    async def rebuild(self, truth: Truth) -> Rebuilt:
        """Make every list anew from PostgreSQL; raises StoreUnavailable if Redis does not answer."""
        snapshot = await truth.snapshot(LONGEST_LIST)
        try:
            await self.lines.refill(snapshot)
        except ERRORS as error:
            raise StoreUnavailable(f"Redis does not answer: {type(error).__name__}: {error}") from error
        rebuilt = Rebuilt(
            len(snapshot.waiting), len(snapshot.later), len(snapshot.running), len(snapshot.dead)
        )
        self._emit("dispatch.rebuilt", waiting=rebuilt.waiting, later=rebuilt.later)
        return rebuilt

    async def keep(self, truth: Truth, worker: Callable[[], tuple[str, str, Vitals]]) -> None:
        """Keep the lists true, beside a worker, until cancelled."""
        keeper = ListKeeper(self, truth, worker, env=self._env)
        try:
            while True:
                await keeper.look()
                await self._env.sleep(LOOK_EVERY)
        finally:
            await self.mirror.leave(worker()[0])

    async def mend(self, truth: Truth) -> int:
        """Put those of the first in line that Redis has lost back into their lines, if it is our turn to look."""
        if not await self._is_our_turn("mending"):
            return 0
        missing = await self.lines.missing(await truth.waiting(COMPARED))
        if missing:
            await self.lines.push(missing)
        return len(missing)

    async def rebuild_if_returned(self, truth: Truth, seen: int) -> int:
        """Make the lists anew if Redis was away and has come back; returns how often it has."""
        await self._link.run(lambda client: client.ping(), otherwise=False)
        if self._link.returned != seen and await self._is_our_turn("rebuilding"):
            await self.rebuild(truth)
        return self._link.returned

    async def close(self) -> None:
        """Close everything."""
        await self.mirror.close()
        await self._link.close()

    async def _is_our_turn(self, duty: str) -> bool:
        """True for one worker in nearly ten seconds: all of them look, and one is enough."""

        async def take(client: Redis) -> bool:
            kept = int(MEND_EVERY * 900)
            return bool(await client.set(self._keys.turn(duty), "1", nx=True, px=kept))

        return await self._link.run(take, otherwise=False)


class ListKeeper:
    """What one worker does once a second for the lists in Redis."""

    def __init__(
        self,
        dispatch: RedisDispatch,
        truth: Truth,
        worker: Callable[[], tuple[str, str, Vitals]],
        *,
        env: Env,
    ) -> None:
        self._dispatch, self._truth, self._worker, self._env = dispatch, truth, worker, env
        self._beat_at = self._mend_at = 0.0
        self._returned = 0

    async def look(self) -> None:
        """Start what is due, give a sign of life, and see whether anything was lost."""
        now = self._env.monotonic()
        self._returned = await self._dispatch.rebuild_if_returned(self._truth, self._returned)
        while (
            await self._dispatch.lines.move_due(int(self._env.wall().timestamp() * 1000)) == DUE_IN_ONE_PASS
        ):
            pass
        if now >= self._beat_at:
            self._beat_at = now + BEAT_EVERY
            name, kind, vitals = self._worker()
            self._dispatch.mirror.beat(name, _stats(kind, vitals))
        if now >= self._mend_at:
            self._mend_at = now + MEND_EVERY
            await self._dispatch.mend(self._truth)


class MirroredProgress:
    """Progress for PostgreSQL, and its percent for Redis."""

    def __init__(self, progress: Telling, mirror: Mirror) -> None:
        self._progress, self._mirror = progress, mirror

    async def write(self, told: Sequence) -> None:  # type: ignore[type-arg]  # as the contract has it
        """Keep the newest word of each claim that is still held."""
        await self._progress.write(told)
        for claim, progress in told:
            if progress.percent is not None:
                self._mirror.progressed(claim.id, progress.percent)


def _stats(kind: str, vitals: Vitals) -> dict[str, object]:
    return {
        "type": kind,
        "running": vitals.running,
        "settled": vitals.settled,
        "cpu_percent": "" if vitals.cpu_percent is None else vitals.cpu_percent,
        "rss_mb": "" if vitals.rss_mb is None else vitals.rss_mb,
    }


def take_prefix(url: str, otherwise: str) -> tuple[str, str]:
    """The address without `?prefix=…`, and what keys begin with."""
    parts = urlsplit(url)
    given = parse_qs(parts.query, keep_blank_values=True).get("prefix")
    query = "&".join(part for part in parts.query.split("&") if part and not part.startswith("prefix="))
    return parts._replace(query=query).geturl(), otherwise if given is None else given[-1]
