"""Handlers of many jobs at once: on both databases, with real workers."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from backstay import Backoff, Backstay, BatchItem, Hopeless, State
from backstay.errors import InvalidArguments, InvalidPolicy, InvalidSettings
from backstay.testing import PrivatePostgres

SOON = 30


@pytest.fixture(params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Backstay]:
    url = f"sqlite:///{tmp_path}/jobs.db"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"batches_{abs(hash(str(tmp_path)))}"
        server.create_database(name)
        url = server.url(name)
    app = Backstay(url, settings={"tick": "500ms"})
    await app._connections.migrate()
    yield app
    await app.close()


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON):
        while not await is_so():
            await asyncio.sleep(0.02)


async def in_state(app: Backstay, state: State) -> int:
    return sum(one.jobs for one in await app.jobs.counts() if one.state is state)


async def ended(app: Backstay, number: int, *, state: State = State.COMPLETED) -> None:
    async def are_there() -> bool:
        return await in_state(app, state) >= number

    await until(are_there)


@dataclass
class Page:
    url: str
    words: int = 0


async def test_jobs_are_handled_together_in_one_slot_and_each_has_its_own_result(app: Backstay) -> None:
    sizes: list[int] = []

    @app.batch_job(size=40, wait="100ms")
    async def index(items: list[BatchItem[Page]]) -> None:
        sizes.append(len(items))
        await asyncio.sleep(0.01)
        for item in items:
            item.complete({"url": item.value.url, "words": item.value.words * 2})

    handles = await app.jobs.enqueue_many([index.args(Page(f"p{n}", n)) for n in range(100)])
    async with app.working(concurrency=1):
        await ended(app, 100)

    assert sizes == [40, 40, 20]
    assert await handles[7].result() == {"url": "p7", "words": 14}
    assert [run.attempt for run in await app.jobs.runs(handles[7].id)] == [1]


async def test_a_few_jobs_wait_no_longer_than_they_have_to(app: Backstay) -> None:
    sizes: list[int] = []

    @app.batch_job(size=1000, wait="50ms")
    def index(items: list[BatchItem[int]]) -> None:
        sizes.append(len(items))
        for item in items:
            item.complete(item.value)

    async with app.working():
        await app.jobs.enqueue_many([index.args(n) for n in range(3)])
        await ended(app, 3)
        last = await index.enqueue(9)

        assert await last.result(timeout=SOON) == 9
    assert sizes == [3, 1]


async def test_every_item_can_end_in_its_own_way(app: Backstay) -> None:
    @app.batch_job(size=10, wait="200ms", max_attempts=2)
    async def deliver(items: list[BatchItem[str]]) -> None:
        for item in items:
            match item.value:
                case "well":
                    item.complete()
                case "hopeless":
                    item.fail(Hopeless("no such address"))
                case "later":
                    item.snooze("1h")
                case "again":
                    item.retry("1h")
                case "never":
                    item.cancel("not wanted any more")

    handles = {word: await deliver.enqueue(word) for word in ("well", "hopeless", "later", "again", "never")}
    forgotten = await deliver.options(max_attempts=1).enqueue("forgotten")
    async with app.working():
        await ended(app, 2, state=State.DEAD)
    jobs = {word: await handle.get() for word, handle in handles.items()}

    assert {word: job.state for word, job in jobs.items()} == {
        "well": State.COMPLETED,
        "hopeless": State.DEAD,
        "later": State.SCHEDULED,
        "again": State.SCHEDULED,
        "never": State.CANCELLED,
    }
    assert (jobs["later"].attempt, jobs["again"].attempt) == (0, 1)
    error = (await forgotten.get()).error
    assert error is not None
    assert "gave this job no ending" in error["message"]


async def test_an_error_of_the_handler_is_that_of_all_without_an_ending_and_they_are_tried_alone(
    app: Backstay,
) -> None:
    seen: list[list[int]] = []

    @app.batch_job(size=4, wait="200ms", max_attempts=3, backoff=Backoff.fixed("1ms"))
    async def add(items: list[BatchItem[int]]) -> None:
        seen.append(sorted(item.value for item in items))
        for item in sorted(items, key=lambda one: one.value):
            if item.value == 2:
                raise ValueError("two is too many")
            item.complete(item.value)

    await app.jobs.enqueue_many([add.args(n) for n in range(4)])
    async with app.working(concurrency=1):
        await ended(app, 3)
        await ended(app, 1, state=State.DEAD)

    assert seen[0] == [0, 1, 2, 3]
    assert sorted(seen[1:]) == [[2], [2], [3]]


async def test_a_time_limit_ends_the_batch_and_what_was_done_stays_done(app: Backstay) -> None:
    @app.batch_job(size=3, wait="200ms", timeout="300ms", max_attempts=1)
    async def slow(items: list[BatchItem[int]]) -> None:
        items[0].complete("in time")
        await asyncio.sleep(60)

    await app.jobs.enqueue_many([slow.args(n) for n in range(3)])
    async with app.working(concurrency=1):
        await ended(app, 2, state=State.DEAD)

    assert await in_state(app, State.COMPLETED) == 1
    dead = await app.dead_letters.open()
    assert {letter.error["type"] for letter in dead if letter.error} == {"TimeoutError"}


async def test_cancelling_one_job_leaves_the_others_alone(app: Backstay) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.batch_job(size=3, wait="200ms")
    async def steady(items: list[BatchItem[int]]) -> None:
        begun.set()
        await go_on.wait()
        for item in items:
            if item.value != 1:
                item.complete()

    handles = await app.jobs.enqueue_many([steady.args(n) for n in range(3)])
    async with app.working():
        async with asyncio.timeout(SOON):
            await begun.wait()
        await handles[1].cancel()

        async def is_asked() -> bool:
            return (await handles[1].get()).cancel_requested_at is not None

        await until(is_asked)
        await asyncio.sleep(0.3)
        go_on.set()
        await ended(app, 2)
        await ended(app, 1, state=State.CANCELLED)


async def test_a_worker_that_stops_gives_back_those_that_wait_for_company(app: Backstay) -> None:
    @app.batch_job(size=50, wait="60s")
    async def index(items: list[BatchItem[int]]) -> None: ...

    handles = await app.jobs.enqueue_many([index.args(n) for n in range(3)])
    async with app.working():

        async def are_taken() -> bool:
            return await in_state(app, State.RUNNING) == 3

        await until(are_taken)
    jobs = [await handle.get() for handle in handles]

    assert [(job.state, job.attempt) for job in jobs] == [(State.AVAILABLE, 0)] * 3


async def test_arguments_that_no_longer_fit_hold_their_job_alone(app: Backstay) -> None:
    @app.batch_job(size=2, wait="200ms", kind="index")
    async def index(items: list[BatchItem[int]]) -> None:
        for item in items:
            item.complete(item.value)

    await index.enqueue(1)
    other = Backstay(app.url)
    other.declare("index")
    await other.jobs.enqueue_by_name("index", {"item": "one"})
    await other.close()
    async with app.working():
        await ended(app, 1)
        await ended(app, 1, state=State.HELD)


async def test_other_jobs_run_beside_a_batch(app: Backstay) -> None:
    @app.batch_job(size=10, wait="10s")
    async def index(items: list[BatchItem[int]]) -> None: ...

    @app.job
    async def small(n: int) -> int:
        return n

    await index.enqueue(1)
    async with app.working(concurrency=1):
        assert await (await small.enqueue(5)).result(timeout=SOON) == 5


def test_what_cannot_be_a_batch_handler_is_refused_where_it_is_written(tmp_path: Any) -> None:
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db")

    with pytest.raises(InvalidSettings, match="exactly one parameter, annotated list"):

        @app.batch_job(size=2)  # type: ignore[arg-type]  # that is the point
        async def wrong(items: list[int]) -> None: ...

    with pytest.raises(InvalidSettings, match="exactly one parameter, annotated list"):

        @app.batch_job(size=10)
        def of_anything(items: typing.List) -> None:  # type: ignore[type-arg]  # noqa: UP006  # what is refused
            pass

    with pytest.raises(InvalidSettings, match="1 to 1,000 jobs"):

        @app.batch_job(size=0)
        async def empty(items: list[BatchItem[int]]) -> None: ...

    with pytest.raises(InvalidPolicy, match="at most a minute"):

        @app.batch_job(size=2, wait="2m")
        async def patient(items: list[BatchItem[int]]) -> None: ...


async def test_a_wrong_value_is_refused_when_it_is_enqueued(app: Backstay) -> None:
    @app.batch_job(size=2)
    async def index(items: list[BatchItem[Page]]) -> None: ...

    with pytest.raises(InvalidArguments, match="Expected `str`"):
        await index.enqueue({"url": 7})  # type: ignore[arg-type]  # that is the point


async def test_items_can_be_made_by_hand_to_try_a_handler(app: Backstay) -> None:
    @app.batch_job(size=2)
    async def double(items: list[BatchItem[int]]) -> None:
        for item in items:
            item.complete(item.value * 2)

    items = [BatchItem(1), BatchItem(2)]
    await double(items)

    assert [item.ending() for item in items] == [(2, None), (4, None)]
    assert timedelta(0) == double.spec.batching.wait  # type: ignore[union-attr]  # it is a batch handler
