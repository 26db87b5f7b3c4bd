"""What runs in an adapter's process: the meter that handlers tell, and the loop that answers the harness.

An adapter is a module of `bench.peers` with a class `Client` and a function `work(processes)`.
It is started as `python -P -m bench.adapter MODULE serve` or `… MODULE work`; the protocol is in bench/README.md.
Nothing here may import Backstay or the harness: peers run it in environments of their own.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import itertools
import json
import os
import random
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

# An application knows its own settings; these come from the harness.
URL = os.environ.get("BENCH_URL", "")
FOLDER = Path(os.environ.get("BENCH_METER", "."))
EVERY = int(os.environ.get("BENCH_EVERY", "1"))
BATCH = 1000


class AnyClient(Protocol):
    """What an adapter's `Client` has; each method may be `async` or not.

    It may also have `enqueue_many(numbers)`, `wait(handle)` until the caller sees the result,
    `enqueue_beside` for many callers, if that takes other means than one caller needs,
    `variant(name, size)` for workloads that only some know,
    and `hold`, `ready` and `release` to let worker processes begin together.
    Without `remaining` a job counts as done when its handler has run.
    """

    packages: Sequence[str]

    def open(self) -> Any: ...
    def enqueue(self, n: int, sent: int) -> Any: ...
    def empty(self) -> Any: ...


class Meter:
    """Tells the harness, through files, how many jobs were handled and when.

    With `every` above one, only each so many-th job is told: the harness asks the store about the last ones.
    The harness gives everybody the same number, so only who cannot do with it has one of its own.
    """

    def __init__(self, every: int = EVERY) -> None:
        self._every = every
        os.register_at_fork(after_in_child=self._forget)
        self._forget()

    def note(self, sent: int = 0) -> None:
        """What every measured handler does, and all it does."""
        if sent:
            self._write("started", struct.pack("<QQ", sent, microseconds()))
        # One step, so that no thread counts what another has counted.
        elif next(self._count) % self._every == 0:
            self._write("handled", struct.pack("<Q", microseconds()))

    def mark(self) -> None:
        """Tell that so many jobs as a record stands for were taken."""
        self._write("handled", struct.pack("<Q", microseconds()))

    async def rest(self) -> None:
        """Stay until stopped: a worker that ends is taken for one that failed."""
        await asyncio.Event().wait()

    def _write(self, kind: str, record: bytes) -> None:
        if kind not in self._files:
            # The name says how many jobs a record stands for; threads that come together open the same file.
            path = FOLDER / f"{os.getpid()}.{kind}-{self._every}"
            self._files[kind] = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(self._files[kind], record)

    def _forget(self) -> None:
        self._count, self._files = itertools.count(), dict[str, int]()


def microseconds() -> int:
    """By a clock that all processes of the machine share and nobody sets; a number that JavaScript can hold, too."""
    return time.monotonic_ns() // 1000


async def settled(value: Any) -> Any:
    """What a method came to, whether it is `async` or not."""
    return await value if inspect.isawaitable(value) else value


async def serve(client: AnyClient) -> None:
    """Answer commands, one JSON document a line, until the harness hangs up."""
    loop = asyncio.get_running_loop()
    commands = Commands(client)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        answer = await getattr(commands, asked.pop("do"))(**asked)
        print(json.dumps(answer or {}), file=sys.__stdout__, flush=True)


class Commands:
    """Each method is a command of the protocol."""

    def __init__(self, client: AnyClient) -> None:
        self._client = client
        self._beside = getattr(client, "enqueue_beside", client.enqueue)

    async def open(self) -> dict[str, Any]:
        """Make tables or queues, and say what runs here."""
        await settled(self._client.open())
        found = {package: _version(package) for package in self._client.packages}
        return {
            "versions": {"python": sys.version.split()[0], **found},
            "bulk": hasattr(self._client, "enqueue_many"),
            "results": hasattr(self._client, "wait"),
            "counts": hasattr(self._client, "remaining"),
            "holds": hasattr(self._client, "hold"),
        }

    async def enqueue_one(self, seconds: float) -> dict[str, Any]:
        """One caller, one job after the other."""
        await settled(self._client.enqueue(0, 0))
        return await self._timed(lambda until: self._caller(until, self._client.enqueue), seconds)

    async def enqueue_together(self, seconds: float, callers: int) -> dict[str, Any]:
        """Many callers at the same time: tasks where the client is `async`, threads where it is not."""
        await settled(self._beside(0, 0))
        if inspect.iscoroutinefunction(self._beside):
            return await self._timed(lambda until: self._tasks(until, callers), seconds)
        with ThreadPoolExecutor(callers) as threads:
            return await self._timed(lambda until: self._threads(until, callers, threads), seconds)

    async def enqueue_many(self, seconds: float) -> dict[str, Any]:
        """One caller, a thousand jobs a call."""
        await settled(self._client.enqueue_many(range(BATCH)))

        async def run(until: float) -> int:
            jobs = 0
            while time.perf_counter() < until:
                await settled(self._client.enqueue_many(range(jobs, jobs + BATCH)))
                jobs += BATCH
            return jobs

        return await self._timed(run, seconds)

    async def fill(self, jobs: int, variant: str = "", size: int = 0) -> None:
        """Store a backlog, the quickest way there is."""
        if variant:
            await settled(self._client.variant(variant, size))
        if hasattr(self._client, "enqueue_many"):
            for first in range(0, jobs, BATCH):
                await settled(self._client.enqueue_many(range(first, min(first + BATCH, jobs))))
        else:
            for first in range(0, jobs, BATCH):
                await self._several(range(first, min(first + BATCH, jobs)))

    async def remaining(self) -> dict[str, Any]:
        """How many jobs are not yet completed for good."""
        return {"jobs": await settled(self._client.remaining())}

    async def hold(self) -> None:
        """Keep workers from beginning any job."""
        await settled(self._client.hold())

    async def ready(self) -> dict[str, Any]:
        """How many workers have come since then."""
        return {"workers": await settled(self._client.ready())}

    async def release(self) -> None:
        """Let them begin."""
        await settled(self._client.release())

    async def empty(self) -> None:
        """Forget every job."""
        await settled(self._client.empty())

    async def latency(self, jobs: int, seconds: float) -> dict[str, Any]:
        """One job at a time on an idle worker: first without waiting for results, then with."""
        fired = await self._paced(jobs, seconds, self._fire)
        has_results = hasattr(self._client, "wait")
        return {
            "fired": fired,
            "visible": await self._paced(jobs, seconds, self._wait) if has_results else [],
        }

    async def _fire(self, number: int) -> int:
        """When the job was sent; its handler tells when it started."""
        sent = microseconds()
        await settled(self._client.enqueue(number, sent))
        await asyncio.sleep(0.03)
        return sent

    async def _wait(self, number: int) -> int:
        """How long it took until the result was seen."""
        sent = microseconds()
        await settled(self._client.wait(await settled(self._client.enqueue(number, sent))))
        return microseconds() - sent

    async def _paced(self, jobs: int, seconds: float, one: Callable[[int], Awaitable[int]]) -> list[int]:
        told, until = [], time.perf_counter() + seconds
        for number in range(jobs):
            told.append(await one(number))
            # No fixed step, which could fall in with somebody's polling.
            await asyncio.sleep(random.uniform(0.01, 0.05))
            if time.perf_counter() > until:
                break
        return told

    async def _timed(self, run: Callable[[float], Awaitable[int]], seconds: float) -> dict[str, Any]:
        started = time.perf_counter()
        jobs = await run(started + seconds)
        return {"jobs": jobs, "seconds": time.perf_counter() - started}

    async def _caller(self, until: float, enqueue: Callable[[int, int], Any]) -> int:
        if not inspect.iscoroutinefunction(enqueue):
            return self._blocking_caller(until, enqueue)
        jobs = 0
        while time.perf_counter() < until:
            await enqueue(jobs, 0)
            jobs += 1
        return jobs

    def _blocking_caller(self, until: float, enqueue: Callable[[int, int], Any]) -> int:
        jobs = 0
        while time.perf_counter() < until:
            enqueue(jobs, 0)
            jobs += 1
        return jobs

    async def _tasks(self, until: float, callers: int) -> int:
        return sum(await asyncio.gather(*(self._caller(until, self._beside) for _ in range(callers))))

    async def _threads(self, until: float, callers: int, threads: ThreadPoolExecutor) -> int:
        loop = asyncio.get_running_loop()
        running = [
            loop.run_in_executor(threads, self._blocking_caller, until, self._beside) for _ in range(callers)
        ]
        return sum(await asyncio.gather(*running))

    async def _several(self, numbers: Sequence[int]) -> None:
        if inspect.iscoroutinefunction(self._beside):
            await asyncio.gather(*(self._beside(number, 0) for number in numbers))
        else:
            for number in numbers:
                self._client.enqueue(number, 0)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def run(main: Any) -> None:
    """Run a coroutine on uvloop where the peer's environment has it."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def become(*command: str) -> None:
    """Turn into a program of the peer's own environment, as its users start it."""
    program = Path(sys.executable).parent / command[0]
    os.execv(program, [str(program), *command[1:]])


if __name__ == "__main__":
    module = importlib.import_module(f"bench.peers.{sys.argv[1]}")
    if sys.argv[2] == "work":
        module.work(int(os.environ.get("BENCH_PROCESSES", "1")))
    else:
        # What a library prints must not be taken for an answer.
        sys.stdout = sys.stderr
        run(serve(module.Client()))
