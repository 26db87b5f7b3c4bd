"""Does for a handler in its own process what its context asks of the worker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any

from backstay.attempt.backend import AttemptBackend, at_once
from backstay.errors import BackstayError, ClaimLost, LeaseUncertain
from backstay.model.schedules.records import LockAnswer
from backstay.model.settlement import Settlement
from backstay.model.signals import Mail
from backstay.settings.job_logs import relay
from backstay.worker.process.protocol import (
    Answer,
    LeaseAsked,
    LockAsked,
    Logged,
    MailAsked,
    NoteMade,
    ProgressMessage,
    Request,
    Settled,
    SettlementAsked,
    StepDone,
    StepsAsked,
    UnlockAsked,
    packed,
)


class PendingRequests:
    """What one attempt has asked for and not been told yet."""

    def __init__(self, backend: AttemptBackend, send: Callable[[bytes], None]) -> None:
        self._backend, self._send = backend, send
        self._waiting: dict[Future[Any], int] = {}

    def take(self, request: Request) -> None:
        """Do it, or see to it that it is done."""
        match request:
            case ProgressMessage(progress):
                self._backend.tell(progress)
            case NoteMade(facts, None):
                self._backend.note(facts)
            case NoteMade(_, str(result)):
                self._backend.note_partial(result)
            case Logged(level, event, facts):
                relay(level, event, facts)
            case Settled(words):
                self._backend.settled(words.outcome)
            case SettlementAsked(number, words):
                self._waiting[at_once(self._backend.decide(words.outcome))] = number
            case StepsAsked(number):
                self._waiting[self._backend.results()] = number
            case StepDone(number, step):
                self._waiting[self._backend.save(step)] = number
            case MailAsked(number):
                self._waiting[self._backend.mail()] = number
            case LockAsked(number, lock_id, ttl):
                self._waiting[self._backend.lock(lock_id, ttl)] = number
            case UnlockAsked(number, lock):
                self._waiting[self._backend.unlock(lock)] = number
            case LeaseAsked(number):
                self._waiting[_outcome(self._backend.ensure_lease)] = number

    @property
    def is_waiting(self) -> bool:
        """Whether the handler waits for an answer."""
        return bool(self._waiting)

    def answer(self, *, within: float) -> None:
        """Tell the process what is known by then; raises OSError if it is gone."""
        done, _ = wait(self._waiting, timeout=within, return_when=FIRST_COMPLETED)
        for future in done:
            self._send(packed(_answer(self._waiting.pop(future), future)))


def _outcome(ask: Callable[[], None]) -> Future[None]:
    try:
        ask()
    except BackstayError as error:
        refused: Future[None] = Future()
        refused.set_exception(error)
        return refused
    return at_once(None)


def _answer(number: int, future: Future[Any]) -> Answer:
    say = partial(Answer, number=number)
    match future.exception():
        case None:
            found = future.result()
            if isinstance(found, LockAnswer):
                return say(lock=found)
            if isinstance(found, Settlement):
                return say(settlement=found)
            return say(mail=found) if isinstance(found, Mail) else say(results=found or {})
        case LeaseUncertain() as error:
            return say(is_lost=True, silent_for=error.silent_for)
        case ClaimLost():
            return say(is_lost=True)
        case error:
            return say(error=str(error))
