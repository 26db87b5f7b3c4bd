"""Time limits by a job's arguments, and of the parts of a handler."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from backstay import Backstay, BatchItem, Context
from backstay.errors import InvalidSettings
from backstay.model.outcome import Fail
from backstay.testing import Harness, harness

app = Backstay("sqlite:////nowhere/time_limits.db")


@pytest.fixture
def backstay() -> Iterator[Harness]:
    with harness(app) as opened:
        yield opened


def by_pages(pages: int, patience: float = 1.0) -> float:
    return pages * patience


@app.job(timeout="1h", timeout_by=by_pages, max_attempts=1)
async def read(ctx: Context, pages: int, patience: float = 1.0) -> float:
    if pages == 0:
        await asyncio.Event().wait()
    return ctx.timeout.total_seconds()


@app.job(timeout="1h", timeout_by=lambda pages: f"{pages}s", max_attempts=1)
def read_in_a_thread(ctx: Context, pages: int) -> float:
    time.sleep(0)
    return ctx.timeout.total_seconds()


@pytest.mark.parametrize(
    ("handler", "args", "limit"),
    [
        (read, {"pages": 90}, 90),
        (read, {"pages": 90, "patience": 2.0}, 180),
        (read, {"pages": 9000}, 3600),
        (read_in_a_thread, {"pages": 30}, 30),
    ],
)
async def test_the_arguments_say_how_long_a_run_may_take(
    backstay: Harness, handler: Any, args: dict[str, Any], limit: float
) -> None:
    ran = await backstay.try_job(handler, **args)

    assert ran.result == limit


@app.job(timeout="1h", timeout_by=lambda pages: 0.05, max_attempts=1)
async def hang(pages: int) -> None:
    await asyncio.Event().wait()


async def test_a_run_that_takes_longer_than_its_arguments_allow_has_timed_out(backstay: Harness) -> None:
    ran = await backstay.try_job(hang, pages=1)

    assert isinstance(ran.outcome, Fail)
    assert ran.outcome.error.message == "the handler did not finish within its time limit of 0.05 s"


@app.job(timeout_by=lambda pages: "soon", max_attempts=1)
async def wrong(pages: int) -> None: ...


async def test_a_limit_that_is_none_is_the_failure_of_its_job(backstay: Harness) -> None:
    ran = await backstay.try_job(wrong, pages=1)

    assert isinstance(ran.outcome, Fail)
    assert "timeout_by cannot be 'soon'" in ran.outcome.error.message


def test_what_cannot_be_a_limit_by_arguments_is_refused() -> None:
    async def one(item: int) -> None: ...

    async def many(items: list[BatchItem[int]]) -> None: ...

    other = Backstay("sqlite:////nowhere/time_limits.db")
    with pytest.raises(InvalidSettings, match="timeout_by of 'one' must be a function"):
        other.job(timeout_by="5s")(one)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidSettings, match="handles many jobs at once"):
        other.batch_job(size=2, timeout_by=lambda item: "5s")(many)


@app.job(max_attempts=1)
async def in_phases(ctx: Context, how: str) -> str:
    async with ctx.phase("fetch", "10s"):
        await asyncio.sleep(0)
    try:
        async with ctx.phase("ocr", "20ms" if how != "raise" else "10s"):
            if how == "raise":
                raise ValueError("no text")
            await asyncio.Event().wait()
    except TimeoutError:
        if how == "catch":
            return "without text"
        raise
    return "whole"


async def test_a_phase_has_a_time_limit_of_its_own_and_names_itself(backstay: Harness) -> None:
    late = await backstay.try_job(in_phases, how="late")
    raised = await backstay.try_job(in_phases, how="raise")
    caught = await backstay.try_job(in_phases, how="catch")

    assert late.job.error is not None
    assert raised.job.error is not None
    assert (late.job.error["error_class"], late.job.error["details"]) == ("timeout", {"phase": "ocr"})
    assert late.job.error["message"] == "the phase 'ocr' did not finish within its time limit of 0.02 s"
    assert (raised.job.error["type"], raised.job.error["details"]) == ("ValueError", {"phase": "ocr"})
    assert caught.result == "without text"


@app.job(max_attempts=1)
def blocking_phase(ctx: Context) -> None:
    with ctx.phase("ocr", "1s"):
        pass


async def test_a_blocking_handler_has_no_phases(backstay: Harness) -> None:
    ran = await backstay.try_job(blocking_phase)

    assert ran.job.error is not None
    assert "needs 'async with'" in ran.job.error["message"]
