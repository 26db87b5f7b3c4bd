"""Handlers for processes under a supervisor, which write down where and when they run."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from backstay import Backstay, Context

app = Backstay(os.environ["SUPERVISED_URL"])
FOLDER = Path(os.environ["SUPERVISED_FOLDER"])
kept: list[bytes] = []


def write(what: str, ctx: Context) -> None:
    """One line a fact, in one write."""
    with (FOLDER / "journal").open("ab", buffering=0) as journal:
        journal.write(f"{what} {ctx.job_id} {ctx.run} {os.getpid()} {time.monotonic()}\n".encode())


@app.job
async def note(ctx: Context) -> None:
    write("start", ctx)


@app.job
async def wait(ctx: Context) -> None:
    """Run until a test lets it end."""
    write("start", ctx)
    while not (FOLDER / "gate").exists():
        await asyncio.sleep(0.02)
    write("end", ctx)


@app.job
def keep(ctx: Context, megabytes: int) -> None:
    """Never give memory back."""
    write("start", ctx)
    kept.append(bytes(range(256)) * 4096 * megabytes)


@app.job
async def poison(ctx: Context) -> None:
    write("start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)


@app.job
async def vanish(ctx: Context) -> None:
    """End the process as if all were well, as a library may; the second time let it be."""
    write("start", ctx)
    if ctx.run == 1:
        os._exit(0)


@app.job
async def deaf(ctx: Context) -> None:
    """Refuse to be cancelled."""
    write("start", ctx)
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
