"""One attempt in hand: its claim, how to stop it, and whether its outcome is still wanted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from windlass.context import Context
from windlass.errors import Cancel
from windlass.job import Claim
from windlass.outcome import Outcome
from windlass.registry import HandlerSpec


@dataclass(slots=True, eq=False)
class Running:
    """An attempt that was handed to this worker, waiting for a slot or running."""

    claim: Claim
    spec: HandlerSpec
    started: float | None = None
    task: asyncio.Task[None] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    stop_outcome: Outcome | None = None
    is_abandoned: bool = False
    is_asked_to_stop: bool = False

    def stop(self, outcome: Outcome) -> None:
        """Ask the handler to stop; if it does, the attempt comes to `outcome`. Callable from any thread."""
        if self.stop_outcome is None:
            self.stop_outcome = outcome
        self.is_asked_to_stop = True
        task, loop = self.task, self.loop
        if task is not None and loop is not None:
            loop.call_soon_threadsafe(task.cancel)


class RunningContext(Context):
    """The context of an attempt that runs in this worker."""

    __slots__ = ("_running",)

    def __init__(self, running: Running) -> None:
        claim = running.claim
        super().__init__(
            job_id=claim.id,
            kind=claim.kind,
            queue=claim.queue,
            attempt=claim.attempt,
            max_attempts=claim.max_attempts,
            run=claim.run,
            tenant=claim.tenant,
            correlation_id=claim.correlation_id,
            deadline=claim.deadline,
        )
        self._running = running

    def is_cancelled(self) -> bool:
        return self._running.is_asked_to_stop

    def check(self) -> None:
        if self.is_cancelled():
            raise Cancel("stopped on request")
