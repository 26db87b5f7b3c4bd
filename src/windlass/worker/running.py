"""One attempt in hand: its claim, how to stop it, and whether its outcome is still wanted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from windlass.context import Context
from windlass.job import Claim
from windlass.outcome import Outcome
from windlass.registry import HandlerSpec


@dataclass(slots=True, eq=False)
class Running:
    """An attempt that was handed to this worker, waiting for a slot or running."""

    claim: Claim
    spec: HandlerSpec
    taken: float
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
    """The context of an attempt that runs in this worker; it reads the claim when it is asked."""

    __slots__ = ("_running",)

    def __init__(self, running: Running) -> None:
        self._running = running

    def __getattr__(self, name: str) -> Any:
        # Only the fields that the parent class would have set come here: making a context must cost next to nothing.
        claim = self._running.claim
        return claim.id if name == "job_id" else getattr(claim, name)

    def is_cancelled(self) -> bool:
        return self._running.is_asked_to_stop
