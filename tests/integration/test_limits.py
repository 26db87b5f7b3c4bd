"""Limits from their declaration to the handlers that run: on both databases, with real workers."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest
from typer.testing import CliRunner

from backstay import Backstay, Limit, Rate, State
from backstay.cli.commands import backstay
from backstay.errors import InvalidArguments, InvalidSettings
from backstay.model.limits.keys import KeyProblem, bounded, filled
from backstay.testing import PrivatePostgres

SOON = 30


@pytest.fixture(params=["sqlite", "postgres"])
async def app(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Backstay]:
    url = f"sqlite:///{tmp_path}/jobs.db"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"limits_{abs(hash(str(tmp_path)))}"
        server.create_database(name)
        url = server.url(name)
    app = Backstay(url, settings={"tick": "500ms"})
    await app._connections.migrate()
    yield app
    await app.close()


class Crowd:
    """How many handlers of each name run now, and the most there ever were."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[Any] = []

    async def work(self, *names: str, note: Any = None, seconds: float = 0.01) -> None:
        self.order.append(note)
        for name in names:
            self.now[name] += 1
            self.most[name] = max(self.most[name], self.now[name])
        try:
            await asyncio.sleep(seconds)
        finally:
            self.now.subtract(names)


async def all_completed(app: Backstay, number: int) -> None:
    async with asyncio.timeout(SOON):
        while sum(one.jobs for one in await app.jobs.counts() if one.state is State.COMPLETED) < number:
            await asyncio.sleep(0.02)


async def run(app: Backstay, number: int, *, workers: int = 1, **options: Any) -> None:
    """Work until so many jobs are completed."""
    async with AsyncExitStack() as stack:
        for _ in range(workers):
            await stack.enter_async_context(app.working(**options))
        await all_completed(app, number)


async def starts(app: Backstay, number: int) -> list[datetime]:
    jobs = await app.jobs.search(limit=number)
    found = [job.started_at for job in jobs.jobs]
    return sorted(at for at in found if at is not None)


def most_in(window: timedelta, times: Sequence[datetime]) -> int:
    return max(sum(first <= at <= first + window for at in times) for first in times)


async def test_one_at_a_time_for_each_customer_and_customers_side_by_side(app: Backstay) -> None:
    crowd = Crowd()

    @app.job(limit=Limit(1, key="customer:{customer}"))
    async def bill(customer: int, n: int) -> None:
        await crowd.work(f"{customer}", "all", seconds=0.02)

    await app.jobs.enqueue_many([bill.args(customer=n % 4, n=n) for n in range(40)])
    await run(app, 40, workers=2, concurrency=10, poll_idle="5s")

    assert [crowd.most[f"{customer}"] for customer in range(4)] == [1] * 4
    assert crowd.most["all"] > 1
    assert [(one.in_use, one.waiting) for one in await app.limits.all()] == [(0, 0)] * 4


async def test_a_queue_a_kind_and_the_whole_have_limits_of_their_own(app: Backstay) -> None:
    crowd = Crowd()
    app.queue("mail", limit=3)
    app.ceiling(4)

    @app.job(queue="mail", limit=2)
    async def letter(n: int) -> None:
        await crowd.work("letter", "mail", "all")

    @app.job(queue="mail")
    async def parcel(n: int) -> None:
        await crowd.work("parcel", "mail", "all")

    @app.job(queue="web")
    async def page(n: int) -> None:
        await crowd.work("page", "all")

    await app.jobs.enqueue_many([kind.args(n=n) for n in range(15) for kind in (letter, parcel, page)])
    await run(app, 45, workers=3, concurrency=10)

    assert (crowd.most["letter"], crowd.most["mail"], crowd.most["all"]) == (2, 3, 4)


async def test_a_worker_takes_only_so_many_of_a_queue_and_fills_its_slots_with_others(app: Backstay) -> None:
    crowd = Crowd()
    app.queue("heavy", per_worker=2)

    @app.job(queue="heavy")
    async def lift(n: int) -> None:
        await crowd.work("lift", seconds=0.05)

    @app.job
    async def carry(n: int) -> None:
        await crowd.work("carry", seconds=0.05)

    await app.jobs.enqueue_many([kind.args(n=n) for n in range(12) for kind in (lift, carry)])
    await run(app, 24, concurrency=6)

    assert crowd.most["lift"] == 2
    assert crowd.most["carry"] >= 4


