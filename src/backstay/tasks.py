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
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, Unpack

from backstay.app import Backstay
from backstay.client.scheduling import Asked, Declared, Timing, define
from backstay.context import Context
from backstay.errors import Hopeless, InvalidArguments, InvalidSettings, LockTaken, ScheduleNotFound
from backstay.handle import JobHandle
from backstay.handler import AsyncHandler, BoundHandler
from backstay.handlers.spec import DEFAULT_QUEUE
from backstay.model.schedules.records import HistoryEntry
from backstay.model.schedules.schedule import written
from backstay.model.text.durations import Duration, duration
from backstay.options import JobOptions, Options

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
        return period_lock_id(self.name, moment, self.period)

    def wants_context(self) -> bool:
        """Return True if the function takes the context before `now`."""
        parameters = list(inspect.signature(self.function).parameters.values())
        return len(parameters) > 1 and (
            parameters[1].name == "now" or parameters[0].annotation in (Context, "Context")
        )

    def takes(self) -> frozenset[str]:
        """What the function takes besides the context and `now`."""
        names = list(inspect.signature(self.function).parameters)
        return frozenset(names[2 if self.wants_context() else 1 :])


def period_lock_id(name: str, moment: datetime, period: Duration) -> str:
    """The lock of the period that a moment is in, for a kind of your own that runs once a period.

    >>> async with ctx.lock(period_lock_id("poll", ctx.now, "15m"), "1d", keep=True): ...
    """
    return f"{name}:{period_start(moment, period):%Y-%m-%dT%H:%MZ}"


def period_start(moment: datetime, period: Duration) -> datetime:
    """The start of the period that a moment is in; periods are counted in UTC, so that a day begins at midnight."""
    length = duration(period, field="period", shortest=timedelta(minutes=1))
    return _EPOCH + (moment - _EPOCH) // length * length


