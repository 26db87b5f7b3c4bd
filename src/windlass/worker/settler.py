"""Writes what attempts came to, many at a time, as fast as the database takes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from windlass.env import Env
from windlass.errors import StoreBusy, StoreError, StoreUnavailable
from windlass.events import Emit
from windlass.job import Claim
from windlass.outcome import Complete, Outcome
from windlass.records import Measured, Settled
from windlass.settlement import Settlement
from windlass.states import State
from windlass.stores.contract import Claims
from windlass.wakeups.contract import LATER, Wakeups, done_hint, queue_hint
from windlass.worker.bell import Bell
from windlass.worker.notebook import Notebook

MOST_AT_ONCE = 1000
LOCKED_AGAIN = 0.25

T = TypeVar("T")
Decide = Callable[[Claim, Outcome], Settlement]


class Settler:
    """Buffers outcomes and records them; what arrives while one batch is written makes the next batch."""

    def __init__(
        self,
        claims: Claims,
        decide: Decide,
        *,
        notebook: Notebook,
        wakeups: Wakeups,
        emit: Emit,
        env: Env,
    ) -> None:
        self._claims, self._decide, self._wakeups, self._emit, self._env = claims, decide, wakeups, emit, env
        self._notebook = notebook
        self._offered: deque[tuple[Claim, Outcome]] = deque()
        self._bell = Bell()
        self._writing: list[tuple[Claim, Outcome]] = []
        self._locked: list[tuple[Claim, Outcome]] = []
        self._measured: deque[tuple[Claim, Measured]] = deque()
        self.settled = 0
        self.lost = 0

    def offer(self, claim: Claim, outcome: Outcome) -> None:
        """Hand an outcome in, from any thread."""
        self._offered.append((claim, outcome))
        self._bell.ring()

    def measured(self, claim: Claim, used: Measured) -> None:
        """Hand in what an attempt has used, from any thread, before its outcome."""
        self._measured.append((claim, used))

    @property
    def is_idle(self) -> bool:
        """Whether everything handed in is written."""
        return not self._offered and not self._writing and not self._locked

    def unsettled(self) -> list[Claim]:
        """Claims whose outcome waits to be written."""
        return [claim for claim, _ in [*self._writing, *self._locked, *self._offered]]

    async def run(self) -> None:
        """Write outcomes until cancelled."""
        self._bell.attach()
        if self._offered:
            self._bell.ring()
        while True:
            if not await self._bell.wait(LOCKED_AGAIN if self._locked else None):
                self._writing, self._locked = self._locked, []
                await self._write(skip_locked=True)
            while self._offered:
                self._writing = [
                    self._offered.popleft() for _ in range(min(len(self._offered), MOST_AT_ONCE))
                ]
                await self._write(skip_locked=False)

    async def _write(self, *, skip_locked: bool) -> None:
        if self._measured:
            await self._write_measures()
        batch = self._writing
        if self._notebook.has_words:
            claims = [claim for claim, _ in batch]
            await self._until_written(lambda: self._notebook.last_words(claims))
        completed = [(claim, outcome.result) for claim, outcome in batch if isinstance(outcome, Complete)]
        others = [
            (claim, self._decide(claim, outcome))
            for claim, outcome in batch
            if not isinstance(outcome, Complete)
        ]
        if completed:
            done = await self._until_written(
                lambda: self._claims.complete(completed, skip_locked=skip_locked)
            )
            self._tell(done)
            self._emit("jobs.completed", jobs=len(done.done))
        if others:
            settled = await self._until_written(lambda: self._claims.settle(others, skip_locked=skip_locked))
            self._tell(settled)
            self._announce([pair for pair in others if pair[0].id in settled.done])
        self._writing = []

    async def _write_measures(self) -> None:
        measured = [self._measured.popleft() for _ in range(len(self._measured))]
        try:
            await self._claims.measure(measured)
        except StoreError as error:
            # Outcomes must not wait for figures.
            self._emit("store.failed", doing="keep what attempts have used", error=str(error))

    async def _until_written(self, write: Callable[[], Awaitable[T]]) -> T:
        # The epoch makes a settlement safe to repeat, so it is sent until the database has answered.
        pause = 0.05
        while True:
            try:
                return await write()
            except (StoreUnavailable, StoreBusy) as error:
                self._emit("store.failed", doing="settle", error=str(error))
            await self._env.sleep(pause * (0.5 + self._env.random()))
            pause = min(pause * 2, 5.0)

    def _tell(self, settled: Settled) -> None:
        self.settled += len(settled.done)
        self.lost += len(settled.lost)
        for job_id in settled.lost:
            self._emit("claim.lost", job_id=str(job_id))
        if settled.locked:
            # Somebody's transaction keeps these rows: they wait apart, so that no other job has to.
            self._locked += [pair for pair in self._writing if pair[0].id in settled.locked]
        if settled.awaited:
            self._wakeups.send(*map(done_hint, settled.awaited))

    def _announce(self, settled: Sequence[tuple[Claim, Settlement]]) -> None:
        hints = set()
        for claim, settlement in settled:
            facts = _facts(claim, settlement)
            self._emit("job.settled", **facts, state=settlement.state.value, status=settlement.attempt_status)
            if settlement.state is State.DEAD:
                self._emit("job.dead", **facts, reason=settlement.reason)
            elif settlement.state is State.SCHEDULED:
                hints.add(LATER)
            elif settlement.state is State.AVAILABLE:
                hints.add(queue_hint(claim.queue))
        if hints:
            self._wakeups.send(*hints)


def _facts(claim: Claim, settlement: Settlement) -> dict[str, Any]:
    facts = {
        "job_id": str(claim.id),
        "kind": claim.kind,
        "attempt": claim.attempt,
        "tenant": claim.tenant or None,
    }
    error = settlement.error
    if error is None:
        return facts
    details = {"name": error.type, "message": error.message, "code": error.code, "stack": error.traceback}
    return {**facts, "error_details": {name: value for name, value in details.items() if value}}
