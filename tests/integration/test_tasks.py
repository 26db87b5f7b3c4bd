"""Locks in handlers, and many tasks behind one kind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backstay import Backstay, Context, Hopeless, State, Tasks, period_lock_id, period_start
from backstay.errors import InvalidArguments, InvalidPolicy, InvalidSchedule, InvalidSettings
from backstay.tasks import Task
from backstay.testing import FrozenClock, Harness, PrivatePostgres, harness

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

app = Backstay("sqlite:////nowhere/backstay.db")
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


@tasks.task(period="1h")
async def tidy(now: datetime, limit: int = 10, dry_run: bool = False) -> dict[str, Any]:
    return {"limit": limit, "removed": 0 if dry_run else limit}


@tasks.task(period="1h")
async def print_labels(ctx: Context, now: datetime) -> int:
    async with ctx.lock("printer", "10m"):
        return 3


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
    from backstay import current

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
        await tasks.enqueue("poll", reference_time=START - HOUR + quarter * 15 * MINUTE)
    await tasks.enqueue("poll", reference_time=START - HOUR + 16 * MINUTE)

    results = await ran(shelf)

    assert [result.get("items") for result in results] == [7, 7, 7, 7, None]
    assert "poll:2026-03-01T09:15Z" in results[4]["skipped"]
    assert [now for _, now in seen] == [START - HOUR + quarter * 15 * MINUTE for quarter in range(4)]


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
    await app.locks.acquire("poll:2026-03-01T10:15Z", ttl="1d", holder="somebody")
    await shelf.drain()
    await shelf.travel("15m")
    await shelf.drain()

    [entry] = await app.schedules.history("poll")

    assert entry.status == "skipped"
    assert entry.reason is not None
    assert "is held by" in entry.reason


async def test_a_lock_that_the_task_itself_finds_taken_is_waited_for(shelf: Harness) -> None:
    await app.locks.acquire("printer", ttl="5m", holder="somebody")
    job = await tasks.enqueue("print_labels")

    await shelf.drain()
    waiting = await app.jobs.get(job.id)
    await shelf.travel("6m")
    await shelf.drain()

    assert (waiting.state, waiting.attempt) == (State.SCHEDULED, 0)
    assert (await job.result())["items"] == 3


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
    own = Backstay(url)
    own._registry = app._registry
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


async def test_a_task_takes_arguments_and_options_and_refuses_what_it_does_not_take(shelf: Harness) -> None:
    job = await tasks.enqueue("tidy", args={"limit": 3}, metadata={"flow": "F-7"}, tags=["nightly"])

    [result] = await ran(shelf)

    stored = await app.jobs.get(job.id)
    assert (result["limit"], result["removed"]) == (3, 3)
    assert (stored.metadata, list(stored.tags)) == ({"flow": "F-7"}, ["nightly"])
    with pytest.raises(InvalidArguments, match="'tidy' has no most: it takes limit"):
        await tasks.enqueue("tidy", args={"most": 3})
    with pytest.raises(InvalidArguments, match="'poll' has no limit: it takes none"):
        await tasks.enqueue("poll", args={"limit": 3})


async def test_a_dry_run_takes_no_lock_and_only_some_tasks_have_one(shelf: Harness) -> None:
    await tasks.enqueue("tidy", dry_run=True)
    await tasks.enqueue("tidy")

    dry, real = await ran(shelf)

    assert (dry["dry_run"], dry["removed"]) == (True, 0)
    assert real["removed"] == 10
    with pytest.raises(InvalidArguments, match="'poll' has no dry run"):
        await tasks.enqueue("poll", dry_run=True)


async def test_a_reference_time_in_the_future_is_refused_unless_forced(shelf: Harness) -> None:
    ahead = START + HOUR

    with pytest.raises(InvalidArguments, match="is in the future"):
        await tasks.enqueue("poll", reference_time=ahead)
    await tasks.enqueue("poll", reference_time=ahead, force=True)

    [result] = await ran(shelf)
    assert result["reference_time"].startswith("2026-03-01T11:00")


async def test_a_schedule_is_not_run_for_the_future_unless_forced(shelf: Harness) -> None:
    await app.schedules.create("sweep", careful, every="1h", args={"name": "x"})

    with pytest.raises(InvalidSchedule, match="is in the future"):
        await app.schedules.run_now("sweep", reference_time=START + DAY)

    assert await app.schedules.run_now("sweep", reference_time=START + DAY, force=True) is not None


def test_periods_and_their_locks_are_for_everybody() -> None:
    assert period_lock_id("poll", START + 16 * MINUTE, "15m") == "poll:2026-03-01T10:15Z"
    assert period_start(START + 16 * MINUTE, "1h") == START


async def test_every_run_of_a_task_is_in_its_history_whoever_asked_for_it(shelf: Harness) -> None:
    await tasks.enqueue("poll", created_by="ada")
    await tasks.enqueue("poll", created_by="bob", force=True, reference_time=START - HOUR)
    await tasks.enqueue("tidy", args={"limit": 3}, dry_run=True)
    await shelf.drain()
    await shelf.travel(to=START + 16 * MINUTE)
    await shelf.drain()

    runs = await tasks.history("poll")
    assert [(run.trigger, run.status, run.items, run.created_by) for run in runs] == [
        ("schedule", "completed", 7, "scheduler"),
        ("run_now", "completed", 7, "bob"),
        ("run_now", "completed", 7, "ada"),
    ]
    assert runs[1].reference_time == START - HOUR
    [tidied] = await tasks.history("tidy")
    assert (tidied.trigger, tidied.status, tidied.job_id is not None) == ("run_now", "completed", True)
    assert await tasks.history("print_labels") == []


async def test_a_schedule_that_has_had_no_success_for_too_long_is_found(shelf: Harness) -> None:
    await shelf.travel(to=START + 16 * MINUTE)
    await shelf.drain()
    assert await silent() == []

    broken.extend(["away"] * 100)
    await shelf.travel(to=START + 50 * MINUTE)
    [found] = await silent()
    assert (found.severity.value, "'poll' has had no success for" in found.title) == ("warning", True)
    assert "backstay schedules history poll" in found.advice

    broken.clear()
    await shelf.drain(with_scheduled=False)
    assert await silent() == []


async def silent() -> list[Any]:
    return [one for one in await app.doctor.check() if one.code == "schedule_without_success"]