async def test_no_window_has_more_starts_than_rate_and_burst_also_over_restarts(app: Backstay) -> None:
    """G5: by the database's clock."""

    @app.job(rate=Rate("20/s", burst=5))
    async def call(n: int) -> None: ...

    await app.jobs.enqueue_many([call.args(n=n) for n in range(30)])
    for number in (10, 20, 30):
        await run(app, number, workers=2, concurrency=10)

    times = await starts(app, 30)
    for tenths in (1, 2, 5, 10):
        assert most_in(timedelta(seconds=tenths / 10), times) <= 20 * tenths / 10 + 5


async def test_each_key_has_tokens_of_its_own_and_no_job_is_forgotten(app: Backstay) -> None:
    @app.job(rate=Rate("10/s", key="host:{host}"))
    async def fetch(host: str, n: int) -> str:
        return host

    await app.jobs.enqueue_many([fetch.args(host=f"h{n % 2}", n=n) for n in range(20)])
    await run(app, 20, workers=2, concurrency=10)

    jobs = (await app.jobs.search(limit=20)).jobs
    for host in ("h0", "h1"):
        times = sorted(job.started_at for job in jobs if job.started_at and job.args["host"] == host)
        assert (len(times), most_in(timedelta(milliseconds=500), times) <= 6) == (10, True)


async def test_kinds_without_limits_run_while_a_limited_one_has_a_long_line(app: Backstay) -> None:
    crowd = Crowd()

    @app.job(limit=Limit(1, key="{customer}"))
    async def slow(customer: int) -> None:
        await crowd.work("slow", seconds=0.01)

    @app.job
    async def quick() -> str:
        return "done"

    await app.jobs.enqueue_many([slow.args(customer=1) for _ in range(150)])
    async with app.working(concurrency=5):
        job = await quick.enqueue()
        assert await job.result(timeout=SOON) == "done"
        await all_completed(app, 151)

    assert crowd.most["slow"] == 1


async def test_a_limit_that_cannot_be_is_refused_where_it_is_written(app: Backstay) -> None:
    async def send(customer: int) -> None: ...

    for refused in (
        {"limit": 0},
        {"limit": Limit(2, key="{client}")},
        {"rate": "fast"},
        {"ordered_by": "account"},
    ):
        with pytest.raises(InvalidSettings):
            app.job(**refused)(send)
    for wrong in ({"limit": -1}, {"per_worker": 0}, {"rate": Rate("1/s", key="{a}")}):
        with pytest.raises(InvalidSettings):
            app.queue("mail", **wrong)
    with pytest.raises(InvalidSettings):
        app.ceiling(0)
    assert len(app._registry) == 0
    assert app._registry.queues == {}


async def test_arguments_that_make_no_key_are_refused_and_nothing_is_stored(app: Backstay) -> None:
    @app.job(limit=Limit(1, key="customer:{customer}"))
    async def send(customer: str) -> None: ...

    with pytest.raises(InvalidArguments, match=r"209 characters.*field 'customer'"):
        await send.enqueue(customer="x" * 200)

    assert await app.jobs.counts() == []


def join_sqlite(app: Backstay, options: Any) -> list[Any]:
    """Enqueue in a transaction of a driver that blocks, and see what is stored."""
    plain = sqlite3.connect(app.url.removeprefix("sqlite:///"), isolation_level=None)
    plain.row_factory = sqlite3.Row
    try:
        plain.execute("BEGIN")
        options(tx=plain).enqueue_sync(account=7)
        plain.execute("COMMIT")
        return plain.execute("SELECT order_key AS key, tenant FROM backstay_jobs").fetchall()
    finally:
        plain.close()


async def test_every_way_of_enqueueing_puts_a_job_into_its_line(app: Backstay, tmp_path: Any) -> None:
    @app.job(ordered_by="{tenant}/account:{account}")
    async def post(account: int, urgent: bool = False) -> None: ...

    async with app.working():
        # The worker tells the database about the kind, for those who enqueue with SQL.
        pass
    await post.enqueue(account=7)
    await post.options(priority=1, tenant="acme").enqueue(account=7)
    await app.jobs.enqueue_many([post.args(account=7)])
    await app.jobs.enqueue_by_name("post", {"account": 7})
    await post.options(key="once").enqueue(account=7)
    if app.url.startswith("postgresql"):
        connection = await asyncpg.connect(app.url)
        async with connection.transaction():
            await post.options(tx=connection).enqueue(account=7)
        await connection.execute(
            """SELECT backstay.enqueue('post', '{"account": 7}', '{"tenant": "acme"}')"""
        )
        found = await connection.fetch("SELECT order_key AS key, tenant FROM backstay.jobs")
        await connection.close()
    else:
        found = await asyncio.to_thread(join_sqlite, app, post.options)

    assert len(found) >= 6
    assert {(row["key"], row["tenant"]) for row in found} == {("/account:7", ""), ("acme/account:7", "acme")}


