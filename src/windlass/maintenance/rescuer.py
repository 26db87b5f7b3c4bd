"""Takes jobs back from workers that are gone, but only when time itself can be trusted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from windlass.classify import ErrorClass
from windlass.env import Env
from windlass.events import Emit
from windlass.job import Claim
from windlass.outcome import Crashed, ErrorInfo, Fail, Outcome
from windlass.records import Look, Seized
from windlass.settlement import Settlement
from windlass.states import State
from windlass.stores.contract import Claims
from windlass.wakeups.contract import LATER, Wakeups, done_hint, freed_hints, queue_hint

HOLD_FOR = timedelta(seconds=30)
OVERRUN = timedelta(seconds=30)
BATCH = 500
JUMP = 5.0

Decide = Callable[[Claim, Outcome], Awaitable[Settlement]]


@dataclass(frozen=True, slots=True)
class Glance:
    """What the rescuer knew of time at one look: the database's and its own."""

    database_now: datetime
    reconnections: int
    monotonic: float


def why_distrust(before: Glance, now: Glance) -> str | None:
    """The reason not to believe that expired leases were really given up; None when there is none.

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
        decide: Decide,
        *,
        reconnections: Callable[[], int],
        lease: Callable[[], timedelta],
        wakeups: Wakeups,
        emit: Emit,
        env: Env,
    ) -> None:
        self._claims, self._decide, self._reconnections, self._lease = claims, decide, reconnections, lease
        self._wakeups, self._emit, self._env = wakeups, emit, env
        self._before: Glance | None = None
        self._reason: str | None = None
        self._wait_until = float("-inf")

    def compare(self, database_now: datetime) -> None:
        """Compare the database's time with our own.

        At every tick and in every worker: a jump often makes another worker the leader, and only one that has
        compared before can tell.
        """
        now = Glance(database_now, self._reconnections(), self._env.monotonic())
        reason = None if self._before is None else why_distrust(self._before, now)
        self._before = now
        if reason is not None:
            self._distrust(reason, self._lease())

    async def sweep(self, look: Look) -> int:
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

    def _distrust(self, reason: str, wait: timedelta) -> None:
        until = self._env.monotonic() + wait.total_seconds()
        # A little later by rounding is still the same wait, which was told of already.
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
        settlements = [(one.claim, await self._decide(one.claim, _outcome(one))) for one in seized]
        settled = await self._claims.settle(settlements)
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


def _outcome(seized: Seized) -> Outcome:
    if seized.missed_deadline:
        error = ErrorInfo("DeadlineMissed", "the job was not finished by its deadline", ErrorClass.TIMEOUT)
        return Fail(error, hopeless=True, timed_out=True)
    if seized.ran_out:
        return Crashed(seized.claim.worker)
    message = f"the handler ran on after its time limit of {seized.claim.timeout.total_seconds():g} s"
    return Fail(ErrorInfo("TimeoutError", message, ErrorClass.TIMEOUT), timed_out=True)
