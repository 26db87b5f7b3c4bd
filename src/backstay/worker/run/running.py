"""One attempt in hand: its claim, how to stop it, and whether its outcome is still wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from backstay.context import Context
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import Claim
from backstay.model.outcome import Outcome
from backstay.model.text.durations import duration
from backstay.worker.run.local_backend import Services, WorkerDesk
from backstay.worker.run.outcomes import Noted

if TYPE_CHECKING:
    from backstay.attempt.steps import StepBook


class Running:
    """An attempt that was handed to this worker, waiting for a slot or running.

    Most of what can happen to it never does, so those attributes are the class's until they are set.
    """

    started: float | None = None
    task: asyncio.Task[None] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    stop_outcome: Outcome | None = None
    is_abandoned = False
    is_tainting = False
    is_asked_to_stop = False
    is_to_be_interrupted = False
    is_interrupted = False
    book: StepBook | None = None
    leader: Running | None = None
    """Whose slot it shares: the first of its batch."""
    rest_of_batch: tuple[Running, ...] = ()
    """The others of the batch that it is the first of."""
    noted: Noted | None = None
    """What the handler has noted, in case that the attempt fails."""
    settled: Outcome | None = None
    """What the handler's own transaction has stored already."""

    def __init__(self, claim: Claim, spec: HandlerSpec, taken: float) -> None:
        self.claim, self.spec, self.taken = claim, spec, taken
        self.renewed = taken
        """When the last renewal that was confirmed was sent."""

    @property
    def is_on_loop(self) -> bool:
        """Whether it has a handler of its own on the handlers' loop."""
        return self.spec.is_async and self.spec.runs_in != "process" and self.leader is None

    def stop(self, outcome: Outcome) -> None:
        """Ask the handler to stop; if it does, the attempt comes to `outcome`. Callable from any thread.

        The handler of a batch is interrupted when all its jobs are asked to stop: for one, the others do not suffer.
        """
        if self.stop_outcome is None:
            self.stop_outcome = outcome
        self.is_asked_to_stop = True
        first = self.leader or self
        if all(member.is_asked_to_stop for member in (first, *first.rest_of_batch)):
            first.is_to_be_interrupted = True
            if first.loop is not None:
                first.loop.call_soon_threadsafe(first._interrupt)

    def shorten(self, arguments: Mapping[str, Any]) -> None:
        """Give the run the time limit that its kind has for these arguments, where that is shorter than the claim's."""
        assert self.spec.timeout_by is not None
        limit = duration(self.spec.timeout_by(**arguments), field="timeout_by")
        if limit < self.claim.timeout:
            self.claim = self.claim._replace(timeout=limit)

    def belong_to(self, task: asyncio.Task[None], loop: asyncio.AbstractEventLoop) -> None:
        """Run on in this task, which is interrupted when the handler is to stop."""
        self.task, self.loop = task, loop
        # In this order: a stop that was asked for earlier could not see the loop.
        if self.is_to_be_interrupted:
            loop.call_soon(self._interrupt)

    def _interrupt(self) -> None:
        if not self.is_interrupted:
            assert self.task is not None
            self.is_interrupted = True
            self.task.cancel()


class RunningContext(Context):
    """The context of an attempt that runs in this worker; it reads the claim when it is asked."""

    __slots__ = ("_running", "_services")

    def __init__(self, running: Running, services: Services) -> None:
        self._running, self._services = running, services

    def __getattr__(self, name: str) -> Any:
        # Only what the parent class would have set comes here: making a context must cost next to nothing.
        match name:
            case "job_id":
                return self._running.claim.id
            case "lease_epoch":
                return self._running.claim.epoch
            case "worker_id":
                return self._running.claim.worker
            case "tags":
                self.tags = tuple(_read(self._running.claim.tags) or ())
                return self.tags
            case "metadata":
                self.metadata = _read(self._running.claim.metadata) or {}
                return self.metadata
            case "home":
                return self._services.home
            case "_backend":
                self._backend = WorkerDesk(self._running, self._services)
                return self._backend
            case "_book":
                self._running.book = super().__getattr__(name)
                return self._running.book
            case "_log" | "_now" | "_signal_waits":
                return super().__getattr__(name)
            case _:
                return getattr(self._running.claim, name)

    def is_cancelled(self) -> bool:
        return self._running.is_asked_to_stop


def _read(text: str | None) -> Any:
    return None if text is None else codec.decode(text)
