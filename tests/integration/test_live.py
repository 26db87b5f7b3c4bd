"""Live status: the state first, then every change once and in order, whatever happens to the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from backstay import Backstay, Context
from backstay.errors import Forbidden, InvalidSettings, JobNotFound
from backstay.options import JobOptions
from backstay.records import LiveEvent
from backstay.testing import PrivatePostgres

PATIENCE = 60
STREAMS = 50
CHANGES = 100
LISTENERS = 20


@pytest.fixture
async def app(empty_app: Backstay) -> Backstay:
    @empty_app.job
    async def add(a: int, b: int) -> int:
        return a + b

    @empty_app.job
    async def count(ctx: Context, to: int) -> None:
        for number in range(1, to + 1):
            ctx.progress(number, to)

    return empty_app


Events = AsyncGenerator[LiveEvent, None]


async def until(events: Events, is_last: Callable[[LiveEvent], bool]) -> list[LiveEvent]:
    """Events up to and including the one that is waited for."""
    found = []
    async with asyncio.timeout(PATIENCE):
        async for event in events:
            found.append(event)
            if is_last(event):
                return found
    raise AssertionError(f"the stream ended: {found}")


def ends(state: str) -> Callable[[LiveEvent], bool]:
    return lambda event: event.data.get("state") == state


@asynccontextmanager
async def working(app: Backstay) -> AsyncIterator[None]:
    worker = app.worker(concurrency=5)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def test_a_job_is_followed_from_its_state_to_its_end(app: Backstay) -> None:
    """ENG-097: the state first, then running and completed, in order."""
    job = await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2})

    async with aclosing(app.live.follow(f"job:{job.id}")) as events:
        first = await anext(events)
        async with working(app):
            others = await until(events, ends("completed"))

    assert (first.type, first.data["state"], first.data["job_id"]) == ("state", "available", str(job.id))
    assert [(event.type, event.data["state"]) for event in others] == [
        ("change", "running"),
        ("change", "completed"),
    ]
    assert "args" not in first.data
    positions = [first.position, *(event.position for event in others)]
    assert positions == sorted(set(positions))


async def test_whoever_comes_late_gets_the_state_first(app: Backstay) -> None:
    job = await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2})
    async with working(app):
        await job.result(timeout=PATIENCE)

    async with aclosing(app.live.follow(f"job:{job.id}")) as events:
        assert (await anext(events)).data["state"] == "completed"


async def test_progress_is_told_while_a_job_runs(app: Backstay) -> None:
    job = await app.jobs.enqueue_by_name("count", {"to": 3})

    async with aclosing(app.live.follow(f"job:{job.id}")) as events, working(app):
        found = await until(events, ends("completed"))

    told = [event.data["progress"]["current"] for event in found if "progress" in event.data]
    assert told == sorted(told)
    assert told[-1:] == [3.0]


async def test_a_flow_is_followed_as_a_whole(app: Backstay) -> None:
    jobs = [
        {"name": "one", "kind": "add", "args": {"a": 1, "b": 2}},
        {"name": "two", "kind": "add", "args": {"a": 1, "b": 2}, "after": ["one"]},
    ]
    flow = await app.flows.start("sums", jobs)
    members = [str(one.id) for one in await app.flows.members(flow.id)]

    async with aclosing(app.live.follow(f"flow:{flow.id}")) as events:
        first = await anext(events)
        async with working(app):
            last = await until(
                events,
                lambda event: (
                    (event.data.get("job_id"), event.data.get("state")) == (members[1], "completed")
                ),
            )

    assert [job["state"] for job in first.data["jobs"]] == ["available", "held"]
    assert {event.data["job_id"] for event in last} == set(members)


async def test_a_queue_is_followed_without_the_others(app: Backstay) -> None:
    await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2}, _in_queue("mail"))

    async with aclosing(app.live.follow("queue:mail")) as events:
        first = await anext(events)
        await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2})
        new = await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2}, _in_queue("mail"))
        [change] = await until(events, lambda event: True)

    assert first.data == {"topic": "queue:mail", "jobs": {"available": 1}}
    assert change.data["job_id"] == str(new.id)


async def test_a_stream_goes_on_where_the_connection_was_lost(app: Backstay) -> None:
    async with aclosing(app.live.follow("all")) as events:
        first = await anext(events)
    missed = [(await app.jobs.enqueue_by_name("add", {"a": n, "b": 0})).id for n in range(5)]

    async with aclosing(app.live.follow("all", after=first.position)) as events:
        found = [await anext(events) for _ in missed]
        last = await app.jobs.enqueue_by_name("add", {"a": 9, "b": 0})
        found += await until(events, lambda event: True)

    assert [event.type for event in found] == ["change"] * 6
    assert [event.data["job_id"] for event in found] == [str(job) for job in [*missed, last.id]]


@pytest.mark.parametrize("after", [0, 10**6])
async def test_what_is_no_longer_kept_or_never_was_is_a_reset_with_the_state(
    app: Backstay, after: int
) -> None:
    async with aclosing(app.live.follow("queue:default", after=after)) as events:
        first = await anext(events)

    assert (first.type, first.data["topic"]) == ("reset", "queue:default")


async def test_nobody_hears_of_another_tenants_jobs(app: Backstay) -> None:
    """ENG-108."""
    theirs = await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2}, _of("globex"))
    acme = app.acting_as("ann", tenant="acme", rights={"live.read"})

    with pytest.raises(JobNotFound):
        await acme.live.follow(f"job:{theirs.id}")
    with pytest.raises(Forbidden):
        await acme.live.follow("tenant:globex")
    with pytest.raises(Forbidden):
        await app.acting_as("ann", tenant="acme", rights={"jobs.read"}).live.follow("all")
    async with aclosing(await acme.live.follow("all")) as events:
        first = await anext(events)
        await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2}, _of("globex"))
        ours = await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2}, _of("acme"))
        [change] = await until(events, lambda event: True)

    assert first.data == {"topic": "all", "jobs": {}}
    assert change.data["job_id"] == str(ours.id)


@pytest.mark.parametrize("topic", ["", "everything", "job:", "job:7", "queue", "all:", "all:x", "flow:x"])
async def test_a_topic_that_is_none_is_refused_by_name(app: Backstay, topic: str) -> None:
    with pytest.raises(InvalidSettings, match="topic"):
        await anext(app.live.follow(topic))


@pytest.mark.parametrize(
    "streams", [STREAMS, pytest.param(500, marks=[pytest.mark.prove, pytest.mark.timeout(900)])]
)
async def test_many_streams_on_one_process_each_get_their_own_in_order(app: Backstay, streams: int) -> None:
    """ENG-098: every stream follows a job of its own, and each hears of its own alone."""
    changes = CHANGES if streams == STREAMS else 1000
    jobs = [await app.jobs.enqueue_by_name("add", {"a": n, "b": 0}, _held()) for n in range(streams)]
    heard: dict[str, list[str]] = {str(job.id): [] for job in jobs}
    expected: dict[str, list[str]] = {str(job.id): [] for job in jobs}

    async with AsyncExitStack() as stack:
        opened = [
            (str(job.id), await stack.enter_async_context(aclosing(app.live.follow(f"job:{job.id}"))))
            for job in jobs
        ]
        await asyncio.gather(*(anext(events) for _, events in opened))
        readers = [asyncio.create_task(_listen(events, heard[job_id])) for job_id, events in opened]
        for number in range(changes):
            job_id = str(jobs[number % streams].id)
            if len(expected[job_id]) % 2:
                await app.jobs.hold(job_id, reason="again")
                expected[job_id].append("held")
            else:
                await app.jobs.release(job_id)
                expected[job_id].append("available")
        async with asyncio.timeout(PATIENCE):
            while sum(map(len, heard.values())) < changes:
                await asyncio.sleep(0.05)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    assert heard == expected


async def _listen(events: Events, heard: list[str]) -> None:
    async for event in events:
        # The state may come a second time, if a transaction had not ended when the stream began.
        if event.type == "change":
            heard.append(event.data["state"])


@pytest.fixture
async def postgres_app(postgres_server: PrivatePostgres) -> AsyncIterator[Backstay]:
    postgres_server.create_database("live")
    app = Backstay(postgres_server.url("live"))
    await app.migrate()

    @app.job
    async def add(a: int, b: int) -> int:
        return a + b

    yield app
    await app.close()
    postgres_server.drop_database("live")


@pytest.mark.parametrize(
    "listeners", [LISTENERS, pytest.param(200, marks=[pytest.mark.prove, pytest.mark.timeout(900)])]
)
async def test_each_listener_hears_every_change_once_though_writers_commit_out_of_order(
    postgres_app: Backstay, listeners: int
) -> None:
    """Connections are cut and resumed all the while; a listener without every change must have had a reset."""
    app, done = postgres_app, asyncio.Event()
    stored: list[str] = []

    async def listen(number: int) -> tuple[list[str], int]:
        heard: list[str] = []
        resets, after = 0, None
        while True:
            async with aclosing(app.live.follow("all", after=after)) as events:
                # The connection is lost after so many events, another number for each listener.
                for _ in range(3 + number % 7):
                    try:
                        async with asyncio.timeout(0.5):
                            event = await anext(events)
                    except TimeoutError:
                        if done.is_set() and len(heard) >= len(stored):
                            return heard, resets
                        break
                    after = event.position
                    resets += event.type == "reset"
                    if event.type == "change":
                        heard.append(event.data["job_id"])

    async with working(app):
        # A worker declares the kind, which programs that enqueue with SQL need.
        await (await app.jobs.enqueue_by_name("add", {"a": 0, "b": 0})).result(timeout=PATIENCE)
    async with aclosing(app.live.follow("all")) as first:
        start = (await anext(first)).position
        tasks = [asyncio.create_task(listen(number)) for number in range(listeners)]
        await asyncio.sleep(0)
        await _write_out_of_order(app, stored)
        done.set()
        async with asyncio.timeout(300):
            results = await asyncio.gather(*tasks)

    assert start >= 0
    for heard, resets in results:
        assert resets == 0
        assert len(heard) == len(set(heard))


async def _write_out_of_order(app: Backstay, stored: list[str]) -> None:
    """Two connections store jobs in transactions; the one that wrote first commits last."""
    early, late = [await asyncpg.connect(app.url) for _ in range(2)]
    try:
        for number in range(20):
            slow = early.transaction()
            await slow.start()
            stored.append(await _store(early, number))
            async with late.transaction():
                stored.append(await _store(late, number))
            await asyncio.sleep(0.02)
            await slow.commit()
    finally:
        await early.close()
        await late.close()


async def _store(connection: Any, number: int) -> str:
    return str(
        await connection.fetchval(
            "SELECT backstay.enqueue('add', jsonb_build_object('a', $1::int, 'b', 0))", number
        )
    )


def _in_queue(queue: str) -> Any:

    return JobOptions(queue=queue)


def _of(tenant: str) -> Any:

    return JobOptions(tenant=tenant)


def _held() -> Any:

    return JobOptions(held_for="a test")
