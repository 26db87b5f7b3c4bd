"""Keeps a number of worker processes running, and releases the jobs of a dead one at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from backstay.errors import StoreError
from backstay.model.events import Emit
from backstay.runtime.env import Env
from backstay.supervisor.child import Child, Command
from backstay.supervisor.health import Health
from backstay.supervisor.rules import STEADY_AFTER, STUCK_AFTER, Limits, pause_before_restart, why_replace

LOOK_EVERY = 1.0
AGAIN_AFTER = 3.0
"""A claim that was under way when its worker died may be stored a moment later."""
FAILED = 1

TakeOver = Callable[[str, Sequence[str]], Awaitable[None]]
"""Gives up the workers of these ids in the database at this URL, and frees their jobs."""


class Supervisor:
    """Starts processes, replaces those that die or have reached a limit, and stops them together.

    No user code runs here, so nothing that a handler does can keep it from its work.
    """

    def __init__(
        self,
        command: Command,
        *,
        processes: int,
        limits: Limits,
        health: Health,
        take_over: TakeOver,
        emit: Emit,
        env: Env,
    ) -> None:
        self._command, self._processes, self._limits, self._health = command, processes, limits, health
        self._take_over, self._emit, self._env = take_over, emit, env
        self._children: dict[int, Child] = {}
        self._stopping = asyncio.Event()
        self._followers: set[asyncio.Task[None]] = set()
        self._has_worked = False
        self.exit_code = 0

    async def run(self) -> int:
        """Go on until stopped and every process has left; returns the exit code."""
        keeping = [asyncio.create_task(self._keep(number)) for number in range(1, self._processes + 1)]
        watching = asyncio.create_task(self._watch())
        try:
            waiting = set(keeping)
            while waiting:
                # Watching ends only by an error, and processes that nobody watches are worse than none.
                done, _ = await asyncio.wait({watching, *waiting}, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                waiting -= done
        finally:
            for task in (watching, *keeping, *self._followers):
                task.cancel()
            await asyncio.gather(watching, *keeping, *self._followers, return_exceptions=True)
            self.kill()
            await asyncio.gather(*[child.ended() for child in self._children.values()])
            self._health.close()
        return self.exit_code

    def stop(self) -> None:
        """Start nothing more and let every process finish its jobs."""
        self._stopping.set()
        self._health.leave()
        for child in self._children.values():
            child.ask_to_leave("the supervisor stops")

    def kill(self) -> None:
        """End every process at once."""
        for child in self._children.values():
            child.kill()

    async def _keep(self, number: int) -> None:
        """Keep one place filled until everything stops."""
        deaths = 0
        while not self._stopping.is_set():
            child = await self._started(number)
            if child is None:
                deaths += 1
            elif await self._has_died(child):
                deaths = 1 if child.lived_for > STEADY_AFTER else deaths + 1
            else:
                deaths = 0
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_before_restart(deaths) * (0.75 + 0.5 * self._env.random())):
                    await self._stopping.wait()

    async def _started(self, number: int) -> Child | None:
        try:
            child = self._children[number] = await Child.start(number, self._command, self._env)
        except OSError as error:
            self._emit("process.refused", process_number=number, error=str(error))
            return None
        self._emit("process.started", process_number=number, pid=child.pid)
        if self._stopping.is_set():
            child.ask_to_leave("the supervisor stops")
        return child

    async def _has_died(self, child: Child) -> bool:
        """Wait for the end of a process; True if nobody wanted it."""
        code = await child.ended()
        del self._children[child.number]
        facts = {"process_number": child.number, "pid": child.pid, "exit_code": code}
        self._has_worked = self._has_worked or child.was_ready
        # An exit code of 0 says nothing: a library that ends the process may choose it.
        if child.reason_to_leave is not None and (code == 0 or not child.was_ready):
            self._emit("process.left", **facts, reason=child.reason_to_leave)
            return False
        self._emit("process.died", **facts)
        self._follow(child)
        if self._stopping.is_set():
            self.exit_code = FAILED
        elif code > 0 and not self._has_worked:
            # None has ever worked, and this one said itself why: starting it again would say so again.
            self.exit_code = code
            self.stop()
        return True

    def _follow(self, child: Child) -> None:
        if child.report.workers:
            following = asyncio.create_task(self._take_over_from(child.report.url, child.report.workers))
            self._followers.add(following)
            following.add_done_callback(self._followers.discard)

    async def _take_over_from(self, url: str, workers: Sequence[str]) -> None:
        deaths, looks = 1, 0
        while looks < 2:
            try:
                await self._take_over(url, workers)
            except StoreError as error:
                deaths += 1
                self._emit("store.failed", doing="take over from a dead process", error=str(error))
                await self._env.sleep(pause_before_restart(deaths))
            else:
                looks += 1
                await self._env.sleep(AGAIN_AFTER)

    async def _watch(self) -> None:
        while True:
            children = list(self._children.values())
            for child in children:
                # Also one that leaves: its engine gives signs of life until its jobs' time to finish is over.
                if child.silent_for > STUCK_AFTER and not child.was_killed:
                    self._emit("process.stuck", process_number=child.number, pid=child.pid)
                    child.kill()
            ready = [child for child in children if child.report.is_ready and not child.reason_to_leave]
            if not self._stopping.is_set():
                self._replace_one(ready)
                status = f"{len(ready)} of {self._processes} processes are ready"
                self._health.tell(is_ready=bool(ready), status=status, emit=self._emit)
            await self._env.sleep(LOOK_EVERY)

    def _replace_one(self, ready: Sequence[Child]) -> None:
        """Let one process go that has reached a limit, but only while all others are at work."""
        if len(ready) < self._processes:
            return
        for child in ready:
            reason = why_replace(child.report, child.rss_mb, self._limits)
            if reason is not None:
                self._emit("process.replaced", process_number=child.number, pid=child.pid, reason=reason)
                child.ask_to_leave(reason)
                return
