"""Answers a handler's waits for signals: from what its job has received, or by ending the run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from backstay.attempt.backend import AttemptBackend
from backstay.errors import InvalidPayload, InvalidPolicy, InvalidSettings, InvalidSignal, SignalTimeout
from backstay.handlers import codec
from backstay.handlers.decoding_errors import problem_of
from backstay.handlers.signature import decoder_for
from backstay.model.signals import Mail, NotYet, Received, TimedOut, Wait, answer
from backstay.model.text.durations import Duration, duration


class Suspended(BaseException):
    """Ends a run that waits for a signal; no error, so that a handler's `except Exception` does not stop it."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(f"waiting for signal {wait.name!r}")
        self.wait = wait


class SignalWaits:
    """The waits of one run, counted by name, and what is known of the job's mail."""

    def __init__(self, backend: AttemptBackend, *, running_step: Callable[[], str | None]) -> None:
        self._backend, self._running_step = backend, running_step
        self._mail = Mail()
        self._waits: Counter[str] = Counter()

    async def wait_for(self, name: str, timeout: Duration | None, type_: Any) -> Any:
        """The payload of the signal, or the end of the run."""
        number, limit, decoder = self._begin(name, timeout, type_)
        if isinstance(answer(self._mail, name, number), NotYet):
            self._mail = await asyncio.wrap_future(self._backend.mail())
        return self._answered(name, number, limit, decoder)

    def wait_for_sync(self, name: str, timeout: Duration | None, type_: Any) -> Any:
        """The same in a thread, blocking only for the look into the mailbox."""
        number, limit, decoder = self._begin(name, timeout, type_)
        if isinstance(answer(self._mail, name, number), NotYet):
            self._mail = self._backend.mail().result()
        return self._answered(name, number, limit, decoder)

    def _begin(
        self, name: str, timeout: Duration | None, type_: Any
    ) -> tuple[int, timedelta | None, msgspec.json.Decoder[Any]]:
        try:
            codec.check_key("signal", name)
            limit = None if timeout is None else duration(timeout, field="timeout")
            decoder = decoder_for(type_, "its payload")
        except (InvalidPayload, InvalidPolicy, InvalidSettings) as error:
            raise InvalidSignal(name, str(error)) from error
        self._backend.refuse_waits(name)
        if (step := self._running_step()) is not None:
            raise InvalidSignal(
                name,
                f"the step {step!r} is running, and a wait ends the run: wait before the step or after it",
            )
        self._waits[name] += 1
        return self._waits[name], limit, decoder

    def _answered(
        self, name: str, number: int, timeout: timedelta | None, decoder: msgspec.json.Decoder[Any]
    ) -> Any:
        match answer(self._mail, name, number):
            case Received(payload):
                return _decoded(name, payload, decoder)
            case TimedOut():
                raise SignalTimeout(name, timeout)
            case NotYet(position):
                raise Suspended(Wait(name, number, position, timeout))


def suspended_by(error: BaseException) -> Wait | None:
    """The wait that ended a run with this exception; None if something else did."""
    if isinstance(error, Suspended):
        return error.wait
    if isinstance(error, BaseExceptionGroup):
        # Waits in tasks of a group: it has waited, unless one of the tasks failed.
        first: BaseException | None
        first, others = error.split(Suspended)
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        return first.wait if others is None and isinstance(first, Suspended) else None
    return None


def _decoded(name: str, payload: str | None, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode("null" if payload is None else payload)
    except msgspec.ValidationError as error:
        problem = problem_of(error)
    raise InvalidSignal(name, f"its payload is not of the type that is waited for: {problem}")