@pytest.mark.parametrize(
    ("template", "args"),
    [
        ("a:{a}", {"a": "x{b}y"}),
        ("{a}{b}:z", {"a": 7, "b": True}),
        ("{a}", {"a": "x" * 300}),
        ("{a}", {"a": "ä" * 300}),
        ("{a}", {"a": -12}),
        ("{a}", {"a": 1.5}),
        ("{a}", {"a": None}),
        ("{a}", {}),
        ("{tenant}-{a}", {"a": 1}),
        ("{tenant}-{a}", {"a": 1, "tenant": "mine"}),
    ],
)
async def test_sql_and_python_make_the_same_key(
    postgres_server: PrivatePostgres, tmp_path: Any, template: str, args: dict[str, Any]
) -> None:
    name = f"keys_{abs(hash(str(tmp_path)))}"
    postgres_server.create_database(name)
    app = Backstay(postgres_server.url(name))
    await app._connections.migrate()
    await app.close()
    connection = await asyncpg.connect(postgres_server.url(name))

    made = await connection.fetchval(
        "SELECT backstay.filled_key($1, $2::jsonb, 'acme')", template, json.dumps(args)
    )
    await connection.close()

    try:
        expected: str | None = bounded(filled(template, args, "acme"))
    except KeyProblem:
        expected = None
    assert made == expected


async def test_jobs_of_an_account_run_in_the_order_they_were_stored(app: Backstay) -> None:
    crowd = Crowd()

    @app.job(ordered_by="account:{account}")
    async def post(account: int, n: int) -> None:
        await crowd.work(f"{account}", note=(account, n), seconds=0.002)

    for n in range(20):
        await app.jobs.enqueue_many([post.args(account=account, n=n) for account in range(3)])
    await run(app, 60, workers=3, concurrency=5)

    for account in range(3):
        assert crowd.most[f"{account}"] == 1
        assert [n for owner, n in crowd.order if owner == account] == list(range(20))


async def test_an_operator_changes_limits_while_workers_run_and_takes_it_back(app: Backstay) -> None:
    """G2: lowered below what runs, everything running finishes."""
    crowd, gate = Crowd(), asyncio.Event()

    @app.job(queue="mail", limit=3)
    async def send(n: int) -> None:
        crowd.now["send"] += 1
        name = "after" if gate.is_set() else "before"
        await gate.wait()
        await crowd.work(name, seconds=0.01)

    await app.jobs.enqueue_many([send.args(n=n) for n in range(20)])
    async with app.working(concurrency=10):
        async with asyncio.timeout(SOON):
            while crowd.now["send"] < 3:
                await asyncio.sleep(0.01)
        await app.limits.set("limit", 1, kind="send", reason="gateway is slow", by="ada")
        async with asyncio.timeout(SOON):
            while (await app.limits.all())[0].most != 1:
                await send.enqueue(n=99)
                await asyncio.sleep(0.1)
        gate.set()
        async with asyncio.timeout(SOON):
            while crowd.now["send"] < 12:
                await asyncio.sleep(0.01)
        assert (crowd.most["before"], crowd.most["after"]) == (3, 1)
        [change] = await app.limits.changes()
        assert (change.name, change.change, change.set_by) == ("send", '{"limit":1}', "ada")
        assert await app.limits.unset("limit", kind="send", by="ada")
        await all_completed(app, 20)

    assert await app.limits.unset("limit", kind="send") is False


async def test_bad_changes_of_limits_are_refused_and_nothing_is_stored(app: Backstay) -> None:
    for field, value, options in (
        ("limit", 0, {"kind": "send"}),
        ("limit", "many", {"queue": "mail"}),
        ("key_limit", 3, {"queue": "mail"}),
        ("per_worker", 3, {"kind": "send"}),
        ("rate", "often", {"kind": "send"}),
        ("limit", 3, {"kind": "send", "burst": 2}),
        ("rate", "1/s", {"queue": "*"}),
        ("limit", 3, {}),
        ("limit", 3, {"kind": "send", "queue": "mail"}),
        ("colour", 3, {"kind": "send"}),
    ):
        with pytest.raises(InvalidSettings):
            await app.limits.set(field, value, reason="x", **options)

    assert await app.limits.changes() == []


