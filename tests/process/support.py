"""Real worker processes for tests: starting, stopping and watching them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
from program import application

from backstay import Backstay
from backstay.composition.connect import open_database
from backstay.handler import JobArgs
from backstay.model.job import JobId
from backstay.stores.database.migrate import migrate

PROGRAM = Path(__file__).with_name("program.py")
LEASE = 3.0
SWEEP = 0.5


class Line(NamedTuple):
    """One fact that a handler wrote down."""

    what: str
    job_id: str
    run: int
    pid: int
    at: float


@dataclass
class WorkerProcess:
    """One worker, in a process of its own."""

    process: subprocess.Popen[bytes]
    events_file: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def events(self, name: str) -> list[dict[str, Any]]:
        """What the worker told under this name."""
        return [told for told in map(json.loads, whole_lines(self.events_file)) if told["event"] == name]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def has_started(self) -> None:
        await eventually(lambda: self.events("worker.started") or not self.is_running, within=30)
        assert self.is_running, f"the worker left with {self.process.returncode}"

    async def exit_code(self, *, within: float) -> int:
        await eventually(lambda: not self.is_running, within=within)
        return self.process.returncode

    async def terminated(self, *, within: float = 10) -> int:
        """Ask it to leave, and wait for that."""
        self.signal(signal.SIGTERM)
        return await self.exit_code(within=within)


@dataclass
class Workshop:
    """One database with its workers, their journal, and a client of the test's own."""

    url: str
    folder: Path
    app: Backstay
    workers: list[WorkerProcess] = field(default_factory=list)

    @property
    def journal_file(self) -> Path:
        return self.folder / "journal"

    def gate(self, name: str = "gate") -> Path:
        """A file that handlers wait for."""
        return self.folder / name

    def start_worker(self, **settings: Any) -> WorkerProcess:
        """Start a worker process; it is killed at the end of the test if it has not left by then."""
        events_file = self.folder / f"events-{len(self.workers)}"
        own = {"url": self.url, "journal": str(self.journal_file), "events": str(events_file), **settings}
        worker = WorkerProcess(run_program("worker", own), events_file)
        self.workers.append(worker)
        return worker

    async def started_worker(self, **settings: Any) -> WorkerProcess:
        worker = self.start_worker(**settings)
        await worker.has_started()
        return worker

    def journal(self, what: str | None = None, *, job_id: object = None) -> list[Line]:
        lines = [line.split() for line in whole_lines(self.journal_file)]
        found = [Line(kind, job, int(run), int(pid), float(at)) for kind, job, run, pid, at in lines]
        of_job = [line for line in found if job_id is None or line.job_id == str(job_id)]
        return [line for line in of_job if what is None or line.what == what]

    async def enqueue(self, kind: str, /, **args: Any) -> JobId:
        return (await self.app.jobs.enqueue_by_name(kind, args)).id

    async def enqueue_many(self, kind: str, many: Sequence[dict[str, Any]]) -> list[JobId]:
        spec = self.app._registry.get(kind)
        calls: list[JobArgs[Any]] = [JobArgs(spec, spec.bind((), args)) for args in many]
        return [handle.id for handle in await self.app.jobs.enqueue_many(calls)]

    async def states(self) -> Counter[str]:
        """How many jobs are in each state."""
        counts: Counter[str] = Counter()
        for count in await self.app.jobs.counts():
            counts[count.state.value] += count.jobs
        return counts

    async def all_ended(self, jobs: int, *, within: float) -> None:
        """Wait until this many jobs have completed."""

        async def done() -> bool:
            return (await self.states())["completed"] >= jobs

        await eventually(done, within=within)

    async def rows(self, sql: str) -> list[Any]:
        """What the tables hold, read by none of the product's code; tables are written `backstay.jobs`."""
        return await rows(self.url, sql)

    def close(self) -> None:
        for worker in self.workers:
            if worker.is_running:
                worker.process.kill()
            worker.process.wait()


@asynccontextmanager
async def workshop(url: str, folder: Path, **settings: Any) -> Any:
    """A workshop that leaves no process behind."""
    app = application({"url": url, "journal": str(folder / "journal"), **settings})
    shop = Workshop(url, folder, app)
    try:
        yield shop
    finally:
        shop.close()
        await app.close()


def run_program(mode: str, settings: dict[str, Any], **how: Any) -> subprocess.Popen[bytes]:
    """Start the program; whatever warning it gives is an error."""
    command = [sys.executable, "-W", "error", str(PROGRAM), mode, json.dumps(settings)]
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parents[1])}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, **how)


async def rows(url: str, sql: str) -> list[Any]:
    """Run a query beside the product."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        try:
            return connection.execute(sql.replace("backstay.", "backstay_")).fetchall()
        finally:
            connection.close()
    server = await asyncpg.connect(url.partition("?")[0], statement_cache_size=0)
    try:
        return [tuple(row) for row in await server.fetch(sql)]
    finally:
        await server.close()


async def eventually(
    condition: Callable[[], Awaitable[Any] | Any], *, within: float, every: float = 0.02
) -> Any:
    """Wait until the condition holds and return what it gave; fails when the time is over."""
    give_up = time.monotonic() + within
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < give_up, f"it did not happen within {within:g} s"
        await asyncio.sleep(every)


def whole_lines(path: Path) -> list[str]:
    """The lines that are written to their end."""
    if not path.exists():
        return []
    text = path.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def migrate_now(url: str) -> None:
    """Make the tables, from a thread, because the caller may be on an event loop."""

    async def make() -> None:
        database = open_database(url)
        await migrate(database)
        await database.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, make()).result()
