"""Redis dispatch of one event loop, put together: what enqueues, what claims, and what keeps the lists true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redis.asyncio import Redis

from backstay.dispatch.claims import DispatchedClaims
from backstay.dispatch.contract import Named, Truth
from backstay.dispatch.enqueuing import AnnouncingEnqueuing
from backstay.dispatch.keeper import MEND_EVERY, Describe, ListKeeper
from backstay.dispatch.keys import LONGEST_LIST, Keys
from backstay.dispatch.lines import Lines
from backstay.dispatch.link import ERRORS, RedisLink
from backstay.dispatch.mirror import Mirror
from backstay.dispatch.progress import MirroredProgress
from backstay.dispatch.suggester import Suggester
from backstay.errors import StoreUnavailable
from backstay.model.events import Emit
from backstay.model.limits.fairness import Fair
from backstay.model.suggestions import Rebuilt
from backstay.runtime.env import Env
from backstay.stores.contract import Claims, Enqueuing, Telling

COMPARED = 1000
"""So many of the first in line are looked for in Redis, every ten seconds."""


class RedisDispatch:
    """One link, and everything that goes through it."""

    def __init__(self, url: str, prefix: str, fair: Mapping[str, Fair], *, emit: Emit, env: Env) -> None:
        self._link, self._emit, self._env = RedisLink(url, emit=emit, env=env), emit, env
        self._keys = Keys(prefix)
        self._lines = Lines(self._link, self._keys, fair)
        self._suggester = Suggester(self._lines)
        self._mirror = Mirror(self._link, self._keys, env)

    def enqueuing(self, stored: Enqueuing) -> Enqueuing:
        """What stores jobs and then suggests them."""
        return AnnouncingEnqueuing(stored, self._suggester, self._env)

    def claims(self, claims: Claims, named: Named) -> Claims:
        """What claims jobs that Redis suggests, and tells Redis what became of them."""
        return DispatchedClaims(claims, named, self._lines, self._mirror, self._env)

    def telling(self, progress: Telling) -> Telling:
        """What keeps how far jobs have come, and tells Redis of it."""
        return MirroredProgress(progress, self._mirror)

    async def rebuild(self, truth: Truth) -> Rebuilt:
        """Make every list anew from PostgreSQL; raises StoreUnavailable if Redis does not answer."""
        snapshot = await truth.snapshot(LONGEST_LIST)
        try:
            await self._lines.refill(snapshot)
        except ERRORS as error:
            raise StoreUnavailable(f"Redis does not answer: {type(error).__name__}: {error}") from error
        rebuilt = Rebuilt(
            len(snapshot.waiting), len(snapshot.later), len(snapshot.running), len(snapshot.dead)
        )
        self._emit("dispatch.rebuilt", waiting=rebuilt.waiting, later=rebuilt.later)
        return rebuilt

    async def keep(self, truth: Truth, worker: Describe) -> None:
        """Keep the lists true, beside a worker, until cancelled."""
        repairs = OurRepairs(self, truth, self._link)
        await ListKeeper(self._lines, self._mirror, repairs, worker, self._env).keep()

    async def mend(self, truth: Truth) -> int:
        """Put those of the first in line that Redis has lost back into their lines, if it is our turn to look."""
        if not await self.is_our_turn("mending"):
            return 0
        missing = await self._lines.missing(await truth.waiting(COMPARED))
        if missing:
            await self._lines.push(missing)
        return len(missing)

    async def close(self) -> None:
        """Close everything."""
        await self._suggester.close()
        await self._mirror.close()
        await self._link.close()

    async def is_our_turn(self, duty: str) -> bool:
        """True for one worker in nearly ten seconds: all of them look, and one is enough."""

        async def take(client: Redis) -> bool:
            kept = int(MEND_EVERY * 900)
            return bool(await client.set(self._keys.turn(duty), "1", nx=True, px=kept))

        return await self._link.run(take, otherwise=False)


@dataclass(frozen=True, slots=True)
class OurRepairs:
    """Repairs from one truth."""

    dispatch: RedisDispatch
    truth: Truth
    link: RedisLink

    async def mend(self) -> int:
        """Put back those of the first in line that are missing; returns how many."""
        return await self.dispatch.mend(self.truth)

    async def rebuild_if_returned(self, seen: int) -> int:
        """Make the lists anew if Redis was away and has come back; returns how often it has."""
        await self.link.run(lambda client: client.ping(), otherwise=False, may_find_it_back=True)
        if self.link.returned != seen and await self.dispatch.is_our_turn("rebuilding"):
            await self.dispatch.rebuild(self.truth)
        return self.link.returned
