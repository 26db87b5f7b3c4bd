"""How a worker fares: what its process uses, and whether the handlers' event loop still answers."""

from __future__ import annotations

import asyncio
import site
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from backstay.model.events import Emit
from backstay.model.records import Vitals
from backstay.runtime.env import Env
from backstay.worker.run.runner import Runner

LOOK_EVERY = 0.5
TOO_LONG = 1.0
"""A handler that keeps the event loop to itself for this long is named."""

_NOT_THEIRS = tuple(
    {str(Path(__file__).parents[1]), sysconfig.get_paths()["stdlib"], *site.getsitepackages(), "<frozen"}
)


@dataclass(frozen=True, slots=True)
class HandlersLoop:
    """Where `async def` handlers run."""

    loop: asyncio.AbstractEventLoop
    thread: int


class LoopMonitor:
    """Asks the handlers' loop for an answer twice a second, from the engine's loop, and measures the process."""

    def __init__(
        self, runner: Runner, handlers: HandlersLoop, *, settled: Callable[[], int], emit: Emit, env: Env
    ) -> None:
        self._runner, self._handlers, self._settled = runner, handlers, settled
        self._emit, self._env = emit, env
        self._process = psutil.Process()
        # What is used is counted from the call before; the first has none and says 0.
        self._process.cpu_percent()
        self._asked: float | None = None
        self._lag = 0.0
        self._is_told = False
        self.felt_at = env.monotonic()

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            self.felt_at = self._env.monotonic()
            self._ask()
            await self._env.sleep(LOOK_EVERY)

    def vitals(self) -> Vitals:
        """How the worker fares now."""
        return Vitals(
            running=self._runner.counts()[0],
            settled=self._settled(),
            tainted=self._runner.in_hand.tainted,
            cpu_percent=self._process.cpu_percent(),
            rss_mb=self._process.memory_info().rss >> 20,
            loop_lag_ms=round(max(self._lag, self._waits_for()) * 1000),
        )

    def _ask(self) -> None:
        if self._asked is None:
            self._asked = self._env.monotonic()
            # A loop that is closed has no handlers any more.
            with suppress(RuntimeError):
                self._handlers.loop.call_soon_threadsafe(self._answer)
        elif self._waits_for() > TOO_LONG and not self._is_told:
            self._is_told = True
            self._emit("loop.blocked", blocked_ms=round(self._waits_for() * 1000), **self._culprit())

    def _answer(self) -> None:
        self._lag, self._asked, self._is_told = self._waits_for(), None, False

    def _waits_for(self) -> float:
        asked = self._asked
        return 0.0 if asked is None else self._env.monotonic() - asked

    def _culprit(self) -> dict[str, str | None]:
        """The job whose handler keeps the loop, if it is one, and the line where it does."""
        claim = self._runner.in_hand.claim_of(asyncio.current_task(self._handlers.loop))
        return {
            "job_id": str(claim.id) if claim else None,
            "kind": claim.kind if claim else None,
            "line": _line(sys._current_frames().get(self._handlers.thread)),
        }


def _line(innermost: FrameType | None) -> str | None:
    """Where the user's own code stands, below which only libraries are at work."""
    frame = innermost
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THEIRS):
        frame = frame.f_back
    frame = frame or innermost
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}" if frame else None
