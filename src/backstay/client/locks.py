"""Locks: taking, releasing and looking at them from outside of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.handlers import codec
from backstay.model.schedules.records import Lock
from backstay.model.text.durations import Duration, duration

SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True)
class Locks:
    """The locks of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def acquire(self, lock_id: str, *, ttl: Duration, holder: str, tenant: str = "") -> Lock | None:
        """Take a lock that is free or has run out; None when somebody else holds it.

        The same holder gets it again, for another `ttl`.
        """
        return await self._enqueuer.stores.locks.acquire(
            tenant,
            codec.check_key("lock", lock_id),
            holder=codec.check_key("holder", holder),
            job_id=None,
            ttl=duration(ttl, field="ttl", shortest=SHORTEST),
        )

    async def extend(self, lock: Lock, *, ttl: Duration) -> bool:
        """Hold a lock for this long from now; False when it is no longer held."""
        length = duration(ttl, field="ttl", shortest=SHORTEST)
        return await self._enqueuer.stores.locks.extend(lock.tenant, lock.id, fence=lock.fence, ttl=length)

    async def release(self, lock: Lock) -> bool:
        """Give a lock up; False when it is no longer held."""
        return await self._enqueuer.stores.locks.release(lock.tenant, lock.id, fence=lock.fence)

    async def break_lock(self, lock_id: str, *, reason: str, by: str = "client", tenant: str = "") -> bool:
        """Take a lock away from its holder; False when nobody does. Its holder is not stopped by this."""
        return await self._enqueuer.stores.locks.break_lock(
            tenant, lock_id, actor=who(by), reason=why(reason)
        )

    async def get(self, lock_id: str, *, tenant: str = "") -> Lock | None:
        """The lock, if somebody holds it."""
        return await self._enqueuer.stores.locks.get(tenant, lock_id)

    async def all(self, *, tenant: str | None = None, limit: int = 200) -> list[Lock]:
        """Locks that are held, the next to run out first."""
        return await self._enqueuer.stores.locks.all(tenant=tenant, limit=limit)
