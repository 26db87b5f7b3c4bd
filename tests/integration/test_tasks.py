"""Locks in handlers, and many tasks behind one kind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from windlass import (
    Context,
    Hopeless,
    InvalidArguments,
    InvalidPolicy,
    InvalidSettings,
    State,
    Tasks,
    Windlass,
)
from windlass.tasks import Task, period_start
from windlass.testing import FrozenClock, Harness, PrivatePostgres, harness

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

app = Windlass("sqlite:////nowhere/windlass.db")
tasks = Tasks(app, queue="upkeep", max_attempts=3)
seen: list[Any] = []
broken: list[str] = []


@tasks.task(period="15m")
async def poll(now: datetime) -> int:
    seen.append(("poll", now))
    if broken:
        raise ConnectionError(broken.pop())
    return 7


@tasks.task(period="1d")
def digest(ctx: Context, now: datetime) -> dict[str, Any]:
    seen.append((ctx.kind, now))
    return {"items": 2, "mails": ["a", "b"]}


@app.job
async def careful(name: str, keep: bool = False, fail: bool = False) -> str:
    async with (ctx := _context()).lock(name, "10m", keep=keep) as lock:
        if fail:
            raise Hopeless("no use")
        seen.append((ctx.job_id, lock.fence))
        return lock.id


@app.job
def plain(ctx: Context, name: str) -> int:
    with ctx.lock(name, "10m") as lock:
        return lock.fence


def _context() -> Context:
    from windlass import current

    return current()


@app.job(runs_in="process")
def apart(ctx: Context, name: str) -> int:
    with ctx.lock(name, "10m", keep=True) as lock:
        return lock.fence


tasks.schedule("poll", "*/15 * * * *")
tasks.schedule("digest", "0 3 * * *", zone="Europe/Berlin")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(START)


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, clock: FrozenClock) -> Iterator[Harness]:
    seen.clear()
    broken.clear()
    if request.param == "sqlite":
        with harness(app, clock=clock) as held:
            yield held
        return
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    server.create_database(name := f"tasks_{abs(hash(request.node.name))}")
    with harness(app, server.url(name), clock=clock) as held:
        yield held


async def ran(shelf: Harness, kind: str = "run_task") -> list[Any]:
    """What the jobs of a kind came to, oldest first."""
    await shelf.drain()
    return [job.result for job in reversed((await app.jobs.search()).jobs) if job.kind == kind]


async def test_four_ticks_of_a_quarter_of_an_hour_all_run_and_a_repeated_one_is_refused(
    shelf: Harness,
) -> None:
    """ENG-077."""
    for quarter in range(4):
        await tasks.enqueue("poll", reference_time=START + quarter * 15 * MINUTE)
    await tasks.enqueue("poll", reference_time=START + 16 * MINUTE)

    results = await ran(shelf)

    assert [result.get("items") for result in results] == [7, 7, 7, 7, None]
    assert "poll:2026-03-01T10:15Z" in results[4]["skipped"]
    assert [now for _, now in seen] == [START + quarter * 15 * MINUTE for quarter in range(4)]


async def test_the_ticks_of_a_schedule_all_run_and_are_in_the_history(shelf: Harness) -> None:
    await shelf.drain()
    for _ in range(4):
        await shelf.travel("15m")
        await shelf.drain()

    entries = await app.schedules.history("poll")

    assert [(entry.status, entry.items) for entry in entries] == [("completed", 7)] * 4
    assert [entry.reference_time for entry in reversed(entries)] == [
        START + turn * 15 * MINUTE for turn in range(1, 5)
    ]
    assert [now for _, now in seen] == [START + turn * 15 * MINUTE for turn in range(1, 5)]


async def test_a_refused_lock_is_a_skipped_entry(shelf: Harness) -> None:
    await tasks.enqueue("poll", reference_time=START + 15 * MINUTE)
    await shelf.drain()
    await shelf.travel("15m")
    await shelf.drain()

    [entry] = await app.schedules.history("poll")

    assert entry.status == "skipped"
    assert entry.reason is not None
    assert "is held by" in entry.reason


async def test_a_failed_run_releases_its_lock_so_that_the_retry_may_run(shelf: Harness) -> None:
    """ENG-078."""
    broken.append("no answer")
    await tasks.enqueue("poll", reference_time=START)

    await shelf.drain()
    await shelf.travel(HOUR)

    [result, *_] = await ran(shelf)
    assert result["items"] == 7
    assert [now for _, now in seen][:2] == [START, START]


async def test_force_runs_a_period_again(shelf: Harness) -> None:
    await tasks.enqueue("digest", reference_time=START)
    await tasks.enqueue("digest", reference_time=START)
    await tasks.enqueue("digest", reference_time=START + HOUR, force=True)

    results = await ran(shelf)

    assert ["skipped" in result for result in results] == [False, True, False]
    assert results[0]["mails"] == ["a", "b"]


async def test_without_a_reference_time_it_is_now(shelf: Harness) -> None:
    await tasks.enqueue("poll")

    assert (await ran(shelf))[0]["reference_time"] == "2026-03-01T10:00:00Z"


async def test_a_task_that_nobody_knows_is_refused(shelf: Harness) -> None:
    with pytest.raises(InvalidArguments, match="did you mean poll"):
        await tasks.enqueue("polll")
    with pytest.raises(InvalidArguments, match="time zone"):
        await tasks.enqueue("poll", reference_time=datetime(2026, 1, 1))  # noqa: DTZ001  # this is the mistake
    job = await app.jobs.enqueue_by_name("run_task", {"task": "gone"})
    await shelf.drain()

    assert (await job.get()).state is State.DEAD


def test_the_lock_of_a_period_is_named_by_its_start() -> None:
    moment = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)

    names = [Task("t", print, period).lock_id(moment) for period in (15 * MINUTE, HOUR, DAY)]

    assert names == ["t:2026-03-01T23:45Z", "t:2026-03-01T23:00Z", "t:2026-03-01T00:00Z"]
    assert period_start(moment, DAY) == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(InvalidSettings, match="registered twice"):
        tasks.task("poll")(lambda now: None)


async def test_a_job_that_finds_its_lock_taken_looks_again_and_spends_no_attempt(shelf: Harness) -> None:
    held = await app.locks.acquire("report", ttl="1m", holder="somebody")
    job = await careful.enqueue(name="report")

    await shelf.drain()
    waiting = await job.get()
    await shelf.travel("2m")
    await shelf.drain()

    assert held is not None
    assert (waiting.state, waiting.attempt) == (State.SCHEDULED, 0)
    assert (await job.get()).state is State.COMPLETED


async def test_a_lock_is_given_back_at_the_end_and_kept_only_if_asked_for(shelf: Harness) -> None:
    for options in ({"name": "a"}, {"name": "b", "keep": True}, {"name": "c", "keep": True, "fail": True}):
        await careful.enqueue(**options)  # type: ignore[arg-type]  # the names are its own
    await plain.enqueue(name="d")

    await shelf.drain()

    assert [lock.id for lock in await app.locks.all()] == ["b"]
    [kept] = await app.locks.all()
    assert kept.job_id is not None
    assert kept.expires_at == START + 10 * MINUTE


async def test_a_handler_in_a_process_of_its_own_takes_locks_through_its_worker(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    own = Windlass(url)
    own.registry = app.registry
    async with own.working(kinds=["apart"]):
        job = await own.jobs.enqueue_by_name("apart", {"name": "p"})
        fence = await own.jobs.result(job.id, timeout=60)
        [lock] = await own.locks.all()
    await own.close()

    assert (lock.id, lock.fence, lock.job_id) == ("p", fence, job.id)


async def test_a_context_that_nobody_runs_has_locks_that_nobody_holds() -> None:
    ctx = Context(job_id=_id(), kind="k", queue="q")

    async with ctx.lock("x", "1m") as lock:
        assert lock.id == "x"


def _id() -> Any:
    from uuid import uuid4

    return uuid4()


def test_locks_refuse_what_makes_no_sense() -> None:
    ctx = Context(job_id=_id(), kind="k", queue="q")

    with pytest.raises(InvalidPolicy, match="ttl"):
        ctx.lock("x", "0s")
