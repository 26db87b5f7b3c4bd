"""The backend of a handler in its own process: what its context asks for goes through the worker."""

from __future__ import annotations

import itertools
import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec

from backstay.attempt.backend import reference_time
from backstay.attempt.transaction import Ending
from backstay.errors import (
    AlreadySettled,
    BackstayError,
    ClaimLost,
    InvalidSettings,
    InvalidSignal,
    InvalidStep,
    LeaseUncertain,
    StoreError,
)
from backstay.model.database_role import DatabaseRole
from backstay.model.job import NewStep, Progress
from backstay.model.outcome import Complete, Outcome
from backstay.model.schedules.records import Lock, LockAnswer
from backstay.model.settlement import Settlement
from backstay.model.signals import Mail
from backstay.model.states import State
from backstay.runtime.env import SYSTEM
from backstay.settings.job_logs import facts_of
from backstay.worker.process.protocol import (
    Answer,
    LeaseAsked,
    LockAsked,
    Logged,
    MailAsked,
    NoteMade,
    OutcomeMessage,
    ProgressMessage,
    Settled,
    SettlementAsked,
    StepDone,
    StepsAsked,
    Task,
    UnlockAsked,
    packed,
    refuse_unsayable,
)
from backstay.worker.run.local_backend import Completions
from backstay.worker.run.outcomes import raised

TELL_EVERY = 0.2


class Channel:
    """What goes to the worker and comes back; every method may be called from any thread."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._sending = threading.Lock()
        self._numbers = itertools.count()
        self._asked: dict[int, Future[Answer]] = {}

    def say(self, word: msgspec.Struct) -> None:
        """Tell the worker something; raises OSError if it is gone."""
        with self._sending:
            self._channel.sendall(packed(word))

    def ask(self, request: Callable[[int], msgspec.Struct]) -> Future[Answer]:
        """Ask for something under a number of its own."""
        number, answered = next(self._numbers), Future[Answer]()
        self._asked[number] = answered
        self.say(request(number))
        return answered

    def hear(self, answer: Answer) -> None:
        """Take an answer of the worker's."""
        self._asked.pop(answer.number).set_result(answer)


