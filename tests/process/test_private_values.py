"""What jobs are given and what they return is in the columns for it, and in no log line, error or event."""

from __future__ import annotations

import asyncio
import enum
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import asyncpg
import pytest
from pydantic import BaseModel
from support import eventually

from backstay import Backoff, Backstay, BatchItem, Cancel, Context, Hopeless, Retry, Snooze, State
from backstay.errors import StoreError
from backstay.settings.logs import JsonLines
from backstay.stores.database.postgres import translate

ARGUMENT, RESULT = "canary-argument-7781", "canary-result-4402"
FINAL = {State.COMPLETED, State.DEAD, State.CANCELLED}
QUICK: dict[str, Any] = {"max_attempts": 2, "backoff": Backoff.fixed("10ms"), "timeout": "1s"}


class Unstorable:
    """JSON cannot hold it; it shows what it holds, as most objects do."""

    def __repr__(self) -> str:
        return RESULT


REFUSED: dict[str, Callable[[], object]] = {
    "an object": Unstorable,
    "a NaN beside text": lambda: {"text": RESULT, "number": float("nan")},
    "too much": lambda: RESULT * 100_000,
    "an object in a list": lambda: [RESULT, Unstorable()],
    "an integer too large": lambda: {"text": RESULT, "number": 2**70},
}
RAISED: dict[str, Callable[[], BaseException]] = {
    "an error": lambda: RuntimeError("no luck"),
    "an error without words": RuntimeError,
    "the last word": lambda: Hopeless("never"),
    "another try": lambda: Retry("later", after="10ms"),
    "a snooze": lambda: Snooze("1h"),
    "a cancel": lambda: Cancel("enough"),
    "an exit": lambda: SystemExit(3),
    "a stop of its own": lambda: StopIteration(3),
    "an interruption": asyncio.CancelledError,
}


