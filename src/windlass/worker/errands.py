"""Does for a handler in its own process what its context asks of the worker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any

from windlass.desk import Desk, at_once
from windlass.errors import ClaimLost, LeaseUncertain, WindlassError
from windlass.job_logs import relay
from windlass.schedule_records import LockAnswer
from windlass.signals import Mail
from windlass.worker.process_words import (
    Answer,
    Errand,
    LeaseAsked,
    LockAsked,
    Logged,
    MailAsked,
    Settled,
    StepDone,
    StepsAsked,
    Told,
    UnlockAsked,
    packed,
)


class Errands:
    """What one attempt has asked for and not been told yet."""

    def __init__(self, desk: Desk, send: Callable[[bytes], None]) -> None:
        self._desk, self._send = desk, send
        self._waiting: dict[Future[Any], int] = {}

    def take(self, errand: Errand) -> None:
        """Do it, or see to it that it is done."""
        match errand:
            case Told(progress):
                self._desk.tell(progress)
            case Logged(level, event, facts):
                relay(level, event, facts)
            case Settled(result):
                self._desk.settled(result)
            case StepsAsked(number):
                self._waiting[self._desk.results()] = number
            case StepDone(number, step):
                self._waiting[self._desk.save(step)] = number
            case MailAsked(number):
                self._waiting[self._desk.mail()] = number
            case LockAsked(number, lock_id, ttl):
                self._waiting[self._desk.lock(lock_id, ttl)] = number
            case UnlockAsked(number, lock):
                self._waiting[self._desk.unlock(lock)] = number
            case LeaseAsked(number):
                self._waiting[_outcome(self._desk.ensure_lease)] = number

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
    except WindlassError as error:
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
            return say(mail=found) if isinstance(found, Mail) else say(results=found or {})
        case LeaseUncertain() as error:
            return say(is_lost=True, silent_for=error.silent_for)
        case ClaimLost():
            return say(is_lost=True)
        case error:
            return say(error=str(error))
