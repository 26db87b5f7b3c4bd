"""A coroutine that runs inside the task that awaits it, in a context of its own."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any

import pytest

from backstay.worker.run.resumed_coroutine import Driven

mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="untouched")


async def driven(coroutine: Coroutine[Any, Any, Any], waits: list[str]) -> Any:
    context = contextvars.copy_context()
    try:
        awaited = context.run(coroutine.send, None)
    except StopIteration as end:
        return end.value
    waits.append("waits")
    return await Driven(coroutine, context, awaited)


async def test_one_that_never_waits_is_over_at_once() -> None:
    async def handler() -> int:
        mine.set("changed")
        return 7

    waits: list[str] = []

    assert await driven(handler(), waits) == 7
    assert waits == []
    assert mine.get() == "untouched"


async def test_one_that_waits_says_so_once_and_keeps_its_context_and_task() -> None:
    async def handler() -> tuple[str, bool]:
        task = asyncio.current_task()
        mine.set("changed")
        for _ in range(3):
            await asyncio.sleep(0)
        return mine.get(), asyncio.current_task() is task

    waits: list[str] = []

    assert await driven(handler(), waits) == ("changed", True)
    assert waits == ["waits"]
    assert mine.get() == "untouched"


async def test_time_limits_and_groups_inside_it_work() -> None:
    async def handler() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.sleep(60)
        async with asyncio.TaskGroup() as group:
            part = group.create_task(asyncio.sleep(0, "done"))
        return part.result()

    assert await driven(handler(), []) == "done"


async def test_what_is_thrown_at_the_task_reaches_it() -> None:
    cleaned: list[str] = []

    async def handler() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cleaned.append("after the cancellation")
            await asyncio.sleep(0)
            raise

    async def outer() -> None:
        await driven(handler(), [])

    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == ["after the cancellation"]


async def test_errors_come_out_before_and_after_waiting() -> None:
    async def at_once() -> None:
        raise ValueError("at once")

    async def later() -> None:
        await asyncio.sleep(0)
        raise ValueError("later")

    for handler in (at_once, later):
        with pytest.raises(ValueError, match=handler.__name__.replace("_", " ")):
            await driven(handler(), [])


def test_one_that_is_dropped_is_closed() -> None:
    closed: list[str] = []

    async def handler() -> None:
        try:
            await asyncio.Future(loop=loop)
        finally:
            closed.append("closed")

    loop = asyncio.new_event_loop()
    steps = driven(handler(), []).__await__()
    next(steps)
    steps.close()
    loop.close()

    assert closed == ["closed"]
