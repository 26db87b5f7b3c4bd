"""Takes jobs back from workers that are gone, but only when time itself can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from backstay.client.decider import StoredDecider
from backstay.maintenance.figure_writer import FigureWriter
from backstay.model.classify import ErrorClass
from backstay.model.events import Emit
from backstay.model.figures import Measure
from backstay.model.outcome import Crashed, ErrorInfo, Fail, Outcome, Snoozed
from backstay.model.records import MaintenanceLook, Seized
from backstay.model.states import State
from backstay.model.text.error_text import safe_text
from backstay.model.text.redaction import redact_text
from backstay.runtime.env import Env
from backstay.stores.contract import Claims
from backstay.wakeups.contract import LATER, Wakeups, done_hint, freed_hints, queue_hint

HOLD_FOR = timedelta(seconds=30)
OVERRUN = timedelta(seconds=30)
BATCH = 500
JUMP = 5.0


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What the rescuer knew of time at one look: the database's and its own."""

    database_now: datetime
    reconnections: int
    monotonic: float


def why_distrust(before: ClockReading, now: ClockReading) -> str | None:
    """Why expired leases may not have been given up; None if they were.

    After the database or the clock was away every lease looks expired, although its worker may well live.
    """
    if now.reconnections != before.reconnections:
        return "the connection to the database was lost"
    drift = (now.database_now - before.database_now).total_seconds() - (now.monotonic - before.monotonic)
    if abs(drift) > JUMP:
        return f"the clock jumped by {drift:+.0f} s"
    return None


class Rescuer:
    """Seizes expired claims and settles them by the same decision as any failure."""

    def __init__(
        self,
        claims: Claims,
        decider: StoredDecider,
        *,
        reconnections: Callable[[], int],
        lease: Callable[[], timedelta],
        figures: FigureWriter,
        wakeups: Wakeups,
        emit: Emit,
        env: Env,
    ) -> None:
        self._figures = figures
        self._claims, self._decider, self._reconnections, self._lease = claims, decider, reconnections, lease
        self._wakeups, self._emit, self._env = wakeups, emit, env
        self._before: ClockReading | None = None
        self._reason: str | None = None
        self._wait_until = float("-inf")

    def compare(self, database_now: datetime) -> None:
        """Compare the database's time with our own.

        At every tick and in every worker: a jump often makes another worker the leader, and only one that has
        compared before can tell.
        """
        now = ClockReading(database_now, self._reconnections(), self._env.monotonic())
        reason = None if self._before is None else why_distrust(self._before, now)
        self._before = now
        if reason is not None:
            self._distrust(reason, self._lease())

    async def sweep(self, look: MaintenanceLook) -> int:
        """Rescue what has expired, unless there is reason to wait; returns how many jobs."""
        up_for, lease = look.now - look.started_at, self._lease()
        if up_for < lease:
            self._distrust("the database was started less than a lease ago", lease - up_for)
        if not look.has_expired:
            return 0
        if self._env.monotonic() < self._wait_until:
            if self._reason is not None:
                self._emit("rescue.postponed", reason=self._reason)
                self._reason = None
            return 0
        # By the time that was compared: the clock may have jumped between that and the look.
        return await self._rescue(look.now if self._before is None else self._before.database_now)

    async def take_over(self, worker: str) -> int:
        """Rescue everything that a worker holds whose process is gone; that needs no clock, so it waits for none."""
        total = 0
        while seized := await self._claims.seize_worker(worker, limit=BATCH, hold_for=HOLD_FOR):
            await self.settle(seized)
            total += len(seized)
        return total

    async def settle_reported(self) -> None:
        """Decide about attempts that were worked from SQL, by the rules for any other; that needs no clock either."""
        while found := await self._claims.reported(limit=BATCH):
            done = [one for one in found if one.outcome["type"] == "completed"]
            ended = [one for one in found if one.outcome["type"] != "completed"]
            results = [(one.claim, _result(one.outcome)) for one in done]
            settlements = [
                (one.claim, await self._decider.decide(one.claim, _told(one.outcome))) for one in ended
            ]
            settled = [
                *([await self._claims.complete(results, reacts=True)] if results else []),
                *([await self._claims.settle(settlements)] if settlements else []),
            ]
            await self._claims.forget_reports()
            hints = {LATER, *(queue_hint(claim.queue) for claim, _ in settlements)}
            for part in settled:
                hints |= {done_hint(job_id) for job_id in part.awaited} | freed_hints(part.freed)
            self._wakeups.send(*hints)
            if any(part.locked for part in settled):
                return

    def _distrust(self, reason: str, wait: timedelta) -> None:
        until = self._env.monotonic() + wait.total_seconds()
        # A little later by rounding is still the same wait, which was reported already.
        if until > self._wait_until + 1:
            self._reason, self._wait_until = reason, until

    async def _rescue(self, as_of: datetime) -> int:
        total = 0
        while seized := await self._claims.seize(
            limit=BATCH, hold_for=HOLD_FOR, overrun=OVERRUN, as_of=as_of
        ):
            await self.settle(seized)
            total += len(seized)
        return total

    async def settle(self, seized: list[Seized]) -> None:
        """Decide about claims that were taken over, and tell who waits for them."""
        settlements = [(one.claim, await self._decider.decide(one.claim, _outcome(one))) for one in seized]
        settled = await self._claims.settle(settlements)
        self._figures.note(Measure.CRASHED, (one.claim for one in seized if one.ran_out))
        self._figures.note(Measure.DEAD, (claim for claim, end in settlements if end.state is State.DEAD))
        hints = {done_hint(job_id) for job_id in settled.awaited} | freed_hints(settled.freed)
        for claim, settlement in settlements:
            self._emit(
                "job.rescued",
                job_id=str(claim.id),
                kind=claim.kind,
                worker=claim.worker,
                state=settlement.state.value,
            )
            hints.add(queue_hint(claim.queue) if settlement.state is State.AVAILABLE else LATER)
        self._wakeups.send(*hints)


def _result(told: dict[str, Any]) -> str | None:
    result = told["result"]
    return None if result is None else msgspec.json.encode(result).decode()


def _told(told: dict[str, Any]) -> Outcome:
    """What a program that works from SQL said, as an outcome; its words are made safe like those of an exception."""
    if told["type"] == "snoozed":
        return Snoozed(timedelta(seconds=told["delay"]))
    error = ErrorInfo(
        safe_text(told["error_type"]), safe_text(redact_text(told["message"])), told["error_class"]
    )
    wait = told["retry_in"]
    return Fail(error, retry_after=None if wait is None else timedelta(seconds=wait))


def _outcome(seized: Seized) -> Outcome:
    if seized.missed_deadline:
        error = ErrorInfo("DeadlineMissed", "the job was not finished by its deadline", ErrorClass.TIMEOUT)
        return Fail(error, hopeless=True, timed_out=True)
    if seized.ran_out:
        return Crashed(seized.claim.worker)
    message = f"the handler ran on after its time limit of {seized.claim.timeout.total_seconds():g} s"
    return Fail(ErrorInfo("TimeoutError", message, ErrorClass.TIMEOUT), timed_out=True)
