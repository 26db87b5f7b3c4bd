"""The blocking twin of the harness, for tests without an event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal, ParamSpec, TypeVar

from backstay.handler import BoundHandler, Handler
from backstay.model.job import Job
from backstay.model.text.durations import Duration
from backstay.testing.clock import FrozenClock
from backstay.testing.harness import MOST_ATTEMPTS, AnyHandler, Harness
from backstay.testing.results import Drained
from backstay.testing.runner import Ran

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class SyncHarness:
    """Does what `Harness` does, by blocking calls; `async def` handlers run on the loop behind blocking calls."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.app = harness.app

    @property
    def clock(self) -> FrozenClock:
        """The clock that the database goes by."""
        return self._harness.clock

    @property
    def now(self) -> datetime:
        """The time in the database."""
        return self._harness.now

    def enqueued(self, job: AnyHandler | str, /, **args: Any) -> list[Job]:
        """The jobs of a handler that the test has stored, in order."""
        return self._run(lambda: self._harness.enqueued(job, **args), "enqueued")

    def assert_enqueued(self, job: AnyHandler | str, /, **args: Any) -> Job:
        """The first job of a handler with these arguments and options; raises AssertionError without one."""
        __tracebackhide__ = True
        return self._run(lambda: self._harness.assert_enqueued(job, **args), "assert_enqueued")

    def refute_enqueued(self, job: AnyHandler | str, /, **args: Any) -> None:
        """Raise AssertionError if there is such a job."""
        __tracebackhide__ = True
        self._run(lambda: self._harness.refute_enqueued(job, **args), "refute_enqueued")

    def drain(self, *, with_scheduled: bool = False, most: int = MOST_ATTEMPTS) -> Drained:
        """Run what can run now until nothing is left."""
        return self._run(lambda: self._harness.drain(with_scheduled=with_scheduled, most=most), "drain")

    def run_job(self, handler: Handler[P, R] | BoundHandler[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Enqueue a job, run this one, and return what its handler returns or raise what it raises."""
        return self._run(lambda: self._harness.run_job(handler, *args, **kwargs), "run_job")

    def try_job(
        self, handler: Handler[P, R] | BoundHandler[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Ran:
        """Enqueue a job, run this one, and return whatever came of it."""
        return self._run(lambda: self._harness.try_job(handler, *args, **kwargs), "try_job")

    def travel(self, by: Duration | None = None, *, to: datetime | None = None) -> None:
        """Move the time on, and let happen what became due, but run nothing."""
        self._run(lambda: self._harness.travel(by, to=to), "travel")

    def crash_worker(
        self, handler: AnyHandler | None = None, *, when: Literal["before", "after"] = "before"
    ) -> Job:
        """Let a worker take the next job and die."""
        return self._run(lambda: self._harness.crash_worker(handler, when=when), "crash_worker")

    def _run(self, call: Callable[[], Awaitable[T]], name: str) -> T:
        __tracebackhide__ = True
        return self.app._sync_loop.run(call, name=f"backstay_sync.{name}")