class Tasks:
    """The tasks of one application, behind one kind."""

    def __init__(
        self, app: Backstay, *, kind: str = "run_task", queue: str = DEFAULT_QUEUE, **policy: Any
    ) -> None:
        self.kind = kind
        self._app = app
        self._tasks: dict[str, Task] = {}

        async def run_task(
            ctx: Context,
            task: str,
            reference_time: datetime | None = None,
            force: bool = False,
            dry_run: bool = False,
            args: dict[str, Any] | None = None,
        ) -> dict[str, Any]:
            return await self._run(ctx, task, dict(args or {}), force=force, dry_run=dry_run)

        run_task.__doc__ = "Run one task under the lock of its period."
        self.handler: AsyncHandler[..., dict[str, Any]] = app.job(kind=kind, queue=queue, **policy)(run_task)

    def task(
        self, name: str | None = None, *, period: Duration = "1h", keep: Duration | None = None
    ) -> Callable[[F], F]:
        """Register a function that takes `now`; a first parameter annotated Context is passed in as well.

        Other parameters are filled from a job's `args`; one called `dry_run` says whether nothing may be changed.
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
        """Enqueue a task at certain times, by a schedule of its name; the time of a fire becomes the reference time."""
        found = self.get(task)
        if cron is not None:
            asked["cron"] = cron
        own = asked.get("args")
        asked["args"] = {"task": found.name, **({"args": own} if own else {})}
        self._app._code_schedules.add(found.name, self._named(found), Asked(**asked))

    async def enqueue(
        self,
        task: str,
        *,
        reference_time: datetime | None = None,
        force: bool = False,
        dry_run: bool = False,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[dict[str, Any]]:
        """Store a job for a task, with options such as `metadata` and `tags`.

        `force` runs it although its period has run, and allows a reference time in the future. A `dry_run` takes no
        lock, and only a task with a parameter of that name has one. Raises InvalidArguments.
        """
        found, given = self.get(task), dict(args or {})
        self._check(found, given, dry_run=dry_run)
        if reference_time is not None and reference_time.tzinfo is None:
            raise InvalidArguments(self.kind, "a reference time needs a time zone", field="reference_time")
        if not force and await self._app.schedules._is_future(reference_time):
            raise InvalidArguments(
                self.kind, f"{reference_time} is in the future: use force to run it", field="reference_time"
            )
        moment = None if reference_time is None else reference_time.astimezone(UTC)
        more = {name: value for name, value in (("dry_run", dry_run), ("args", given)) if value}
        named = self._named(found).options(**options) if options else self._named(found)
        passed = {"task": task, "reference_time": moment, "force": force, **more}
        joined = await self._app._enqueuer._transaction(named._options.tx)
        if joined is not None or _is_keyed(named._options):
            # What may not be stored, or be another one, is no run yet.
            return await named.enqueue(**passed)
        call = (named.spec, named.spec.bind((), passed), named._options)
        handle: JobHandle[dict[str, Any]] = await self._app.schedules._run_declared(
            self._declared(found), call, reference_time=moment
        )
        return handle

    async def history(
        self, task: str, *, before: datetime | None = None, limit: int = 100
    ) -> list[HistoryEntry]:
        """Every run of a task, by its schedule or asked for, newest first; `before` is a fire time."""
        try:
            return await self._app.schedules.history(self.get(task).name, before=before, limit=limit)
        except ScheduleNotFound:
            return []

    def _declared(self, task: Task) -> Declared:
        """The schedule of a task; one that has none has one that never fires, so that its runs have a history."""
        code = self._app._code_schedules
        if (known := code.declared.get(("", task.name))) is not None:
            return known
        named = self._named(task)
        asked = Asked(at=_EPOCH, args={"task": task.name}, enabled=False)
        definition = define(task.name, named.spec, named._options, asked, code.builder)
        return Declared(task.name, definition)

    def _check(self, task: Task, args: Mapping[str, Any], *, dry_run: bool) -> None:
        takes = task.takes()
        if dry_run and "dry_run" not in takes:
            raise InvalidArguments(self.kind, f"the task {task.name!r} has no dry run", field="dry_run")
        own = takes - {"dry_run"}
        unknown = sorted(args.keys() - own)
        if unknown:
            there = f"it takes {', '.join(sorted(own))}" if own else "it takes none"
            raise InvalidArguments(
                self.kind, f"the task {task.name!r} has no {', '.join(unknown)}: {there}", field="args"
            )

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

    async def _run(
        self, ctx: Context, name: str, args: dict[str, Any], *, force: bool, dry_run: bool
    ) -> dict[str, Any]:
        try:
            task = self.get(name)
            self._check(task, args, dry_run=dry_run)
        except InvalidArguments as error:
            raise Hopeless(str(error)) from error
        now = ctx.now.astimezone(UTC)
        told: dict[str, Any] = {"task": task.name, "reference_time": written(now)}
        if "dry_run" in task.takes():
            args["dry_run"] = dry_run
        if force or dry_run:
            told |= {"dry_run": True} if dry_run else {}
            return {**told, **_reported(await _call(task, ctx, now, args))}
        async with AsyncExitStack() as held:
            try:
                await held.enter_async_context(ctx.lock(task.lock_id(now), task.keep, keep=True))
            except LockTaken as error:
                return {**told, "skipped": str(error)}
            # Outside of the `try`: a lock that the task itself asks for may be taken as well, and is waited for.
            return {**told, **_reported(await _call(task, ctx, now, args))}


async def _call(task: Task, ctx: Context, now: datetime, args: Mapping[str, Any]) -> Any:
    given = (ctx, now) if task.wants_context() else (now,)
    if inspect.iscoroutinefunction(task.function):
        return await task.function(*given, **args)
    return await asyncio.to_thread(task.function, *given, **args)


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


def _is_keyed(options: JobOptions) -> bool:
    keys = (
        options.key,
        options.unique,
        options.debounce,
        options.throttle,
        options.held_for,
        options.wait_for,
    )
    return any(value is not None for value in keys)
