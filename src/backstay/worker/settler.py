"""Writes what attempts came to, many at a time, as fast as the database takes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from backstay.client.decider import Decider
from backstay.errors import StoreBusy, StoreError, StoreUnavailable
from backstay.model.classify import ErrorClass
from backstay.model.events import Emit
from backstay.model.figures import Measure, Tallied, counted
from backstay.model.job import Claim
from backstay.model.outcome import Complete, ErrorInfo, Fail, Outcome, Snoozed, Stopped, Waiting
from backstay.model.records import Measured, Settled
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.model.text.error_text import safe_text
from backstay.runtime.env import Env
from backstay.stores.contract import Claims
from backstay.wakeups.contract import LATER, Wakeups, done_hint, freed_hints, queue_hint
from backstay.worker.batches import take_batch
from backstay.worker.job_lines import JobLines
from backstay.worker.step_writer import StepWriter
from backstay.worker.wake_event import WakeEvent

MOST_AT_ONCE = 1000
LOCKED_AGAIN = 0.25
REFUSED_AGAIN = 5.0
_SAID_BY_HANDLERS = (Complete, Snoozed, Stopped, Waiting)

T = TypeVar("T")
Ended = tuple[Claim, Outcome]


class Settler:
    """Buffers outcomes and records them; what arrives while one batch is written makes the next batch."""

    def __init__(
        self,
        claims: Claims,
        decider: Decider,
        *,
        step_writer: StepWriter,
        wakeups: Wakeups,
        emit: Emit,
        env: Env,
        lines: JobLines | None = None,
        reacting: frozenset[str] = frozenset(),
    ) -> None:
        self._lines = lines
        self._reacting = reacting
        self._claims, self._decider, self._wakeups, self._emit, self._env = (
            claims,
            decider,
            wakeups,
            emit,
            env,
        )
        self._step_writer = step_writer
        self._offered: deque[Ended] = deque()
        self._wake_event = WakeEvent()
        self._writing: list[Ended] = []
        # What could not be written waits apart, each until its time, so that no other job has to.
        self._apart: list[tuple[float, Ended]] = []
        self._measured: deque[tuple[Claim, Measured]] = deque()
        self._dead: list[Tallied] = []
        self.settled = 0
        self.lost = 0

    def offer(self, claim: Claim, outcome: Outcome) -> None:
        """Hand an outcome in, from any thread."""
        self._offered.append((claim, outcome))
        self._wake_event.ring()

    def measured(self, claim: Claim, used: Measured) -> None:
        """Hand in what an attempt has used, from any thread, before its outcome."""
        self._measured.append((claim, used))

    def take_deaths(self) -> list[Tallied]:
        """Return the jobs that have died here since the last time, for the figures."""
        dead, self._dead = self._dead, []
        return dead

    @property
    def is_idle(self) -> bool:
        """Whether everything handed in is written."""
        return not self._offered and not self._writing and not self._apart

    def unsettled(self) -> list[Claim]:
        """Claims whose outcome waits to be written."""
        apart = [ended for _, ended in self._apart]
        return [claim for claim, _ in [*self._writing, *apart, *self._offered]]

    async def run(self) -> None:
        """Write outcomes until cancelled."""
        self._wake_event.attach()
        # Of a run that an error has ended; whatever of it is written already may be written again.
        self._offered.extendleft(reversed(self._writing))
        self._writing = []
        if self._offered:
            self._wake_event.ring()
        while True:
            await self._wake_event.wait(self._until_again())
            self._writing = self._due()
            if self._writing:
                await self._write(skip_locked=True)
            while self._offered:
                self._writing = take_batch(self._offered, most=MOST_AT_ONCE)
                await self._write(skip_locked=False)

    def _until_again(self) -> float | None:
        if not self._apart:
            return None
        return max(0.0, min(due for due, _ in self._apart) - self._env.monotonic())

    def _due(self) -> list[Ended]:
        now = self._env.monotonic()
        due = deque(ended for at, ended in self._apart if at <= now)
        batch = take_batch(due, most=MOST_AT_ONCE)
        later = [(at, ended) for at, ended in self._apart if at > now]
        self._apart = [*((now, ended) for ended in due), *later]
        return batch

    def _set_apart(self, ended: Ended, *, seconds: float) -> None:
        self._apart.append((self._env.monotonic() + seconds, ended))

    async def _write(self, *, skip_locked: bool) -> None:
        if self._measured:
            await self._write_measures()
        batch = self._writing
        if self._step_writer.has_words:
            await self._write_pending_progress([claim for claim, _ in batch])
        completed = [pair for pair in batch if isinstance(pair[1], Complete)]
        others = [pair for pair in batch if not isinstance(pair[1], Complete)]
        for part in (*self._by_reaction(completed), others):
            try:
                await self._write_part(part, skip_locked=skip_locked)
            except Exception:  # One outcome that nobody can write must not keep the others.
                await self._write_one_by_one(part)
        self._writing = []

    async def _write_part(self, part: Sequence[Ended], *, skip_locked: bool) -> None:
        """Write outcomes that are all completions, with reactions or without, or none."""
        completed = [(claim, outcome.result) for claim, outcome in part if isinstance(outcome, Complete)]
        if completed:
            reacts = part[0][0].kind in self._reacting
            done = await self._until_written(
                lambda: self._claims.complete(completed, reacts=reacts, skip_locked=skip_locked)
            )
            self._tell(done)
            if self._lines is not None:
                self._lines.stored(claim for claim, _ in completed if claim.id in done.done)
        elif part:
            others = [(claim, self._decider.decide(claim, outcome)) for claim, outcome in part]
            settled = await self._until_written(lambda: self._claims.settle(others, skip_locked=skip_locked))
            self._tell(settled)
            self._announce([pair for pair in others if pair[0].id in settled.done])

    def _by_reaction(self, completed: list[Ended]) -> tuple[list[Ended], ...]:
        if not self._reacting:
            return (completed,)
        return (
            [pair for pair in completed if pair[0].kind not in self._reacting],
            [pair for pair in completed if pair[0].kind in self._reacting],
        )

    async def _write_one_by_one(self, part: Sequence[Ended]) -> None:
        """Find out which outcomes the database refuses, and write the others."""
        for claim, outcome in part:
            try:
                await self._write_part([(claim, outcome)], skip_locked=True)
            except Exception as error:
                self._emit("outcome.refused", job_id=str(claim.id), kind=claim.kind, error=str(error))
                await self._write_refused(claim, outcome, error)

    async def _write_refused(self, claim: Claim, outcome: Outcome, error: Exception) -> None:
        # If the database takes a failure of this job, it was what the handler said that it could not take.
        # If not, nothing is known against the job: its outcome is kept, and its lease with it.
        if isinstance(outcome, _SAID_BY_HANDLERS):
            told = ErrorInfo(type(error).__name__, safe_text(str(error)), ErrorClass.RESULT_INVALID)
            failure = Fail(told, hopeless=True)
            try:
                await self._write_part([(claim, failure)], skip_locked=True)
            except Exception as refused:
                self._emit("outcome.refused", job_id=str(claim.id), kind=claim.kind, error=str(refused))
            else:
                return
        self._set_apart((claim, outcome), seconds=REFUSED_AGAIN)

    async def _write_pending_progress(self, claims: Sequence[Claim]) -> None:
        try:
            await self._until_written(lambda: self._step_writer.flush_progress(claims))
        except StoreError as error:
            # Outcomes must not wait for what was told on the way.
            self._emit("store.failed", doing="write progress", error=str(error))

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
            # Somebody's transaction keeps these rows.
            for pair in self._writing:
                if pair[0].id in settled.locked:
                    self._set_apart(pair, seconds=LOCKED_AGAIN)
        if settled.awaited:
            self._wakeups.send(*map(done_hint, settled.awaited))
        if settled.freed:
            self._wakeups.send(*freed_hints(settled.freed))

    def _announce(self, settled: Sequence[tuple[Claim, Settlement]]) -> None:
        hints = set()
        for claim, settlement in settled:
            facts = _facts(claim, settlement)
            # What went wrong is told by the event that is about nothing else.
            plain = {name: fact for name, fact in facts.items() if name != "error_details"}
            self._emit("job.settled", **plain, state=settlement.state.value, status=settlement.attempt_status)
            if settlement.refusal is not None:
                self._emit("job.misfit", **facts)
            elif settlement.error is not None and settlement.state is not State.DEAD:
                self._emit("job.failed", **facts, state=settlement.state.value)
            if settlement.state is State.DEAD:
                self._emit("job.dead", **facts, reason=settlement.reason)
                self._dead.append(counted(Measure.DEAD, claim))
            elif settlement.state is State.SCHEDULED:
                hints.add(LATER)
            elif settlement.state is State.AVAILABLE:
                hints.add(queue_hint(claim.queue))
            elif settlement.wait is not None:
                # The signal may have come in between, so that the job can be claimed already.
                hints |= (
                    {queue_hint(claim.queue), LATER} if settlement.wait.timeout else {queue_hint(claim.queue)}
                )
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
    told = {
        "name": error.type,
        "message": error.message,
        "code": error.code,
        "details": error.details,
        "stack": error.traceback,
    }
    return {**facts, "error_details": {name: value for name, value in told.items() if value}}
