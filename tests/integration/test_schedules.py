"""Schedules from declaration to the run of their jobs, on real databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backstay import Backstay, Context
from backstay.errors import (
    InvalidArguments,
    InvalidPolicy,
    InvalidSchedule,
    InvalidSettings,
    ScheduleNotFound,
    UnknownKind,
)
from backstay.testing import FrozenClock, Harness, PrivatePostgres, harness

SOON = 20
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = datetime(2026, 3, 1, 10, 20, tzinfo=UTC)


def shop(url: str = "sqlite:////nowhere/backstay.db", cron: str = "0 * * * *", **wanted: Any) -> Backstay:
    """One release of an application with a report every hour."""
    app = Backstay(url)

    @app.schedule(cron, **wanted)
    @app.job
    async def report(ctx: Context) -> str:
        return ctx.now.isoformat()

    @app.job(queue="mail")
    async def send(user: int, day: str = "") -> str:
        return f"{user} {day}"

    return app


@pytest.fixture
def own() -> Backstay:
    return shop()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(START)


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, own: Backstay, clock: FrozenClock) -> Any:
    """The application on a database of the test's own, at a time that stands still."""
    if request.param == "sqlite":
        with harness(own, clock=clock) as held:
            yield held
        return
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"schedules_{abs(hash(request.node.name))}"
    server.create_database(name)
    with harness(own, server.url(name), clock=clock) as held:
        yield held


async def results(shelf: Harness) -> list[Any]:
    """What ran by now came to, oldest first."""
    await shelf.drain()
    page = await shelf.app.jobs.search()
    return [job.result for job in reversed(page.jobs)]


async def test_a_schedule_in_code_runs_at_its_time_and_the_handler_knows_it(shelf: Harness) -> None:
    await shelf.drain()
    await shelf.travel(HOUR)

    assert await results(shelf) == ["2026-03-01T11:00:00+00:00"]
    schedule = await shelf.app.schedules.get("report")
    assert (schedule.source, schedule.run_count) == ("code", 1)
    assert schedule.next_fire_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_a_schedule_made_at_run_time_fills_its_arguments(shelf: Harness) -> None:
    created = await shelf.app.schedules.create(
        "mails", "send", cron="30 23 * * *", zone="Europe/Berlin", args={"user": 7, "day": "{fire_date}"}
    )

    await shelf.travel(DAY)

    assert created.next_fire_at == datetime(2026, 3, 1, 22, 30, tzinfo=UTC)
    assert "7 2026-03-01" in await results(shelf)


async def _exists(shelf: Harness, name: str) -> bool:
    return name in [one.name for one in await shelf.app.schedules.all()]


async def test_the_next_five_fires(shelf: Harness) -> None:
    await shelf.app.schedules.create("s", "report", cron="0 3 * * *", max_runs=4)

    found = await shelf.app.schedules.next_fires("s")
    previewed = await shelf.app.schedules.preview("0 3 * * *")

    assert found == [datetime(2026, 3, day, 3, tzinfo=UTC) for day in range(2, 6)]
    assert previewed == [datetime(2026, 3, day, 3, tzinfo=UTC) for day in range(2, 7)]


async def test_a_paused_schedule_misses_its_fires_and_goes_on_when_resumed(shelf: Harness) -> None:
    await shelf.drain()
    await shelf.app.schedules.pause("report", reason="migration", by="ann")
    await shelf.travel(5 * HOUR)
    assert await shelf.app.schedules.next_fires("report") == []

    await shelf.app.schedules.resume("report", by="ann")

    assert await results(shelf) == []
    await shelf.travel(HOUR)
    assert await results(shelf) == ["2026-03-01T16:00:00+00:00"]


async def test_a_run_asked_for_now_takes_the_time_it_is_given(shelf: Harness) -> None:
    await shelf.drain()
    then = datetime(2020, 2, 29, tzinfo=UTC)

    job = await shelf.app.schedules.run_now("report", reference_time=then, by="ann")

    assert job is not None
    assert await results(shelf) == ["2020-02-29T00:00:00+00:00"]
    [entry] = await shelf.app.schedules.history("report")
    assert (entry.trigger, entry.created_by, entry.status) == ("run_now", "ann", "completed")


