"""The program of the worker processes in these tests: handlers that write down every run.

`python program.py worker '{"url": …, "journal": …}'` works until SIGTERM; a second signal leaves at once.
`python program.py enqueue '{… "kind": "note", "jobs": 500}'` enqueues one by one and prints the ids.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from backstay import Backoff, Backstay, Context, Hopeless
from backstay.composition import make_worker as assembly
from backstay.maintenance.loop import Maintenance
from backstay.stores.database import postgres
from backstay.stores.handler_transaction import commit_outcome as certainty
from backstay.wakeups.postgres import PostgresWakeups
from backstay.wakeups.sqlite import SqliteWakeups
from backstay.worker import watchdog
from chaos import mutants

Settings = dict[str, Any]
PACE = {"tick": 0.5, "leader_lease": 2, "worker_timeout": 30}


def application(settings: Settings) -> Backstay:
    """The application under test; `lease` is short, so that a lost one is rescued while a test waits."""
    # At their usual size every test of a crash would take half a minute.
    usual = {"worker_timeout": 30} if "tick" in settings else PACE
    pace = {**usual, **{name: settings[name] for name in PACE if name in settings}}
    app = Backstay(settings["url"], settings=pace, emit=Events(settings.get("events")))
    journal = Journal(settings.get("journal"))
    numbers: dict[str, Any] = {"lease": settings.get("lease", "3s"), "backoff": Backoff.fixed("50ms")}

    @app.job(**numbers)
    async def note(ctx: Context, n: int) -> int:
        journal.write("start", ctx)
        journal.write("end", ctx)
        return n

    @app.job(**numbers, max_attempts=50, max_crashes=50)
    async def node(ctx: Context, how: str, value: int, inputs: list[Any] | None = None) -> dict[str, int]:
        """Part of a random flow; killed workers must not count for its end."""
        await asyncio.sleep(0.002 * (value % 3))
        if how == "flaky" and ctx.attempt == 1:
            raise ValueError("not yet")
        if how == "hopeless":
            raise Hopeless("never")
        return {"value": value}

    @app.job(**numbers)
    async def wait_for_file(ctx: Context, path: str) -> None:
        """Run until a test lets it end."""
        journal.write("start", ctx)
        try:
            while not Path(path).exists():
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            journal.write("cancelled", ctx)
            raise
        journal.write("end", ctx)

    @app.job(**numbers)
    def wait_in_thread(ctx: Context, path: str) -> None:
        """Do the same in a thread, asking now and then whether to stop."""
        journal.write("start", ctx)
        while not Path(path).exists():
            ctx.check()
            time.sleep(0.02)
        journal.write("end", ctx)

    @app.job(**numbers)
    async def block(ctx: Context, seconds: float) -> None:
        """Keep the event loop to itself."""
        journal.write("start", ctx)
        time.sleep(seconds)
        journal.write("end", ctx)

    @app.job(**numbers)
    def sleep_in_thread(ctx: Context, seconds: float) -> None:
        """Ignore every wish to stop."""
        journal.write("start", ctx)
        time.sleep(seconds)
        journal.write("end", ctx)

    @app.job(timeout="500ms", **numbers)
    def stubborn(ctx: Context, path: str) -> None:
        """Ignore the time limit in the first run."""
        journal.write("start", ctx)
        while ctx.run == 1 and not Path(path).exists():
            time.sleep(0.05)
        journal.write("end", ctx)

    @app.job(timeout="500ms", **numbers)
    async def deaf(ctx: Context, path: str) -> None:
        """Swallow cancellation in the first run."""
        journal.write("start", ctx)
        while ctx.run == 1 and not Path(path).exists():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)
        journal.write("end", ctx)

    @app.job(max_attempts=1, **numbers)
    async def raise_on_loop(ctx: Context, name: str) -> None:
        journal.write("start", ctx)
        raise UNUSUAL[name]

    @app.job(max_attempts=1, **numbers)
    def raise_in_thread(ctx: Context, name: str) -> None:
        journal.write("start", ctx)
        raise UNUSUAL[name]

    @app.job(**numbers)
    async def eleven_steps(ctx: Context, path: str) -> list[int]:
        """Eleven steps; the seventh takes until a test lets it end."""

        async def part(number: int) -> int:
            journal.write(f"begin-{number}", ctx)
            while number == 7 and not Path(path).exists():
                await asyncio.sleep(0.02)
            journal.write(f"end-{number}", ctx)
            return number

        return [await ctx.step(f"part {number}", part, number) for number in range(1, 12)]

    @app.job(**numbers)
    def eleven_steps_in_thread(ctx: Context, path: str) -> list[int]:
        """Do the same in a thread."""

        def part(number: int) -> int:
            journal.write(f"begin-{number}", ctx)
            while number == 7 and not Path(path).exists():
                time.sleep(0.02)
            journal.write(f"end-{number}", ctx)
            return number

        return [ctx.step_sync(f"part {number}", part, number) for number in range(1, 12)]

    @app.job(**numbers)
    async def pay(ctx: Context, n: int, way: str = "own") -> None:
        """Write a row and complete, together."""
        journal.write("start", ctx)
        if way == "own":
            async with ctx.transaction() as tx:
                await tx.execute("INSERT INTO payments (n) VALUES ($1)", n)
        elif way == "asyncpg":
            connection = await asyncpg.connect(settings["url"])
            try:
                async with ctx.transaction(connection):
                    await connection.execute("INSERT INTO payments (n) VALUES ($1)", n)
            finally:
                await connection.close()
        else:
            engine = create_async_engine(settings["url"].replace("postgresql", "postgresql+asyncpg"))
            try:
                async with AsyncSession(engine) as session, ctx.transaction(session):
                    await session.execute(text("INSERT INTO payments (n) VALUES (:n)"), {"n": n})
            finally:
                await engine.dispose()
        journal.write("end", ctx)

    @app.job(**numbers)
    def pay_in_thread(ctx: Context, n: int) -> None:
        """Do the same in a thread."""
        journal.write("start", ctx)
        with ctx.transaction() as tx:
            tx.execute("INSERT INTO payments (n) VALUES (%s)", n)
        journal.write("end", ctx)

    @app.job(**numbers)
    async def poison(ctx: Context) -> None:
        """Take the whole process down."""
        journal.write("start", ctx)
        os._exit(9)

    return app


UNUSUAL: dict[str, BaseException] = {
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "CancelledError": asyncio.CancelledError(),
    "GeneratorExit": GeneratorExit(),
}


class Journal:
    """One line a fact, in one write, so that processes never mix theirs."""

    def __init__(self, path: str | None) -> None:
        self._file = os.open(path or os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, what: str, ctx: Context) -> None:
        os.write(self._file, f"{what} {ctx.job_id} {ctx.run} {os.getpid()} {time.monotonic()}\n".encode())


class Events:
    """Writes the engine's events to a file, one JSON object a line."""

    def __init__(self, path: str | None) -> None:
        self._file = os.open(path or os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, event: str, /, **facts: Any) -> None:
        line = json.dumps({"event": event, "pid": os.getpid(), "at": time.monotonic(), **facts}, default=str)
        os.write(self._file, line.encode() + b"\n")


