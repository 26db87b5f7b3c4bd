"""The program that enqueues, and writes down what it was promised: the first of the three journals.

`python -m chaos.producer '{"url": …, "calls": …, "first": 0, "jobs": 20000, "seed": 1, "rate": 150}'`
Before each call a line with its intent, after it a line with the answer. A call without an answer may have happened.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from backstay import Backstay, FlowNode
from backstay.errors import InvalidSchedule, OutcomeUnknown, StoreBusy, StoreUnavailable, WrongState
from backstay.handler import JobArgs
from backstay.options import JobOptions
from chaos import mutants
from chaos.workload import Settings, application, shorten

MIX = {
    "quick": 54,
    "slow": 12,
    "booked": 6,
    "booked_in_thread": 2,
    "threaded": 8,
    "flaky": 8,
    "hopeless": 1,
    "long": 1,
    "once": 2,
    "exclusive": 2,
    "in_line": 1,
}
ROOMS = 4
BEAT = "beat"
LIMITED = ("exclusive", "in_line")
DIAMOND = ("quick", "flaky", "slow", "quick")
BATCH = 20
AT_ONCE = 6


def _args(kind: str, n: int) -> dict[str, int]:
    return {"n": n, "room": n % ROOMS} if kind in LIMITED else {"n": n}


class Producer:
    """Sends calls of every shape until enough jobs were accepted."""

    def __init__(self, settings: Settings) -> None:
        self._app: Backstay = application(settings)
        self._file = os.open(settings["calls"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._next, self._wanted, self._rate = settings["first"], settings["jobs"], settings["rate"]
        self._chance = random.Random(f"{settings['seed']} {self._next}")
        self._mix, self._besides = settings.get("mix") or MIX, settings.get("besides", [])
        self._keys, self._cancels = settings.get("keys", 0.05), settings.get("cancels", 0.02)
        self._flows, self._beat = settings.get("flows", 0.04), settings.get("beat", False)
        self._delays, self._many_below = settings.get("delays", 0.05), settings.get("many", 0.7)
        self._accepted = 0
        self._until = Path(settings["until"]) if settings.get("until") else None
        self._began = time.monotonic()

    async def run(self) -> None:
        if self._beat:
            await self._surely(self._schedule)
        for kind in self._besides:
            await self._one(kind, JobOptions())
        async with asyncio.TaskGroup() as callers:
            for _ in range(AT_ONCE):
                callers.create_task(self._call_until_enough())
        if self._beat:
            await self._surely(lambda: self._app.schedules.pause(BEAT, reason="enough"))
        await self._app.close()

    async def _schedule(self) -> None:
        """A job every second, whatever happens; its number is none of the calls'."""
        with suppress(InvalidSchedule):  # it is there already, and only the answer was lost
            await self._app.schedules.create(
                BEAT, "quick", every="1s", args={"n": -1}, missed="catch_up", catch_up=10_000
            )

    async def _surely(self, call: Callable[[], Awaitable[Any]]) -> None:
        while True:
            try:
                await call()
                return
            except (OutcomeUnknown, StoreUnavailable, StoreBusy):
                await asyncio.sleep(0.2)

    async def _call_until_enough(self) -> None:
        while self._accepted < self._wanted or not (self._until is None or self._until.exists()):
            ahead = self._accepted / self._rate - (time.monotonic() - self._began)
            if ahead > 0:
                await asyncio.sleep(ahead)
            kind = self._chance.choices([*self._mix], [*self._mix.values()])[0]
            shape = self._chance.random()
            if shape < self._keys:
                await self._twice_with_a_key(kind)
            elif shape < self._keys + self._delays:
                await self._one(kind, JobOptions(delay=f"{self._chance.randint(200, 1500)}ms"))
            elif shape < self._keys + self._delays + self._cancels:
                await self._cancelled(kind)
            elif shape < self._keys + self._delays + self._cancels + self._flows:
                await self._flow()
            elif shape < self._many_below:
                await self._many(kind)
            else:
                await self._one(kind, JobOptions())

    async def _one(self, kind: str, options: JobOptions) -> str | None:
        (n,) = self._numbers(1)
        self._write(calls=[n], kind=kind, key=options.key)
        ids = await self._answer([n], self._app.jobs.enqueue_by_name(kind, _args(kind, n), options))
        return ids[0] if ids else None

    async def _many(self, kind: str) -> None:
        numbers = self._numbers(BATCH)
        spec = self._app._registry.get(kind)
        calls: list[JobArgs[Any]] = [JobArgs(spec, spec.bind((), _args(kind, n))) for n in numbers]
        self._write(calls=numbers, kind=kind, key=None)
        await self._answer(numbers, self._app.jobs.enqueue_many(calls))

    async def _flow(self) -> None:
        """One job, two that wait for it, and one that waits for both."""
        numbers = self._numbers(4)
        flow = self._app.flow(f"diamond {numbers[0]}")
        nodes: list[FlowNode[Any]] = []
        for n, kind, parents in zip(numbers, DIAMOND, ((), (0,), (0,), (1, 2)), strict=True):
            spec = self._app._registry.get(kind)
            node = flow._add_bound(spec, spec.bind((), {"n": n}), JobOptions())
            nodes.append(node.after([nodes[at] for at in parents], wait_for="completion"))
        for n, kind in zip(numbers, DIAMOND, strict=True):
            self._write(calls=[n], kind=kind, key=None)

        async def stored() -> list[Any]:
            return list((await flow.enqueue()).jobs)

        await self._answer(numbers, stored())

    async def _twice_with_a_key(self, kind: str) -> None:
        """The same call again, as somebody does who did not hear the first answer."""
        (n,) = self._numbers(1)
        options = JobOptions(key=f"key-{n}")
        for _ in range(2):
            self._write(calls=[n], kind=kind, key=options.key)
            await self._answer([n], self._app.jobs.enqueue_by_name(kind, _args(kind, n), options))

    async def _cancelled(self, kind: str) -> None:
        job_id = await self._one(kind, JobOptions())
        if job_id is None:
            return
        await asyncio.sleep(self._chance.random() * 0.2)
        try:
            await self._app.jobs.cancel(job_id, by="producer", reason="changed my mind")
        except (WrongState, StoreUnavailable, StoreBusy):
            return

    async def _answer(self, numbers: list[int], call: Any) -> list[str] | None:
        try:
            answer = await call
        except OutcomeUnknown:
            self._write(answers=numbers, outcome="unknown", ids=None)
            return None
        except (StoreUnavailable, StoreBusy):
            self._write(answers=numbers, outcome="refused", ids=None)
            await asyncio.sleep(0.1)
            return None
        handles = answer if isinstance(answer, list) else [answer]
        ids = [str(handle.id) for handle in handles]
        self._write(answers=numbers, outcome="ok", ids=ids)
        self._accepted += sum(handle.is_new for handle in handles)
        return ids

    def _numbers(self, count: int) -> list[int]:
        first, self._next = self._next, self._next + count
        return list(range(first, first + count))

    def _write(self, **line: Any) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    given: Settings = json.loads(sys.argv[1])
    shorten(given)
    mutants.plant_chosen()
    asyncio.run(Producer(given).run())