class Told(logging.Handler):
    """Every line that a program's own logging would write, in both of its forms."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []
        self._plain, self._json = logging.Formatter("%(message)s"), JsonLines({})

    def emit(self, record: logging.LogRecord) -> None:
        self.texts += [self._plain.format(record), self._json.format(record), repr(vars(record))]


@pytest.fixture
def told() -> Iterator[Told]:
    log, handler = logging.getLogger("backstay"), Told()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    yield handler
    log.removeHandler(handler)
    log.setLevel(level)


def add_handlers(app: Backstay) -> list[str]:
    """A kind for every way to end, in a loop at once and after a while, in a thread, and as a batch."""

    def end(how: str) -> object:
        if how in RAISED:
            raise RAISED[how]()
        return REFUSED[how]()

    @app.job(**QUICK)
    async def at_once(how: str, private: str) -> Any:
        kept = private
        return end(how) or kept

    @app.job(**QUICK)
    async def after_a_while(how: str, private: str) -> Any:
        await asyncio.sleep(0)
        return end(how) or private

    @app.job(**QUICK)
    def in_a_thread(how: str, private: str) -> Any:
        return end(how) or private

    @app.job(**QUICK)
    async def in_a_step(ctx: Context, how: str, private: str) -> None:
        await ctx.step(how, end, how)

    @app.batch_job(size=10, wait="20ms", **QUICK)
    async def in_a_batch(items: list[BatchItem[dict[str, str]]]) -> None:
        for item in items:
            item.complete(end(item.value["how"]))

    return ["at_once", "after_a_while", "in_a_thread", "in_a_step", "in_a_batch"]


async def everything_kept(app: Backstay) -> str:
    """All that is kept of the jobs beside their arguments and results."""
    kept: list[object] = []
    for job in (await app.jobs.search(limit=200)).jobs:
        kept += [job.error, job.reason, await app.jobs.runs(job.id), await app.jobs.history(job.id)]
    kept += await app.dead_letters.open(limit=200)
    return repr(kept)


async def is_over(app: Backstay) -> bool:
    """Whether every job has ended, is held because it does not fit, or sleeps for an hour."""
    soon = datetime.now(UTC) + timedelta(minutes=30)
    jobs = (await app.jobs.search(limit=200)).jobs
    return all(
        job.state in {*FINAL, State.HELD} or (job.state is State.SCHEDULED and job.run_at > soon)
        for job in jobs
    )


async def expect_privacy(app: Backstay, told: Told) -> None:
    """Run what is enqueued; nothing that is written meanwhile has one of the canaries."""
    async with app.working():
        await eventually(lambda: is_over(app), within=40)

    kept, lines = await everything_kept(app), "".join(told.texts)
    assert "job.settled" in lines
    assert "error_class" in kept
    for canary in (ARGUMENT, RESULT):
        assert canary not in kept
        assert canary not in lines


async def test_no_way_to_end_tells_what_the_job_was_given_or_returned(url: str, told: Told) -> None:
    app = Backstay(url)
    for kind in add_handlers(app):
        for how in (*REFUSED, *RAISED):
            args = {"how": how, "private": ARGUMENT}
            await app.jobs.enqueue_by_name(kind, {"item": args} if kind == "in_a_batch" else args)

    await expect_privacy(app, told)

    await app.close()


class Colour(enum.Enum):
    RED = "red"


class Model(BaseModel):
    count: int


async def test_arguments_that_no_longer_fit_are_not_told_either(url: str, told: Told) -> None:
    before, after = Backstay(url), Backstay(url)

    @before.job(kind="paint")
    async def paint_anything(colour: str) -> None: ...

    @before.job(kind="choose")
    async def choose_anything(one: str) -> None: ...

    @before.job(kind="weigh")
    async def weigh_anything(model: dict[str, str]) -> None: ...

    @after.job(kind="paint")
    async def paint(colour: Colour) -> None: ...

    @after.job(kind="choose")
    def choose(one: Literal["this", "that"]) -> None: ...

    @after.job(kind="weigh")
    async def weigh(model: Model) -> None: ...

    await paint_anything.enqueue(colour=ARGUMENT)
    await choose_anything.enqueue(one=ARGUMENT)
    await weigh_anything.enqueue(model={"count": ARGUMENT})

    await expect_privacy(after, told)

    errors = {job.kind: job.error for job in (await after.jobs.search()).jobs}
    assert errors["paint"] is not None
    assert "Invalid enum value" in errors["paint"]["message"]
    assert errors["weigh"] is not None
    assert "valid integer" in errors["weigh"]["message"]
    await before.close()
    await after.close()


async def test_steps_and_signals_that_do_not_fit_are_not_told_either(url: str, told: Told) -> None:
    app = Backstay(url)

    def choose() -> Literal["this", "that"]:
        return RESULT  # type: ignore[return-value]  # a promise that is not kept

    @app.job(**QUICK)
    async def step(ctx: Context) -> None:
        await ctx.step("choose", choose)

    @app.job(**QUICK)
    async def wait(ctx: Context) -> None:
        await ctx.wait_for("colour", type=Colour)

    await step.enqueue()
    waiting = await wait.enqueue()
    await app.signals.send(waiting.id, "colour", RESULT)

    await expect_privacy(app, told)

    await app.close()


PROCESS_JOBS = """
from backstay import Backstay
app = Backstay({url!r})

class Unstorable:
    def __repr__(self):
        return {result!r}

@app.job(runs_in="process")
async def refused(private: str):
    return [{result!r}, Unstorable()]

@app.job(runs_in="process", max_attempts=1)
def failed(private: str):
    raise ValueError("no luck")
"""


async def test_a_process_tells_nothing_of_them_either(
    sqlite_url: str, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not in a line of the handler: the source of the lines of a traceback is told.
    (tmp_path / "private_jobs.py").write_text(PROCESS_JOBS.format(url=sqlite_url, result=RESULT))
    monkeypatch.syspath_prepend(tmp_path)
    jobs = importlib.import_module("private_jobs")
    await jobs.refused.enqueue(private=ARGUMENT)
    await jobs.failed.enqueue(private=ARGUMENT)

    await expect_privacy(jobs.app, told)

    await jobs.app.close()
    del sys.modules["private_jobs"]


def test_a_value_that_the_driver_cannot_send_is_not_told() -> None:
    refused = asyncpg.exceptions._base.DataError(  # its public name is that of another class
        f"invalid input for query argument $18: {ARGUMENT!r} (expected str, got int)"
    )

    error = translate(refused)

    assert type(error) is StoreError
    assert str(error).endswith("query argument $18")
