"""What a supervisor does about processes that leave by themselves or will not leave, and about its own troubles."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from support import eventually

from backstay.runtime.env import SYSTEM, Env
from backstay.supervisor.health import Health
from backstay.supervisor.rules import STUCK_AFTER, Limits
from backstay.supervisor.supervisor import FAILED, Supervisor

NO_LIMITS = Limits()
LEAVES_AT_ONCE = ""
STAYS = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(int(sys.argv[1]), b'{"is_ready": true, "settled": 5, "workers": ["w-1"]}\\n')
while True:
    signal.pause()
"""


@dataclass
class Watched:
    """A supervisor on the test's own loop, whose processes run a few lines of Python, and what it told."""

    folder: Path
    events: list[tuple[str, float, dict[str, Any]]] = field(default_factory=list)
    taken: list[Sequence[str]] = field(default_factory=list)
    looks: int = 0
    later: float = 0.0
    running: asyncio.Task[int] | None = None

    def start(self, code: str, *, limits: Limits = NO_LIMITS, env: Env | None = None) -> Supervisor:
        supervisor = Supervisor(
            lambda _, descriptor: [sys.executable, "-S", "-c", code, str(descriptor)],
            processes=1,
            limits=limits,
            health=Health(self.folder / "health", {}),
            take_over=self._take_over,
            emit=self._emit,
            env=env or replace(SYSTEM, monotonic=self._now, sleep=self._sleep, random=lambda: 0.5),
        )
        self.running = asyncio.create_task(supervisor.run())
        return supervisor

    def told(self, name: str) -> list[dict[str, Any]]:
        return [facts for event, _, facts in self.events if event == name]

    def times(self, name: str) -> list[float]:
        return [at for event, at, _ in self.events if event == name]

    async def is_ready(self) -> None:
        await eventually(lambda: (self.folder / "health/ready").exists(), within=20)

    async def has_looked(self, *, times: int = 3) -> None:
        until = self.looks + times
        await eventually(lambda: self.looks >= until, within=20)

    async def ended(self) -> int:
        assert self.running is not None
        async with asyncio.timeout(20):
            return await self.running

    def _now(self) -> float:
        return time.monotonic() + self.later

    async def _sleep(self, _: float) -> None:
        self.looks += 1
        await asyncio.sleep(0.02)

    def _emit(self, event: str, /, **facts: Any) -> None:
        self.events.append((event, time.monotonic(), facts))

    async def _take_over(self, _: str, workers: Sequence[str]) -> None:
        self.taken.append(workers)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    made = Watched(tmp_path)
    yield made
    if made.running is not None:
        made.running.cancel()
        await asyncio.gather(made.running, return_exceptions=True)


async def test_a_process_that_leaves_at_once_with_exit_code_0_is_restarted_after_pauses(
    watched: Watched,
) -> None:
    watched.start(LEAVES_AT_ONCE)
    await eventually(lambda: len(watched.told("process.started")) >= 4, within=30)

    started, died = watched.times("process.started"), watched.times("process.died")
    assert watched.told("process.left") == []
    assert {facts["exit_code"] for facts in watched.told("process.died")} == {0}
    assert started[2] - died[1] >= 0.5
    assert started[3] - died[2] >= 1.0


async def test_a_process_that_will_not_leave_is_killed_when_it_has_long_been_silent(watched: Watched) -> None:
    supervisor = watched.start(STAYS)
    await watched.is_ready()
    supervisor.stop()
    watched.later = STUCK_AFTER - 20
    await watched.has_looked()
    killed_early = watched.told("process.stuck")

    watched.later = STUCK_AFTER + 1

    assert await watched.ended() == FAILED
    assert killed_early == []
    assert len(watched.told("process.stuck")) == 1
    assert [facts["exit_code"] for facts in watched.told("process.died")] == [-9]


async def test_a_process_that_does_not_make_way_for_its_replacement_is_killed_and_taken_over(
    watched: Watched,
) -> None:
    watched.start(STAYS, limits=Limits(jobs=5))
    await eventually(lambda: watched.told("process.replaced"), within=20)

    watched.later = STUCK_AFTER + 1
    await eventually(lambda: len(watched.told("process.started")) == 2 and watched.taken, within=20)

    assert [facts["exit_code"] for facts in watched.told("process.died")] == [-9]
    assert list(watched.taken[0]) == ["w-1"]


async def test_a_supervisor_without_its_health_folder_goes_on_watching(watched: Watched) -> None:
    watched.start(STAYS)
    await watched.is_ready()
    shutil.rmtree(watched.folder / "health")
    (watched.folder / "health").touch()
    await watched.has_looked(times=5)

    watched.later = STUCK_AFTER + 1
    await eventually(lambda: watched.told("process.stuck"), within=20)

    assert len(watched.told("health.failed")) == 1


async def test_a_supervisor_that_can_watch_no_more_fails_and_leaves_no_process(watched: Watched) -> None:
    async def broken(_: float) -> None:
        await eventually(lambda: watched.told("process.started"), within=20)
        raise RuntimeError("no clock")

    watched.start(STAYS, env=replace(SYSTEM, sleep=broken))

    with pytest.raises(RuntimeError, match="no clock"):
        await watched.ended()
    [started] = watched.told("process.started")
    await eventually(
        lambda: not psutil.pid_exists(started["pid"]) or psutil.Process(started["pid"]).status() == "zombie",
        within=5,
    )
