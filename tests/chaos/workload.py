"""The application under test: handlers that write down every run, in a file that survives their process.

Each kind stands for something that jobs do in the field: quick ones, slow ones, some that fail at first, some that
outlast their lease, some that kill their worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from backstay import Backoff, Backstay, Context, Limit
from backstay.composition import make_worker as assembly
from backstay.maintenance import rescuer
from backstay.runtime.env import SYSTEM, Env
from backstay.stores.database import postgres
from backstay.wakeups import postgres as wakeups
from backstay.worker import watchdog

Settings = dict[str, Any]

# Kinds that write their effect into the database, in the transaction that completes them.
TRANSACTIONAL = frozenset({"booked", "booked_late", "booked_in_thread"})
BOOK = "INSERT INTO chaos.effects (job_id, run) VALUES ($1, $2)"
BOOK_IN_THREAD = "INSERT INTO chaos.effects (job_id, run) VALUES (%s, %s)"

PACE = {"tick": 0.5, "leader_lease": 2, "worker_timeout": 6}


def application(settings: Settings) -> Backstay:
    """Every kind of the workload, with a short lease, so that many are lost and rescued in a run."""
    app = Backstay(
        settings["url"],
        settings={**PACE, **settings.get("pace", {})},
        emit=Events(settings.get("events")),
        env=environment(settings),
    )
    journal = Journal(settings.get("journal"))
    lease = float(settings.get("lease", 3))
    # A statement of a handler's own may take as long as it likes, also on a connection that has died without a sign:
    # what ends it is the handler's time limit.
    numbers: dict[str, Any] = {
        "lease": timedelta(seconds=lease),
        "timeout": timedelta(seconds=max(8 * lease, 20)),
        "backoff": Backoff.fixed("100ms"),
    }

    @app.job(**numbers)
    async def quick(ctx: Context, n: int) -> dict[str, int]:
        journal.write("start", ctx)
        return journal.end(ctx, n)

    @app.job(**numbers)
    async def slow(ctx: Context, n: int) -> dict[str, int]:
        journal.write("start", ctx)
        await asyncio.sleep(0.02 * (n % 10))
        return journal.end(ctx, n)

    @app.job(**numbers)
    def threaded(ctx: Context, n: int) -> dict[str, int]:
        journal.write("start", ctx)
        time.sleep(0.01 * (n % 10))
        return journal.end(ctx, n)

    @app.job(max_attempts=20, **numbers)
    async def flaky(ctx: Context, n: int) -> dict[str, int]:
        """Fail in the first one or two attempts."""
        journal.write("start", ctx)
        if ctx.attempt <= 1 + n % 2:
            raise ConnectionError("not yet")
        return journal.end(ctx, n)

    @app.job(max_attempts=2, **numbers)
    async def hopeless(ctx: Context, n: int) -> None:
        """Fail in every attempt."""
        journal.write("start", ctx)
        raise ValueError("never")

    @app.job(**numbers)
    async def long(ctx: Context, n: int) -> dict[str, int]:
        """Outlast a lease."""
        journal.write("start", ctx)
        await asyncio.sleep(1.4 * lease)
        return journal.end(ctx, n)

    @app.job(**numbers)
    async def blocking(ctx: Context, n: int) -> dict[str, int]:
        """Keep the handlers' loop to itself for longer than a lease."""
        journal.write("start", ctx)
        time.sleep(2.5 * lease)
        return journal.end(ctx, n)

    @app.job(max_attempts=1, **numbers)
    async def once(ctx: Context, n: int) -> dict[str, int]:
        """Have one attempt only, which a crash gives back."""
        journal.write("start", ctx)
        await asyncio.sleep(settings.get("once", 0.4) * lease)
        return journal.end(ctx, n)

    async def book(ctx: Context, n: int) -> None:
        async with ctx.transaction() as tx:
            await tx.execute(BOOK, ctx.job_id, ctx.run)
            tx.result(journal.end(ctx, n))

    @app.job(max_attempts=20, **numbers)
    async def booked(ctx: Context, n: int) -> None:
        """Have an effect in the database, and complete in the same transaction."""
        journal.write("start", ctx)
        await book(ctx, n)

    @app.job(max_attempts=20, **numbers)
    async def booked_late(ctx: Context, n: int) -> None:
        """The same, after having outlasted a lease."""
        journal.write("start", ctx)
        await asyncio.sleep(1.4 * lease)
        await book(ctx, n)

    @app.job(max_attempts=20, **numbers)
    def booked_in_thread(ctx: Context, n: int) -> None:
        """The same in a thread, with a driver that blocks."""
        journal.write("start", ctx)
        with ctx.transaction() as tx:
            tx.execute(BOOK_IN_THREAD, ctx.job_id, ctx.run)
            tx.result(journal.end(ctx, n))

    @app.job(limit=Limit(1, key="room:{room}"), max_attempts=20, **numbers)
    async def exclusive(ctx: Context, n: int, room: int) -> dict[str, int]:
        """Share a room with nobody."""
        journal.write("start", ctx)
        await asyncio.sleep(0.01 * (n % 5))
        return journal.end(ctx, n)

    @app.job(ordered_by="room:{room}", max_attempts=20, **numbers)
    async def in_line(ctx: Context, n: int, room: int) -> dict[str, int]:
        """Wait until every older job of the room has ended."""
        journal.write("start", ctx)
        return journal.end(ctx, n)

    @app.job(max_attempts=20, **numbers)
    async def poison(ctx: Context, n: int) -> None:
        """Take the whole process down."""
        journal.write("start", ctx)
        os._exit(9)

    return app


