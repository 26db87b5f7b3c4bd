"""`ctx.lock(…)`: a lock for as long as a part of a handler lasts."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from backstay.errors import LockTaken, StoreError, SyncOnLoop
from backstay.handlers import codec
from backstay.model.schedules.records import Lock, LockAnswer
from backstay.model.text.durations import Duration, duration

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

    from backstay.attempt.backend import AttemptBackend

SHORTEST = timedelta(seconds=1)


class Locking(AbstractAsyncContextManager[Lock], AbstractContextManager[Lock]):
    """Takes a lock when it is entered; with `async with`, or with `with` in a handler that is not async."""

    def __init__(
        self, backend: AttemptBackend, log: BoundLogger, lock_id: str, ttl: Duration, *, keep: bool
    ) -> None:
        self._backend, self._log, self._keep = backend, log, keep
        self._id = codec.check_key("lock", lock_id)
        self._ttl = duration(ttl, field="ttl", shortest=SHORTEST)
        self._held: Lock | None = None

    async def __aenter__(self) -> Lock:
        return self._take(await asyncio.wrap_future(self._backend.lock(self._id, self._ttl)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None and (error is not None or not self._keep):
            try:
                # A handler that is stopped gives its lock back all the same.
                await asyncio.shield(asyncio.wrap_future(self._backend.unlock(self._held)))
            except StoreError as problem:
                self._tell(problem)

    def __enter__(self) -> Lock:
        if asyncio._get_running_loop() is not None:
            raise SyncOnLoop("with ctx.lock(…)")
        return self._take(self._backend.lock(self._id, self._ttl).result())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None and (error is not None or not self._keep):
            try:
                self._backend.unlock(self._held).result()
            except StoreError as problem:
                self._tell(problem)

    def _take(self, answer: LockAnswer) -> Lock:
        if not answer.is_ours:
            raise LockTaken(self._id, holder=answer.lock.holder, expires_at=answer.lock.expires_at)
        self._held = answer.lock
        return answer.lock

    def _tell(self, problem: StoreError) -> None:
        # It runs out by itself, and what the handler has done must not be undone for it.
        self._log.warning("lock.not_released", lock=self._id, error=str(problem))
