"""Whatever a handler says about its end is an outcome of that job, and costs neither its neighbours nor the worker."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from support import eventually

from backstay import Backoff, Backstay, Cancel, Job, Retry, Snooze, State


class Unreadable(Snooze):
    """A subclass that carries something else than its parent promises."""

    def __init__(self) -> None:
        self.delay: Any = object()


class Voiceless:
    """Something that cannot be said."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


WAITS: list[Callable[[], Exception]] = [
    lambda: Retry("busy", after=3600),
    lambda: Retry(after="1h"),
    lambda: Snooze("1h"),
    lambda: Snooze(3600),
]
REASONS: dict[Any, str] = {
    "sold out": "sold out",
    ("sold", "out"): "('sold', 'out')",
    "sold \udcff out": "sold \\udcff out",
    None: "cancelled by its handler",
    "  ": "cancelled by its handler",
}
FAULTS: list[tuple[Callable[[], Exception], str]] = [
    (lambda: Snooze("soon"), "delay"),
    (lambda: Snooze(timedelta.max), "at most 36500 days"),
    (lambda: Retry(after="soon"), "after"),
    (Unreadable, "delay"),
    (lambda: Cancel(Voiceless()), "no words"),  # type: ignore[arg-type]  # the mistake
]


async def ended(url: str, endings: list[Callable[[], Exception]]) -> list[Job]:
    """What becomes of jobs whose handlers end like this, all at once in one worker, which goes on afterwards."""
    app = Backstay(url)

    @app.job(max_attempts=3, backoff=Backoff.fixed("1h"))
    async def end(number: int) -> None:
        raise endings[number]()

    @app.job
    async def note() -> str:
        return "still there"

    handles = await app.jobs.enqueue_many([end.args(number=number) for number in range(len(endings))])
    async with app.working(concurrency=20) as worker:
        await eventually(lambda: worker.settled == len(endings), within=10)
        assert await (await note.enqueue()).result(timeout=10) == "still there"
    jobs = [await handle.get() for handle in handles]
    await app.close()
    return jobs


async def test_a_wait_is_given_like_every_other_length_of_time(url: str) -> None:
    for job in await ended(url, WAITS):
        assert job.state is State.SCHEDULED
        assert timedelta(minutes=59) < job.run_at - job.updated_at <= timedelta(hours=1)


async def test_a_reason_is_whatever_can_be_said_of_it(url: str) -> None:
    jobs = await ended(url, [lambda reason=reason: Cancel(reason) for reason in REASONS])

    assert [job.state for job in jobs] == [State.CANCELLED] * len(jobs)
    assert [job.reason for job in jobs] == list(REASONS.values())


async def test_what_cannot_be_understood_is_a_failure_that_says_so(url: str) -> None:
    jobs = await ended(url, [make for make, _ in FAULTS])

    for job, (_, word) in zip(jobs, FAULTS, strict=True):
        assert job.state is State.SCHEDULED
        assert job.error is not None
        assert word in job.error["message"]


@pytest.mark.parametrize("given", [timedelta(days=-1), -5, -0.5])
def test_a_wait_that_is_over_is_no_wait(given: Any) -> None:
    assert Snooze(given).delay == timedelta(0)
    assert Retry(after=given).after == timedelta(0)