def shorten(settings: Settings) -> None:
    # These are the product's constants and no settings.
    if "machine" in settings:
        # Workers of another machine cannot see each other's processes and must wait for leases.
        assembly.boot_id = lambda: settings["machine"]
    watchdog.GRACE = timedelta(seconds=settings.get("overtime", 1))
    if "certain_within" in settings:
        certainty.PATIENCE = settings["certain_within"]
    if "patience" in settings:
        postgres.PATIENCE = dict.fromkeys(postgres.PATIENCE, settings["patience"])
    if not settings.get("ticks", True):
        Maintenance._until_next_tick = until_called  # type: ignore[method-assign]  # hears, and never looks by itself
    if not settings.get("hints", True):
        PostgresWakeups.listen = SqliteWakeups.listen = hear_nothing  # type: ignore[method-assign]  # a deaf worker


async def until_called(duties: Maintenance) -> None:
    await duties._called.wait()
    duties._called.clear()


async def hear_nothing(*_: object) -> None:
    await asyncio.Event().wait()


async def work(settings: Settings) -> None:
    names = ("concurrency", "kinds", "queues", "shutdown_grace", "poll_busy", "poll_idle")
    worker = application(settings).worker(**{name: settings[name] for name in names if name in settings})
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            os._exit(1)
        worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    await worker.run()
    if worker.running:
        # A handler that never ends holds the event loop; the process leaves all the same.
        os._exit(0)


async def enqueue(settings: Settings) -> None:
    app = application(settings)
    for n in range(settings["jobs"]):
        handle = await app.jobs.enqueue_by_name(settings["kind"], {"n": n})
        sys.stdout.write(f"{handle.id}\n")
        sys.stdout.flush()
    await app.close()


if __name__ == "__main__":
    given: Settings = json.loads(sys.argv[2])
    shorten(given)
    mutants.plant_chosen()
    asyncio.run({"worker": work, "enqueue": enqueue}[sys.argv[1]](given))