async def test_the_doctor_says_which_limit_a_job_waits_for(app: Backstay) -> None:
    gate = asyncio.Event()

    @app.job(limit=[2, Limit(1, key="customer:{customer}")])
    async def send(customer: int) -> None:
        await gate.wait()

    first, second, third, fourth = [await send.enqueue(customer=n) for n in (1, 1, 2, 3)]
    async with app.working():
        async with asyncio.timeout(SOON):
            while [(await job.get()).state for job in (first, second, third)] != [
                State.RUNNING,
                State.HELD,
                State.RUNNING,
            ]:
                await asyncio.sleep(0.02)
        keyed, whole = await app.doctor.why(second.id), await app.doctor.why(fourth.id)
        gate.set()
        await all_completed(app, 4)

    assert keyed == [
        "It is held by a limit: key customer:1 is full (1 at a time). "
        "It goes on by itself when there is room ('backstay limits')."
    ]
    assert whole[0] == "The limit 'kind send' has no room now (see: backstay limits holders 'kind send')."


async def test_a_handler_with_a_key_stops_before_its_job_can_be_taken_away(tmp_path: Any) -> None:
    """P4: nobody else can write for longer than a lease, and a second run must not overlap the first."""
    told: list[str] = []
    app = Backstay(f"sqlite:///{tmp_path}/jobs.db", emit=lambda event, /, **_: told.append(event))
    started, stopped = Counter[str](), asyncio.Event()
    outcome: list[str] = []

    async def work(name: str) -> None:
        started[name] += 1
        try:
            await asyncio.sleep(SOON)
        except asyncio.CancelledError:
            outcome.append(name)
            stopped.set()
            raise

    @app.job(lease="3s", limit=Limit(1, key="{a}"))
    async def exclusive(a: int) -> None:
        await work("exclusive")

    @app.job(lease="3s")
    async def ordinary(a: int) -> None:
        await work("ordinary")

    await exclusive.enqueue(a=1)
    await ordinary.enqueue(a=1)
    async with app.working(shutdown_grace="100ms"):
        async with asyncio.timeout(SOON):
            while len(started) < 2:
                await asyncio.sleep(0.02)
        blocker = sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)
        try:
            blocker.execute("BEGIN IMMEDIATE")
            async with asyncio.timeout(SOON):
                await stopped.wait()
            first = list(outcome)
        finally:
            blocker.close()
    await app.close()

    assert first == ["exclusive"]
    assert "lease.uncertain" in told


def test_the_command_line_shows_and_changes_limits(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    app = Backstay(url)

    @app.job(limit=Limit(1, key="customer:{customer}"))
    async def bill(customer: int) -> None: ...

    async def prepare() -> None:
        await bill.enqueue(customer=7)
        async with app.working():
            await all_completed(app, 1)
        await app.close()

    asyncio.run(prepare())

    def call(*words: str, fails: bool = False) -> Any:
        done = CliRunner().invoke(backstay, ["--url", url, "--json", *words])
        assert (done.exit_code != 0) is fails, done.output
        return json.loads(done.output) if not fails else done.output

    assert [(one["key"], one["most"], one["in_use"]) for one in call("limits")["limits"]] == [
        ("key customer:7", 1, 0)
    ]
    assert call("limits", "holders", "key customer:7") == {"holders": []}
    call("limits", "set", "kind", "bill", "key_limit", "3", "--reason", "more of them")
    call("limits", "set", "queue", "mail", "rate", "5/s", "--burst", "2", "--reason", "slow gateway")
    call("limits", "set", "queue", "*", "limit", "20", "--reason", "busy")
    changes = call("limits")["changes"]
    assert sorted((one["scope"], one["name"], one["field"], one["change"]) for one in changes) == [
        ("kind", "bill", "key_limit", '{"key_limit":3}'),
        ("queue", "*", "limit", '{"limit":20}'),
        ("queue", "mail", "rate", '{"rate":"5/s","burst":2}'),
    ]
    assert call("limits", "unset", "queue", "mail", "rate")["was_set"] is True
    call("limits", "set", "kind", "bill", "key_limit", "0", "--reason", "none", fails=True)
