"""Handlers in processes of their own; each test imports a copy of this file under another name."""

from __future__ import annotations

import asyncio
import collections
import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from backstay import Backoff, Backstay, Cancel, Context, Hopeless, Retry, Snooze, current
from backstay.errors import SignalTimeout

app = Backstay(os.environ["PROCESS_JOBS_URL"])
# A large application takes its time to import, in each process anew.
time.sleep(float(os.environ.get("PROCESS_JOBS_IMPORT_SECONDS", "0")))
quick: dict[str, Any] = {"backoff": Backoff.fixed("50ms"), "lease": "5s"}


@app.job(runs_in="process", **quick)
def add(a: int, b: int = 2) -> tuple[int, int]:
    return a + b, os.getpid()


@app.job(runs_in="process", **quick)
async def describe(ctx: Context, word: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    ctx.check()
    assert current() is ctx
    return {"id": str(ctx.job_id), "attempt": ctx.attempt, "key": ctx.idempotency_key, "word": word}


@app.job(runs_in="process", max_attempts=1, **quick)
def fail() -> None:
    raise ValueError("no luck")


@app.job(runs_in="process", max_attempts=1, **quick)
def leave_by_exception() -> None:
    raise SystemExit(3)


@app.job(runs_in="process", **quick)
def look_again(ctx: Context) -> int:
    if ctx.run == 1:
        raise Snooze(0.05)
    if ctx.run == 2:
        raise Cancel("seen enough")
    return ctx.run


@app.job(runs_in="process", **quick)
def return_what_json_cannot_hold() -> Any:
    return float("nan")


@app.job(runs_in="process", timeout="500ms", max_attempts=1, **quick)
def spin(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    try:
        while True:
            pass
    finally:
        Path(path).with_suffix(".cleaned").touch()


@app.job(runs_in="process", timeout="500ms", max_attempts=1, **quick)
def refuse_to_end(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    while True:
        with suppress(BaseException):
            time.sleep(60)


@app.job(runs_in="process", timeout="2s", max_attempts=1, **quick)
def start_another(path: str) -> None:
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(path).write_text(str(sleeping.pid))
    sleeping.wait()


@app.job(runs_in="process", **quick)
def die(ctx: Context, how: str) -> int:
    if how == "once" and ctx.run > 1:
        return ctx.run
    if how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(7)


@app.job(runs_in="process", max_crashes=1, **quick)
def leave_another_behind(path: str, how: str) -> None:
    """End without seeing to what was started."""
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(path).write_text(str(sleeping.pid))
    if how == "exit":
        os._exit(7)
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(runs_in="process", max_attempts=1, max_crashes=1, **quick)
def use_much_and_end(megabytes: int, how: str) -> None:
    """Give the memory back before the end, and take no time limit as an answer."""
    taken = b"x" * (megabytes * 1_048_576)
    until = time.process_time() + 0.4
    while time.process_time() < until:
        pass
    del taken
    until = time.process_time() + 0.2
    while time.process_time() < until or how == "stay":
        pass
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(runs_in="process", max_crashes=1, **quick)
def die_at_once() -> None:
    os._exit(7)


@app.job(runs_in="process", max_attempts=1, **quick)
def raise_what_is_odd(ctx: Context, how: str) -> None:
    match how:
        case "split":
            raise BrokenGroup("many at once", [ValueError("one of them")])
        case "cause":
            with suppress(ValueError):
                ctx.step_sync("first", fail.__wrapped__)
            raise BrokenCause("no luck")
        case "leaves":
            raise LeavingSnooze(1)
        case "after":
            error = Retry("busy")
            error.after = 5  # type: ignore[assignment]  # what users do
            raise error
    raise Cancel(5)  # type: ignore[arg-type]  # what users do


class BrokenGroup(ExceptionGroup[Exception]):
    def split(self, *_: Any) -> Any:
        raise OSError("no group of ours")


class BrokenCause(Exception):
    @property
    def __cause__(self) -> Any:
        raise OSError("no cause of ours")


class LeavingSnooze(Snooze):
    def __getattribute__(self, name: str) -> Any:
        if name == "delay":
            raise SystemExit(3)
        return super().__getattribute__(name)


@app.job(runs_in="process", **quick)
def wait(path: str) -> int:
    Path(path).with_suffix(f".{os.getpid()}").touch()
    while not Path(path).exists():
        time.sleep(0.02)
    return os.getpid()


@app.job(runs_in="process", timeout="90s", **quick)
def tell_of_itself(ctx: Context) -> dict[str, Any]:
    told = {"by": ctx.created_by, "tags": list(ctx.tags), "metadata": ctx.metadata, "worker": ctx.worker_id}
    return {**told, "left": ctx.time_left.total_seconds()}


@app.job(runs_in="process", timeout="90s", timeout_by=lambda seconds: seconds, **quick)
def tell_its_limit(ctx: Context, seconds: float) -> float:
    return ctx.timeout.total_seconds()


@app.job(runs_in="process", max_attempts=1, **quick)
def note_and_end(ctx: Context, how: str) -> None:
    ctx.note(page=7)
    ctx.note_partial([1, 2])
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    raise Hopeless("no", details={"row": 9})


@app.job(runs_in="process", **quick)
async def enqueue_another() -> str:
    return str((await add.enqueue(a=1)).id)


@app.job(runs_in="process", **quick)
def allocate(megabytes: int) -> int:
    return len(b"x" * (megabytes * 1_048_576))


@app.job(runs_in="process", timeout="500ms", max_attempts=1, **quick)
def stuck_in_c(path: str) -> None:
    """A loop that never comes back to the interpreter, so that no signal is heard."""
    Path(path).write_text(str(os.getpid()))
    collections.deque(itertools.repeat(None), maxlen=0)


@app.job(runs_in="process", **quick)
def hoard(megabytes: int) -> int:
    """Never give memory back."""
    hoarded.append(bytes(range(256)) * 4096 * megabytes)
    return os.getpid()


hoarded: list[bytes] = []


@app.job(runs_in="process", **quick)
def step_by_step(ctx: Context, folder: str) -> list[int]:
    """Die in the second step of the first run."""

    def part(number: int) -> int:
        with Path(folder, "parts").open("a") as parts:
            parts.write(f"{number}\n")
        if number == 2 and ctx.run == 1:
            os._exit(7)
        return number

    ctx.ensure_lease()
    ctx.log.warning("parts.begun", run=ctx.run, folder=Path(folder))
    done = []
    for number in (1, 2, 3):
        done.append(ctx.step_sync(f"part {number}", part, number))
        ctx.progress(number, 3, f"part {number}")
    return done


@app.job(runs_in="process", **quick)
def wait_blocking(ctx: Context) -> list[int]:
    return [ctx.wait_for_sync("number", type=int), ctx.wait_for_sync("number", type=int), ctx.run]


@app.job(runs_in="process", **quick)
async def wait_or_not(ctx: Context) -> str:
    try:
        await ctx.wait_for("never", timeout="100ms")
    except SignalTimeout as error:
        return error.name
    return "came"


@app.job(runs_in="process", max_attempts=1, **quick)
async def fail_in_a_step(ctx: Context) -> None:
    await ctx.step("fetch", asyncio.sleep, 0)
    await ctx.step("send", fail.__wrapped__)


@app.job(runs_in="process", **quick)
async def pay(ctx: Context, n: int, how: str = "return") -> None:
    """Write and complete in one transaction, on a connection of this process."""
    insert = (
        "INSERT INTO payments (n) VALUES (?)"
        if app.url.startswith("sqlite")
        else "INSERT INTO payments VALUES ($1)"
    )
    ctx.progress(1, 2, "half")
    async with ctx.transaction() as tx:
        await tx.execute(insert, n)
        await add.options(delay="1h").enqueue(a=n)
        match how:
            case "raise":
                raise Cancel("undo it")
            case "fail":
                tx.fail(Hopeless("no such account"))
            case "snooze":
                tx.snooze("1h")
    if how == "die":
        os._exit(7)
    if how == "late":
        raise ValueError("too late to matter")


@app.job(runs_in="process", **quick)
def pay_blocking(ctx: Context, n: int) -> None:
    insert = (
        "INSERT INTO payments VALUES (?)"
        if app.url.startswith("sqlite")
        else "INSERT INTO payments VALUES (%s)"
    )
    with ctx.transaction() as tx:
        tx.execute(insert, n)
        add.options(delay="1h").enqueue_sync(a=n)