async def test_a_back_fill_is_counted_before_and_leaves_out_what_has_run(shelf: Harness) -> None:
    await shelf.drain()
    await shelf.travel(HOUR)
    await shelf.drain()
    first, last = START - 3 * HOUR, START + DAY

    expected = await shelf.app.schedules.preview_back_fill("report", first, last)
    done = await shelf.app.schedules.back_fill("report", first, last)
    again = await shelf.app.schedules.back_fill("report", first, last)

    assert (expected.count, expected.already_fired) == (3, 1)
    assert (done.fires, len(done.jobs)) == (expected.fires, 3)
    assert (again.count, again.already_fired) == (0, 4)
    assert sorted(await results(shelf)) == [f"2026-03-01T{hour:02}:00:00+00:00" for hour in range(8, 12)]


async def test_a_back_fill_that_is_too_large_makes_nothing(shelf: Harness) -> None:
    await shelf.drain()

    with pytest.raises(InvalidSchedule, match="2,399 fires are in this range and 1,000 are the most"):
        await shelf.app.schedules.back_fill("report", START - 100 * DAY + HOUR, START)

    assert await results(shelf) == []


async def test_a_deploy_changes_the_code_and_not_what_an_operator_has_changed(
    shelf: Harness, clock: FrozenClock
) -> None:
    app = shelf.app
    await shelf.drain()
    await app.schedules.set("report", "cron", "30 5 * * *", reason="too often", by="ann")

    release = shop(app.url, cron="0 */2 * * *")
    declared = release._code_schedules.all()
    await declare_all(app, declared)

    kept = await app.schedules.get("report")
    assert (kept.declared.cron, kept.definition.cron) == ("0 */2 * * *", "30 5 * * *")
    assert kept.next_fire_at == datetime(2026, 3, 2, 5, 30, tzinfo=UTC)
    back = await app.schedules.unset("report", "cron", by="ann")
    assert back.definition.cron == "0 */2 * * *"
    assert back.next_fire_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


async def declare_all(app: Backstay, declared: Any) -> None:
    from backstay.client.scheduling import declare
    from backstay.model.events import silent

    await declare(app._enqueuer.stores, declared, by="release 2", emit=silent, new_id=app._env.new_id)


async def test_a_deploy_keeps_a_pause_and_a_fire_that_is_due(shelf: Harness, clock: FrozenClock) -> None:
    await shelf.drain()
    await shelf.app.schedules.pause("report", reason="migration")
    await declare_all(shelf.app, shop(shelf.app.url, missed="skip")._code_schedules.all())
    assert (await shelf.app.schedules.get("report")).is_paused
    await shelf.app.schedules.resume("report")
    clock.advance(HOUR)

    await declare_all(shelf.app, shop(shelf.app.url, overlap="skip")._code_schedules.all())

    assert (await shelf.app.schedules.get("report")).next_fire_at == datetime(2026, 3, 1, 11, tzinfo=UTC)


async def test_a_single_moment_that_has_fired_is_not_armed_again_by_a_restart(
    shelf: Harness, clock: FrozenClock
) -> None:
    app = Backstay(shelf.app.url)

    @app.schedule(at=START + HOUR, name="once")
    @app.job(kind="report")
    async def once() -> None: ...

    await declare_all(shelf.app, app._code_schedules.all())
    await shelf.travel(2 * HOUR)
    await declare_all(shelf.app, app._code_schedules.all())
    await shelf.travel(2 * HOUR)

    assert (await shelf.app.schedules.get("once")).run_count == 1


