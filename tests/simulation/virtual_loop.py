"""An event loop without threads, sockets or waiting: time jumps to the next timer, and a seed decides who runs next."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

STRAND: contextvars.ContextVar[Strand] = contextvars.ContextVar("strand")


@dataclass(eq=False)
class Process:
    """What dies and freezes as one."""

    name: str
    is_alive: bool = True
    is_paused: bool = False
    paused_until: float = 0.0
    wall_skew: float = 0.0


@dataclass(eq=False)
class Strand:
    """One thread of a process: its callbacks keep their order, those of different strands mix as the seed wants."""

    name: str
    process: Process
    ready: deque[asyncio.Handle] = field(default_factory=deque)


class Stuck(Exception):
    """Nothing is left that could ever happen."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs callbacks of many processes in one thread, in an order that depends on the seed alone."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._now = 0.0
        self._numbers = itertools.count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Strand]] = []
        self._busy: list[Strand] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_running = self._is_closed = False
        self._home = Strand("home", Process("home"))
        self.failures: list[str] = []
        self.is_anyone_frozen = False

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = context or contextvars.copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        self._put(handle, context.get(STRAND, self._home))
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = context or contextvars.copy_context()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle, context.get(STRAND, self._home)))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Part of what a handle asks of its loop; a cancelled timer is dropped when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **_: Any,
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        # A process that dies leaves its tasks where they are; they are put away when the run is over.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def start(
        self, coro: Coroutine[Any, Any, Any], strand: Strand, *, name: str | None = None
    ) -> asyncio.Task[Any]:
        """Begin a coroutine as part of a strand; everything it starts belongs to the strand too."""
        return self.create_task(coro, name=name, context=context_of(strand))

    def bury(self, process: Process) -> None:
        """Let nothing of a process ever happen again."""
        process.is_alive = False
        self._busy = [strand for strand in self._busy if strand.process is not process]

    def run_until_complete(self, future: Coroutine[Any, Any, Any]) -> Any:
        """Run one coroutine to its end, and everything else as far as it comes meanwhile."""
        main = self.create_task(future, name="main")
        asyncio._set_running_loop(self)
        self._is_running = True
        try:
            while not main.done():
                self._step()
            return main.result()
        finally:
            self._is_running = False
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """Put away what never came to an end, so that nobody warns of it."""
        self._is_closed = True
        self._timers.clear()
        while self._tasks:
            task = self._tasks.pop()
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # what asyncio offers for this
            coroutine = task.get_coro()
            while coroutine.cr_frame is not None:
                try:
                    coroutine.close()
                except RuntimeError:
                    continue  # it waits for something in a `finally`: once more, from there

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._is_closed and "handle" in context:
            self.failures.append(f"{context['message']}: {context.get('exception')!r}")

    def _put(self, handle: asyncio.Handle, strand: Strand) -> None:
        if not strand.process.is_alive or self._is_closed:
            return
        if not strand.ready:
            self._busy.append(strand)
        strand.ready.append(handle)

    def _step(self) -> None:
        able = self._busy
        if self.is_anyone_frozen:
            able = [strand for strand in able if not strand.process.is_paused]
        if not able:
            self._advance()
            return
        strand = able[0] if len(able) == 1 else able[int(self._chance.random() * len(able))]
        handle = strand.ready.popleft()
        if not strand.ready:
            self._busy.remove(strand)
        if not handle._cancelled:
            handle._run()

    def _advance(self) -> None:
        """Go to the moment of the next timer, and wake everything that is due then."""
        timers, pop = self._timers, heapq.heappop
        while timers:
            when, _, handle, strand = pop(timers)
            if not handle._cancelled and strand.process.is_alive:
                self._now = max(self._now, when)
                self._put(handle, strand)
                while timers and timers[0][0] <= self._now:
                    _, _, handle, strand = pop(timers)
                    if not handle._cancelled:
                        self._put(handle, strand)
                return
        raise Stuck(f"at {self._now:.3f} s nothing is left to happen")


def context_of(strand: Strand) -> contextvars.Context:
    """A context whose callbacks belong to the strand."""
    context = contextvars.copy_context()
    context.run(STRAND.set, strand)
    return context
