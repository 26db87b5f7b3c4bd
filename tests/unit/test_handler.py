"""A handler can be called like its function, and enqueued with checked arguments and options."""

from __future__ import annotations

import dataclasses
import inspect
import json
import uuid
from datetime import timedelta
from typing import Any, get_type_hints

import pytest

from backstay.context import Context, current, enter, leave
from backstay.errors import BackstayError, Cancel, InvalidArguments, InvalidSettings
from backstay.handle import JobHandle
from backstay.handler import AsyncHandler, Handler, JobArgs, PlainHandler, job_decorator
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec, describe
from backstay.model.job import Job, JobId
from backstay.options import JobOptions, Options

JOB_ID = JobId(uuid.UUID(int=7))


class MemoryWithoutLoop:
    """The same, for blocking calls."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def enqueue(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        return self._memory.keep(spec, args_text, options)


class Memory:
    """Keeps what was enqueued and answers about it, in place of a database."""

    def __init__(self) -> None:
        self.enqueued: list[tuple[str, Any, JobOptions]] = []
        self.asked: list[tuple[Any, ...]] = []
        self.result: str | None = None

    @property
    def _enqueuer(self) -> Memory:
        return self

    @property
    def _sync_enqueuer(self) -> MemoryWithoutLoop:
        return MemoryWithoutLoop(self)

    async def enqueue(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        return self.keep(spec, args_text, options)

    def keep(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        self.enqueued.append((spec.kind, json.loads(args_text), options))
        return JobHandle(JOB_ID, spec.kind, True, spec.decode_result, self)

    async def result_text(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        return self.result_text_sync(job_id, timeout=timeout)

    def result_text_sync(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        self.asked.append(("result", job_id, timeout))
        return self.result

    async def get(self, job_id: JobId) -> Job:
        return self.get_sync(job_id)

    def get_sync(self, job_id: JobId) -> Job:
        self.asked.append(("get", job_id))
        return None  # type: ignore[return-value]  # only that it was asked matters

    async def cancel(self, job_id: JobId, *, reason: str) -> None:
        self.cancel_sync(job_id, reason=reason)

    def cancel_sync(self, job_id: JobId, *, reason: str) -> None:
        self.asked.append(("cancel", job_id, reason))


@dataclasses.dataclass
class Report:
    pages: int


async def render(user_id: int, *, pages: int = 1) -> Report:
    """Render a report."""
    return Report(user_id * pages)


def add(left: int, right: int) -> int:
    return left + right


async def whoami(ctx: Context, greeting: str) -> str:
    return f"{greeting} {ctx.kind}"


@pytest.fixture
def memory() -> Memory:
    return Memory()


def context(**fields: Any) -> Context:
    return Context(job_id=JOB_ID, kind="whoami", queue="default", **fields)


async def test_calling_a_handler_runs_the_function(memory: Memory) -> None:
    job = job_decorator(describe, memory)

    assert await job(render)(2, pages=3) == Report(6)
    assert job(add)(1, right=2) == 3
    assert memory.enqueued == []


async def test_a_called_handler_gets_the_current_context(memory: Memory) -> None:
    handler = job_decorator(describe, memory)(whoami)

    token = enter(context())
    greeted = await handler("hello")
    leave(token)

    assert greeted == "hello whoami"
    with pytest.raises(BackstayError, match="takes a context, and no job is running here"):
        await handler("hello")


async def test_enqueueing_stores_the_arguments_by_name(memory: Memory) -> None:
    handle = await job_decorator(describe, memory)(render).enqueue(2, pages=3)

    assert memory.enqueued == [("render", {"user_id": 2, "pages": 3}, JobOptions())]
    assert (handle.id, handle.kind, handle.is_new) == (JOB_ID, "render", True)


def test_enqueueing_works_without_a_loop(memory: Memory) -> None:
    handle = job_decorator(describe, memory)(add).enqueue_sync(1, 2)
    memory.result = "3"

    assert memory.enqueued == [("add", {"left": 1, "right": 2}, JobOptions())]
    assert handle.result_sync(timeout=5) == 3


async def test_a_call_that_does_not_fit_stores_nothing(memory: Memory) -> None:
    handler: Handler[..., Any] = job_decorator(describe, memory)(render)

    with pytest.raises(InvalidArguments, match="user_id"):
        await handler.enqueue("2")
    with pytest.raises(InvalidArguments, match="user_id"):
        handler.args()

    assert memory.enqueued == []


async def test_the_context_is_no_argument(memory: Memory) -> None:
    await job_decorator(describe, memory)(whoami).enqueue(greeting="hello")

    assert memory.enqueued[0][1] == {"greeting": "hello"}


async def test_options_hold_for_what_is_enqueued_through_them(memory: Memory) -> None:
    handler = job_decorator(describe, memory)(add)
    later = handler.options(delay="5m", key="a")

    await later.enqueue(1, 2)
    await later.options(key="b", priority=1).enqueue(1, 2)
    await handler.enqueue(1, 2)

    assert [options for _, _, options in memory.enqueued] == [
        JobOptions(delay="5m", key="a"),
        JobOptions(delay="5m", key="b", priority=1),
        JobOptions(),
    ]


def test_an_unknown_option_is_refused(memory: Memory) -> None:
    options: Any = {"dealy": "5m"}

    with pytest.raises(TypeError, match="dealy"):
        job_decorator(describe, memory)(add).options(**options)


def test_every_option_can_be_given_by_name() -> None:
    assert get_type_hints(Options) == get_type_hints(JobOptions)


def test_checked_calls_can_be_kept_for_later(memory: Memory) -> None:
    handler = job_decorator(describe, memory)(add)

    call = handler.options(priority=1).args(1, 2)

    assert call == JobArgs(handler.spec, '{"left":1,"right":2}', JobOptions(priority=1))
    assert memory.enqueued == []


def test_a_handler_still_looks_like_its_function(memory: Memory) -> None:
    handler = job_decorator(describe, memory)(render)

    assert isinstance(handler, AsyncHandler)
    assert isinstance(job_decorator(describe, memory)(add), PlainHandler)
    assert (handler.__name__, handler.__doc__) == ("render", "Render a report.")
    assert handler.kind == "render"
    assert list(inspect.signature(handler).parameters) == ["user_id", "pages"]
    assert "render" in repr(handler)


def test_a_declared_kind_has_nothing_to_call(memory: Memory) -> None:
    with pytest.raises(InvalidSettings, match="only declared"):
        Handler(Registry().declare("elsewhere"), memory)


async def test_a_result_comes_back_in_its_type(memory: Memory) -> None:
    handle = await job_decorator(describe, memory)(render).enqueue(1)
    memory.result = '{"pages":4}'

    assert await handle.result(timeout=1.5) == Report(4)
    assert memory.asked == [("result", JOB_ID, timedelta(seconds=1.5))]


async def test_a_handle_asks_about_its_own_job(memory: Memory) -> None:
    handle = await job_decorator(describe, memory)(render).enqueue(1)

    await handle.get()
    handle.get_sync()
    await handle.cancel("not needed")
    handle.cancel_sync()
    await handle.result()

    assert memory.asked == [
        ("get", JOB_ID),
        ("get", JOB_ID),
        ("cancel", JOB_ID, "not needed"),
        ("cancel", JOB_ID, "cancelled by its caller"),
        ("result", JOB_ID, None),
    ]


def test_a_context_tells_which_attempt_runs() -> None:
    token = enter(context(attempt=2, max_attempts=3))
    ctx = current()
    leave(token)

    assert (ctx.attempt, ctx.max_attempts, ctx.idempotency_key) == (2, 3, str(JOB_ID))
    assert not ctx.is_cancelled()
    ctx.check()
    with pytest.raises(BackstayError):
        current()


def test_a_cancelled_job_is_stopped_where_it_checks() -> None:
    class Cancelled(Context):
        def is_cancelled(self) -> bool:
            return True

    with pytest.raises(Cancel):
        Cancelled(job_id=JOB_ID, kind="a", queue="b").check()
