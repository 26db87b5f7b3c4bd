"""Many small recurring tasks behind one kind: a job names the task, and a lock lets each period run once.

    tasks = Tasks(app)

    @tasks.task(period="15m")
    async def poll(now: datetime) -> int: ...

A job of the kind carries `{"task": "poll", "reference_time": …}`. The task is called with the reference time as its
`now`, under the lock `poll:2026-03-01T10:15Z`: its name and the start of the period that the reference time is in.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, Unpack

from windlass.app import Windlass
from windlass.client.scheduling import Asked, Timing
from windlass.context import Context
from windlass.durations import Duration, duration
from windlass.errors import Hopeless, InvalidArguments, InvalidSettings, LockTaken
from windlass.handle import JobHandle
from windlass.handler import AsyncHandler, BoundHandler
from windlass.registry import DEFAULT_QUEUE
from windlass.schedules import written

F = TypeVar("F", bound=Callable[..., Any])

HOUR = timedelta(hours=1)
SHORTEST_KEEP = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its function, which takes `now`, and how long its periods are."""

    name: str
    function: Callable[..., Any]
    period: timedelta = HOUR
    keep: timedelta = SHORTEST_KEEP

    def lock_id(self, moment: datetime) -> str:
        """The lock of the period that a moment is in."""
        return f"{self.name}:{period_start(moment, self.period):%Y-%m-%dT%H:%MZ}"


def period_start(moment: datetime, period: timedelta) -> datetime:
    """The start of the period that a moment is in; periods are counted in UTC, so that a day begins at midnight."""
    return _EPOCH + (moment - _EPOCH) // period * period


class Tasks:
    """The tasks of one application, behind one kind."""

    def __init__(
        self, app: Windlass, *, kind: str = "run_task", queue: str = DEFAULT_QUEUE, **policy: Any
    ) -> None:
        self.kind = kind
        self._app = app
        self._tasks: dict[str, Task] = {}

        async def run_task(
            ctx: Context, task: str, reference_time: datetime | None = None, force: bool = False
        ) -> dict[str, Any]:
            return await self._run(ctx, task, force=force)

        run_task.__doc__ = "Run one task under the lock of its period."
        self.handler: AsyncHandler[..., dict[str, Any]] = app.job(kind=kind, queue=queue, **policy)(run_task)

    def task(
        self, name: str | None = None, *, period: Duration = "1h", keep: Duration | None = None
    ) -> Callable[[F], F]:
        """Register a function that takes `now`; a first parameter annotated Context is passed in as well.

        What it returns, a count or an object with `items`, is what the history shows. A period that was run is not run
        again while its lock is kept: a day, or twice the period if that is longer, unless `keep` says otherwise.
        """
        length = duration(period, field="period", shortest=timedelta(minutes=1))
        kept = (
            max(2 * length, SHORTEST_KEEP) if keep is None else duration(keep, field="keep", shortest=length)
        )

        def register(function: F) -> F:
            given = name or function.__name__
            if given in self._tasks:
                raise InvalidSettings(
                    f"the task {given!r} is registered twice: give one of them another name"
                )
            self._tasks[given] = Task(given, function, length, kept)
            return function

        return register

    def schedule(self, task: str, cron: str | None = None, /, **asked: Unpack[Timing]) -> None:
        """Let a task be enqueued at certain times, as a schedule of its name; its time becomes the reference time."""
        found = self.get(task)
        if cron is not None:
            asked["cron"] = cron
        asked["args"] = {"task": found.name}
        self._app.code_schedules.add(found.name, self._named(found), Asked(**asked))

    async def enqueue(
        self, task: str, *, reference_time: datetime | None = None, force: bool = False
    ) -> JobHandle[dict[str, Any]]:
        """Store a job for a task; `force` runs it although its period has run. Raises InvalidArguments."""
        if reference_time is not None and reference_time.tzinfo is None:
            raise InvalidArguments(self.kind, "a reference time needs a time zone", field="reference_time")
        named = self._named(self.get(task))
        moment = None if reference_time is None else reference_time.astimezone(UTC)
        return await named.enqueue(task=task, reference_time=moment, force=force)

    def get(self, task: str) -> Task:
        """A task by its name; raises InvalidArguments with the nearest names."""
        if task in self._tasks:
            return self._tasks[task]
        near = difflib.get_close_matches(task, self._tasks, n=3)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self._tasks) or 'none'}"
        )
        raise InvalidArguments(self.kind, f"no task {task!r}: {hint}", field="task")

    def _named(self, task: Task) -> BoundHandler[..., dict[str, Any]]:
        return self.handler.options(name=task.name)

    async def _run(self, ctx: Context, name: str, *, force: bool) -> dict[str, Any]:
        try:
            task = self.get(name)
        except InvalidArguments as error:
            raise Hopeless(str(error)) from error
        now = ctx.now.astimezone(UTC)
        told = {"task": task.name, "reference_time": written(now)}
        if force:
            return {**told, **_reported(await _call(task.function, ctx, now))}
        try:
            async with ctx.lock(task.lock_id(now), task.keep, keep=True):
                return {**told, **_reported(await _call(task.function, ctx, now))}
        except LockTaken as error:
            return {**told, "skipped": str(error)}


async def _call(function: Callable[..., Any], ctx: Context, now: datetime) -> Any:
    wants_context = len(inspect.signature(function).parameters) > 1
    given = (ctx, now) if wants_context else (now,)
    if inspect.iscoroutinefunction(function):
        return await function(*given)
    return await asyncio.to_thread(function, *given)


def _reported(found: Any) -> dict[str, Any]:
    """What a task reports, for the history."""
    match found:
        case None:
            return {}
        case bool():
            return {"result": found}
        case int():
            return {"items": found}
        case dict():
            return found
        case _:
            return {"result": found}