class RemoteBackend:
    """Keeps what one attempt remembers and tells, by way of the worker."""

    def __init__(
        self, task: Task, channel: Channel, hold: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._task, self._channel, self._hold = task, channel, hold
        self.result_limit = task.result_limit
        self.completions: Callable[[], Completions] | None = None
        self.settled_as: Outcome | None = None
        self.begun = SYSTEM.monotonic()
        """When the handler was called; until then, when its process was given the attempt."""
        self._in_transaction = False
        self._last: Progress | None = None
        self._is_told = True
        self._timer: threading.Timer | None = None
        self._telling = threading.Lock()

    def results(self) -> Future[dict[str, str | None]]:
        return self._answered(self._channel.ask(StepsAsked), lambda answer: answer.results)

    def save(self, step: NewStep) -> Future[None]:
        return self._answered(self._channel.ask(lambda number: StepDone(number, step)), lambda _: None)

    def tell(self, progress: Progress) -> None:
        self._refuse_settled()
        with self._telling:
            self._last, self._is_told = progress, False
            if self._timer is None:
                self._timer = threading.Timer(TELL_EVERY, self.tell_last)
                self._timer.daemon = True
                self._timer.start()

    def tell_last(self) -> None:
        """Send the newest word, if it was not sent yet."""
        with self._telling:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._last is not None and not self._is_told and self.settled_as is None:
                self._is_told = True
                # A worker that is gone is noticed where it is listened to.
                with suppress(OSError):
                    self._channel.say(ProgressMessage(self._last))

    def note(self, facts: dict[str, Any]) -> None:
        self._refuse_settled()
        self._channel.say(NoteMade(facts=facts))

    def note_partial(self, result: str) -> None:
        self._refuse_settled()
        self._channel.say(NoteMade(partial_result=result))

    def ensure_lease(self) -> None:
        self._answered(self._channel.ask(LeaseAsked), lambda _: None).result()

    def refuse_steps(self, name: str) -> None:
        self._refuse_settled()
        if self._in_transaction:
            raise InvalidStep(name, "a step is not part of the transaction that is open here: do it before")

    def mail(self) -> Future[Mail]:
        return self._answered(self._channel.ask(MailAsked), lambda answer: answer.mail or Mail())

    def refuse_waits(self, name: str) -> None:
        self._refuse_settled()
        if self._in_transaction:
            raise InvalidSignal(name, "a transaction is open here, which a wait would undo: wait before it")

    def lock(self, lock_id: str, ttl: timedelta) -> Future[LockAnswer]:
        asked = self._channel.ask(lambda number: LockAsked(number, lock_id, ttl))
        return self._answered(asked, lambda answer: answer.lock)

    def unlock(self, lock: Lock) -> Future[bool]:
        return self._answered(self._channel.ask(lambda number: UnlockAsked(number, lock)), lambda _: True)

    def transact(self, given: object, *, is_sync: bool, role: DatabaseRole | None = None) -> Ending:
        self._refuse_settled()
        if self._in_transaction:
            raise InvalidSettings("a transaction of this job is open already: one completes it")
        if self.completions is None:
            raise InvalidSettings(
                f"{self._task.kind!r} was registered by a call, so its process knows no application: "
                "register it with @app.job"
            )
        ending = self.completions().of(
            given,
            self._task.claim,
            limit=self._task.transaction_limit,
            words=lambda: self._last,
            is_sync=is_sync,
            role=role,
        )
        self._in_transaction = True
        return ending

    def undisturbed(self) -> AbstractContextManager[None]:
        return self._hold()

    def outcome_of(self, error: Exception) -> Outcome:
        outcome = raised(error, rules=self._task.rules, now=SYSTEM.wall())
        refuse_unsayable(outcome)
        return outcome

    def decide(self, outcome: Outcome) -> Settlement:
        if isinstance(outcome, Complete):
            return Settlement(State.COMPLETED, result=outcome.result)
        asked = self._channel.ask(lambda number: SettlementAsked(number, OutcomeMessage.of(outcome)))
        settlement: Settlement = self._answered(asked, lambda answer: answer.settlement).result()
        return settlement

    def settled(self, outcome: Outcome) -> None:
        self.settled_as = outcome
        with suppress(OSError):
            self._channel.say(Settled(OutcomeMessage.of(outcome)))

    def transaction_is_over(self) -> None:
        self._in_transaction = False

    def now(self) -> datetime:
        return reference_time(self._task.args, SYSTEM.wall())

    def monotonic(self) -> float:
        return SYSTEM.monotonic()

    def elapsed(self) -> float:
        return SYSTEM.monotonic() - self.begun

    def _refuse_settled(self) -> None:
        if self.settled_as is not None:
            raise AlreadySettled(self._task.job_id)

    def _answered(self, asked: Future[Answer], read: Callable[[Answer], Any]) -> Future[Any]:
        told: Future[Any] = Future()

        def hear(future: Future[Answer]) -> None:
            answer = future.result()
            if told.cancelled():
                return
            refusal = _refusal(answer, self._task.job_id, self._task.lease)
            if refusal is None:
                told.set_result(read(answer))
            else:
                told.set_exception(refusal)

        asked.add_done_callback(hear)
        return told


def _refusal(answer: Answer, job_id: object, lease: timedelta) -> BackstayError | None:
    if answer.silent_for is not None:
        return LeaseUncertain(job_id, silent_for=answer.silent_for, lease=lease)
    if answer.is_lost:
        return ClaimLost([job_id])
    return None if answer.error is None else StoreError(answer.error)


class Forwarding(logging.Handler):
    """Sends the lines of `ctx.log` to the worker, whose log they belong in."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        facts = facts_of(record)
        if record.exc_info:
            facts["exception"] = logging.Formatter().formatException(record.exc_info)
        with suppress(OSError):
            self._channel.say(Logged(record.levelno, str(record.msg), facts))
