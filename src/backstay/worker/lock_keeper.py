"""Takes and gives back locks for handlers, on the engine's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import TypeVar

from backstay.errors import BackstayError, StoreBusy, StoreUnavailable
from backstay.model.job import Claim
from backstay.model.schedules.records import Lock, LockAnswer
from backstay.runtime.env import Env
from backstay.stores.contract import Locks

T = TypeVar("T")

PAUSES = (0.1, 0.4, 1.6)


class LockKeeper:
    """Asked from any thread; what it does is safe to do again, so a lost reply costs nothing."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._locks: Locks | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, locks: Locks) -> None:
        """Use this store, on the loop that runs here."""
        self._locks, self._loop = locks, asyncio.get_running_loop()

    def acquire(self, claim: Claim, lock_id: str, ttl: timedelta) -> Future[LockAnswer]:
        """Take a lock for a job; the answer tells who has it."""
        holder = f"{claim.kind} {claim.id} {claim.epoch}"

        async def take(locks: Locks) -> LockAnswer:
            while True:
                taken = await locks.acquire(claim.tenant, lock_id, holder=holder, job_id=claim.id, ttl=ttl)
                if taken is not None:
                    return LockAnswer(taken, is_ours=True)
                if (other := await locks.get(claim.tenant, lock_id)) is not None:
                    return LockAnswer(other, is_ours=False)

        return self._do(take)

    def release(self, lock: Lock) -> Future[bool]:
        """Give a lock back; False when it was no longer held."""
        return self._do(lambda locks: locks.release(lock.tenant, lock.id, fence=lock.fence))

    def _do(self, what: Callable[[Locks], Awaitable[T]]) -> Future[T]:
        if self._loop is None or self._locks is None or self._loop.is_closed():
            refused: Future[T] = Future()
            refused.set_exception(
                BackstayError("the worker does not run: it can neither take nor give back locks")
            )
            return refused
        return asyncio.run_coroutine_threadsafe(self._until_answered(what, self._locks), self._loop)

    async def _until_answered(self, what: Callable[[Locks], Awaitable[T]], locks: Locks) -> T:
        for pause in PAUSES:
            try:
                return await what(locks)
            except (StoreUnavailable, StoreBusy):
                await self._env.sleep(pause)
        return await what(locks)