def environment(settings: Settings) -> Env:
    """The clock of this process may be wrong; nothing that matters may follow it."""
    skew = timedelta(seconds=settings.get("skew", 0))
    return replace(SYSTEM, wall=lambda: SYSTEM.wall() + skew)


def shorten(settings: Settings) -> None:
    """Make those of the engine's numbers small that are no settings: a hundred faults would take hours."""
    if "machine" in settings:
        # Workers of another machine cannot see each other's processes and must wait for leases.
        assembly.boot_id = lambda: settings["machine"]
    rescuer.HOLD_FOR = timedelta(seconds=2)
    watchdog.GRACE = timedelta(seconds=1)
    wakeups.PROBE_EVERY, wakeups.PROBE_TIMEOUT = 2.0, 1.0
    if not settings.get("hints", True):
        mute: Any = wakeups.PostgresWakeups
        mute.send, mute.may_ride = say_nothing, lambda _: False
    patience = float(settings.get("patience", 2))
    postgres.PATIENCE = dict.fromkeys(postgres.PATIENCE, patience)
    # In proportion: who waits for a lock must be told so before its connection is taken for dead.
    postgres.ENGINE_SETTINGS["lock_timeout"] = f"{patience * 1000 / 5:.0f}ms"


def say_nothing(*_: object) -> None:
    return None


class Journal:
    """One line a fact, in one write, so that neither a kill nor another process can spoil it."""

    def __init__(self, path: str | None) -> None:
        self._file = os.open(path or os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, what: str, ctx: Context) -> None:
        os.write(self._file, f"{what} {ctx.job_id} {ctx.run} {os.getpid()} {time.monotonic()}\n".encode())

    def end(self, ctx: Context, n: int) -> dict[str, int]:
        """Note the effect of a run; its result says which run it was."""
        self.write("end", ctx)
        return {"n": n, "run": ctx.run, "pid": os.getpid()}


class Events:
    """Writes the engine's own events to a file, one JSON object a line; it proves nothing, but helps to understand."""

    def __init__(self, path: str | None) -> None:
        self._file = os.open(path or os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def __call__(self, event: str, /, **facts: Any) -> None:
        line = json.dumps({"event": event, "pid": os.getpid(), "at": time.monotonic(), **facts}, default=str)
        os.write(self._file, line.encode() + b"\n")


def whole_lines(path: Path) -> list[str]:
    """The lines that are written to their end."""
    if not path.exists():
        return []
    text = path.read_text()
    return text[: text.rfind("\n") + 1].splitlines()
