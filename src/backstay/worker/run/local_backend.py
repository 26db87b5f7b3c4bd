"""The backend of an attempt that runs in this worker: what its context asks for is done by the engine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from backstay.attempt.backend import reference_time
from backstay.attempt.transaction import Ending
from backstay.client.decider import Decider
from backstay.errors import (
    AlreadySettled,
    ClaimLost,
    InvalidSettings,
    InvalidSignal,
    InvalidStep,
    LeaseUncertain,
)
from backstay.handlers import codec
from backstay.model.classify import ErrorRules
from backstay.model.database_role import DatabaseRole
from backstay.model.events import Emit
from backstay.model.job import Claim, NewStep, Progress
from backstay.model.outcome import Outcome
from backstay.model.schedules.records import Lock, LockAnswer
from backstay.model.settlement import Settlement
from backstay.model.signals import Mail
from backstay.runtime.env import Env
from backstay.worker.run.outcomes import Noted, raised, with_notes
from backstay.worker.step_writer import StepWriter

if TYPE_CHECKING:
    from backstay.worker.run.running import Running

UNCERTAIN_AFTER = 5 / 6
"""The part of a lease without a renewal after which nobody should rely on it."""


class Completions(Protocol):
    """Makes transactions that end jobs."""

    def of(
        self,
        given: object,
        claim: Claim,
        *,
        limit: timedelta,
        words: Callable[[], Progress | None],
        is_sync: bool,
        role: DatabaseRole | None = None,
    ) -> Ending:
        """One for this claim."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the contexts of one worker's attempts share."""

    step_writer: StepWriter
    completions: Callable[[], Completions]
    transaction_limit: Callable[[Claim], timedelta]
    decider: Decider
    rules: ErrorRules
    result_limit: int
    home: str
    """The URL of the database where the jobs are."""
    emit: Emit
    env: Env


class WorkerDesk:
    """Keeps what one attempt remembers and tells, under its claim."""

    def __init__(self, running: Running, services: Services) -> None:
        self._running, self._services = running, services
        self.result_limit = services.result_limit
        self._in_transaction = False

    def results(self) -> Future[dict[str, str | None]]:
        return self._services.step_writer.results(self._running.claim)

    def save(self, step: NewStep) -> Future[None]:
        return self._services.step_writer.save(self._running.claim, step)

    def tell(self, progress: Progress) -> None:
        self._refuse_settled()
        if not self._running.is_abandoned:
            self._services.step_writer.tell(self._running.claim, progress)

    def note(self, facts: dict[str, Any]) -> None:
        self._refuse_settled()
        self._noted().add(facts)

    def note_partial(self, result: str) -> None:
        self._refuse_settled()
        self._noted().partial_result = codec.decode(result)

    def _noted(self) -> Noted:
        if self._running.noted is None:
            self._running.noted = Noted()
        return self._running.noted

    def ensure_lease(self) -> None:
        claim = self._running.claim
        if self._running.is_abandoned:
            raise ClaimLost([claim.id])
        silent_for = self._services.env.monotonic() - self._running.renewed
        if silent_for > claim.lease.total_seconds() * UNCERTAIN_AFTER:
            raise LeaseUncertain(claim.id, silent_for=silent_for, lease=claim.lease)

    def refuse_steps(self, name: str) -> None:
        self._refuse_settled()
        if self._in_transaction:
            raise InvalidStep(name, "a step is not part of the transaction that is open here: do it before")

    def mail(self) -> Future[Mail]:
        return self._services.step_writer.mail(self._running.claim)

    def refuse_waits(self, name: str) -> None:
        self._refuse_settled()
        if self._in_transaction:
            raise InvalidSignal(name, "a transaction is open here, which a wait would undo: wait before it")

    def lock(self, lock_id: str, ttl: timedelta) -> Future[LockAnswer]:
        self.ensure_lease()
        return self._services.step_writer.locks.acquire(self._running.claim, lock_id, ttl)

    def unlock(self, lock: Lock) -> Future[bool]:
        return self._services.step_writer.locks.release(lock)

    def transact(self, given: object, *, is_sync: bool, role: DatabaseRole | None = None) -> Ending:
        self._refuse_settled()
        if self._in_transaction:
            raise InvalidSettings("a transaction of this job is open already: one completes it")
        claim, services = self._running.claim, self._services
        ending = services.completions().of(
            given,
            claim,
            limit=services.transaction_limit(claim),
            words=lambda: services.step_writer.pending_progress(claim.guard),
            is_sync=is_sync,
            role=role,
        )
        self._in_transaction = True
        return ending

    def undisturbed(self) -> AbstractContextManager[None]:
        return nullcontext()

    def outcome_of(self, error: Exception) -> Outcome:
        return raised(error, rules=self._services.rules, now=self._services.env.wall())

    def decide(self, outcome: Outcome) -> Settlement:
        return self._services.decider.decide(self._running.claim, with_notes(outcome, self._running.noted))

    def settled(self, outcome: Outcome) -> None:
        self._running.settled = outcome
        self._services.step_writer.forget(self._running.claim.guard)

    def transaction_is_over(self) -> None:
        self._in_transaction = False

    def _refuse_settled(self) -> None:
        if self._running.settled is not None:
            raise AlreadySettled(self._running.claim.id)

    def now(self) -> datetime:
        return reference_time(self._running.claim.args, self._services.env.wall())

    def monotonic(self) -> float:
        return self._services.env.monotonic()

    def elapsed(self) -> float:
        started = self._running.started
        return 0.0 if started is None else self._services.env.monotonic() - started