async def test_code_leaves_a_schedule_alone_that_was_made_at_run_time(shelf: Harness) -> None:
    await shelf.app.schedules.create("report", "send", cron="0 3 * * *", args={"user": 1})

    await declare_all(shelf.app, shelf.app._code_schedules.all())

    assert (await shelf.app.schedules.get("report")).source == "runtime"


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"cron": "61 * * * *"}, InvalidSchedule, "at position 1: 61 is out of range"),
    ({"cron": "0 0 31 2 *"}, InvalidSchedule, "would never fire.*write L"),
    ({"cron": "* " * 5000}, InvalidSchedule, "10,000 characters"),
    ({"cron": "0 0 0 * * *"}, InvalidSchedule, "six fields.*leave a field for seconds out"),
    ({"cron": "@reboot"}, InvalidSchedule, "at position 1: .*enqueue the job where it starts"),
    ({"cron": "0 3 * * *", "zone": "Europe/Berln"}, InvalidSchedule, "did you mean Europe/Berlin"),
    ({"cron": "0 3 * * *", "every": "5m"}, InvalidSchedule, "exactly one of cron, every and at"),
    ({}, InvalidSchedule, "exactly one of"),
    ({"every": "1ms"}, InvalidPolicy, "every"),
    ({"at": START - HOUR}, InvalidSchedule, "is in the past"),
    ({"at": START + 4000 * DAY}, InvalidSchedule, "five years"),
    ({"at": START.replace(tzinfo=None)}, InvalidSchedule, "no time zone"),
    ({"cron": "0 3 * * *", "expires_at": START + HOUR}, InvalidSchedule, "before it expires"),
    ({"cron": "0 3 * * *", "max_runs": 0}, InvalidPolicy, "max_runs"),
    ({"cron": "0 3 * * *", "missed": "all"}, InvalidPolicy, "coalesce, catch_up, skip"),
    ({"cron": "0 3 * * *", "overlap": "no"}, InvalidPolicy, "allow, skip, queue"),
    ({"cron": "0 3 * * *", "catch_up": 100_000}, InvalidPolicy, "10,000"),
    ({"cron": "0 3 * * *", "args": {"user": "x"}}, InvalidArguments, "user"),
    ({"cron": "0 3 * * *", "args": {}}, InvalidArguments, "user"),
    ({"cron": "0 3 * * *", "args": {"user": 1, "nobody": 2}}, InvalidArguments, "nobody"),
]


@pytest.mark.parametrize(("asked", "error", "advice"), BAD)
async def test_what_cannot_be_is_refused_and_nothing_is_stored(
    shelf: Harness, asked: dict[str, Any], error: type[Exception], advice: str
) -> None:
    with pytest.raises(error, match=advice):
        await shelf.app.schedules.create("bad", "send", **{"args": {"user": 1}, **asked})

    assert not await _exists(shelf, "bad")


async def test_names_kinds_and_options_that_do_not_fit_are_refused(shelf: Harness) -> None:
    app = shelf.app
    await app.schedules.create("s", "report", every="1h")

    with pytest.raises(InvalidSchedule, match="exists"):
        await app.schedules.create("s", "report", every="1h")
    with pytest.raises(UnknownKind):
        await app.schedules.create("t", "nobody", every="1h")
    with pytest.raises(ScheduleNotFound):
        await app.schedules.pause("t", reason="x")
    with pytest.raises(InvalidSchedule, match="never fire"):
        await app.schedules.set("s", "cron", "0 0 30 2 *", reason="x")
    with pytest.raises(InvalidPolicy, match="one of cron"):
        await app.schedules.set("s", "kind", "x", reason="x")


def test_what_is_wrong_in_code_is_refused_where_it_is_written() -> None:
    app = Backstay("sqlite:////nowhere/backstay.db")

    @app.job
    async def work() -> None: ...

    with pytest.raises(InvalidSchedule, match="never fire"):
        app.schedule("0 0 30 2 *")(work)
    with pytest.raises(InvalidSchedule, match="cannot have key"):
        app.schedule("0 0 * * *")(work.options(key="x"))
    app.schedule("0 0 * * *")(work)
    with pytest.raises(InvalidSettings, match="declared twice"):
        app.schedule("0 1 * * *")(work)
    with pytest.raises(InvalidSettings, match=r"above @app\.job"):
        app.schedule("0 1 * * *")(lambda: None)  # type: ignore[type-var]  # this is the mistake


@pytest.fixture(params=["sqlite", "postgres"])
async def running(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Backstay]:
    """An application on a database with a clock of its own."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        server.create_database(name := f"running_{abs(hash(str(tmp_path)))}")
        url = server.url(name)
    app = Backstay(url, settings={"tick": "200ms"})
    await app._connections.migrate()
    yield app
    await app.close()


async def test_a_worker_fires_what_is_created_while_it_runs(running: Backstay) -> None:
    seen: asyncio.Queue[datetime] = asyncio.Queue()

    @running.job
    async def tick(ctx: Context) -> None:
        seen.put_nowait(ctx.now)

    async with running.working():
        await running.schedules.create("ticks", tick, every="1s")
        async with asyncio.timeout(SOON):
            moments = [await seen.get() for _ in range(3)]

    assert all(moment.microsecond == 0 for moment in moments)
    assert len(set(moments)) == 3
    entries = await running.schedules.history("ticks")
    assert {entry.fire_time for entry in entries} >= set(moments)
