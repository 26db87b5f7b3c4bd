"""Handlers that wait for signals, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backstay import Backstay, Context, State
from backstay.composition.connect import open_database
from backstay.errors import (
    InvalidPayload,
    InvalidSignal,
    JobNotFound,
    SignalRefused,
    SignalTimeout,
    SyncOnLoop,
)
from backstay.stores.database.migrate import migrate
from backstay.testing import Harness, PrivatePostgres, harness
from backstay.testing.database import IN_MEMORY

did: list[str] = []
app = Backstay("sqlite:////nowhere/backstay.db")


@dataclass
class Approval:
    by: str
    amount: int = 0


def order(number: int) -> int:
    did.append(f"order {number}")
    return number


@app.job
async def buy(ctx: Context, number: int) -> str:
    await ctx.step("order", order, number)
    did.append("ask")
    approval = await ctx.wait_for("approval", timeout="3d", type=Approval)
    return f"bought {number} for {approval.by}"


@app.job
def buy_in_thread(ctx: Context, number: int) -> str:
    ctx.step_sync("order", order, number)
    return f"bought for {ctx.wait_for_sync('approval', type=Approval).by}"


@app.job
async def buy_or_not(ctx: Context) -> str:
    try:
        return f"bought for {(await ctx.wait_for('approval', timeout='1h', type=Approval)).by}"
    except SignalTimeout:
        second: str = await ctx.wait_for("second thoughts")
        return f"escalated: {second}"


@app.job
async def collect(ctx: Context, parts: int) -> list[Any]:
    return [await ctx.wait_for("part") for _ in range(parts)]


@app.job
async def wait_in_a_group(ctx: Context) -> int:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(ctx.wait_for("number"))
    return int(waiting.result())


@app.job
async def wait_wrongly(ctx: Context, how: str) -> None:
    if how == "in a step":

        async def ask() -> None:
            await ctx.wait_for("approval")

        await ctx.step("ask", ask)
    elif how == "in a transaction":
        async with ctx.transaction():
            await ctx.wait_for("approval")
    elif how == "without a name":
        await ctx.wait_for("")
    elif how == "for no time":
        await ctx.wait_for("approval", timeout="soon")
    elif how == "blocking":
        ctx.wait_for_sync("approval")


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("signals")
    yield postgres_server.url("signals")
    postgres_server.drop_database("signals")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest) -> Iterator[Harness]:
    url = IN_MEMORY if request.param == "sqlite" else request.getfixturevalue("test_database")
    did.clear()
    with harness(app, url) as opened:
        yield opened


@pytest.mark.parametrize("handler", [buy, buy_in_thread], ids=["loop", "thread"])
async def test_a_handler_waits_and_starts_from_the_top_with_its_steps_done(
    backstay: Harness, handler: Any
) -> None:
    job = await handler.enqueue(number=7)

    waiting = await backstay.drain()
    held = await job.get()
    await app.signals.send(job, "approval", {"by": "ann"}, by="the till")
    done = await backstay.drain()

    assert (waiting.waiting, done.completed) == (1, 1)
    assert (held.state, held.reason, held.attempt) == (State.HELD, "waiting for signal approval", 0)
    assert "ann" in await job.result()
    assert did.count("order 7") == 1
    assert [(one.name, one.payload, one.sent_by) for one in await app.signals.of_job(job)] == [
        ("approval", {"by": "ann"}, "the till")
    ]


async def test_an_early_signal_is_received_without_waiting(backstay: Harness) -> None:
    job = await buy.enqueue(number=7)
    await app.signals.send(job, "approval", {"by": "ann"})

    drained = await backstay.drain()

    assert (len(drained), drained.completed) == (1, 1)
    assert did == ["order 7", "ask"]


async def test_a_handler_collects_signals_in_order(backstay: Harness) -> None:
    job = await collect.enqueue(parts=3)
    for number in range(3):
        await backstay.drain()
        assert await app.signals.send(job, "part", number, key=f"part-{number}")
        assert not await app.signals.send(job, "part", 99, key=f"part-{number}")

    await backstay.drain()

    assert await job.result() == [0, 1, 2]
    assert (await job.get()).attempt == 1


async def test_a_handler_goes_on_without_what_did_not_come_in_time(backstay: Harness) -> None:
    job = await buy_or_not.enqueue()
    await backstay.drain()

    await backstay.travel("1h")
    await backstay.drain()
    await app.signals.send(job, "approval", {"by": "ann, too late"})
    await app.signals.send(job, "second thoughts", "ask the boss")
    await backstay.drain()

    assert await job.result() == "escalated: ask the boss"


async def test_a_timeout_that_nobody_catches_is_the_end(backstay: Harness) -> None:
    job = await buy.enqueue(number=1)
    await backstay.drain()

    await backstay.travel("3d")
    await backstay.drain()

    dead = await job.get()
    assert (dead.state, dead.error and dead.error["type"]) == (State.DEAD, "backstay.SignalTimeout")


async def test_a_payload_of_another_type_is_the_end(backstay: Harness) -> None:
    job = await buy.enqueue(number=1)
    await app.signals.send(job, "approval", {"by": 7})

    await backstay.drain()

    dead = await job.get()
    assert dead.state is State.DEAD
    assert dead.error is not None
    assert "not of the type that is waited for" in dead.error["message"]


async def test_a_wait_in_a_task_group_is_a_wait(backstay: Harness) -> None:
    job = await wait_in_a_group.enqueue()
    drained = await backstay.drain()
    await app.signals.send(job, "number", 7)
    await backstay.drain()

    assert drained.waiting == 1
    assert await job.result() == 7


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("in a step", InvalidSignal),
        ("in a transaction", InvalidSignal),
        ("without a name", InvalidSignal),
        ("for no time", InvalidSignal),
        ("blocking", SyncOnLoop),
    ],
)
async def test_a_wait_that_cannot_be_is_refused_by_name(
    backstay: Harness, how: str, error: type[Exception]
) -> None:
    ran = await backstay.try_job(wait_wrongly, how=how)

    assert isinstance(ran.error, error)


async def test_a_job_can_be_enqueued_held_for_a_signal(backstay: Harness) -> None:
    job = await buy.options(wait_for="approval", wait_timeout="1d").enqueue(number=7)
    late = await buy_or_not.options(wait_for="approval", wait_timeout="1h").enqueue()

    nothing = await backstay.drain()
    why = await app.doctor.why(job.id)
    await app.signals.send(job, "approval", {"by": "ann"})
    await backstay.travel("1h")
    await backstay.drain()

    assert len(nothing) == 0
    assert "waits for the signal 'approval'" in why[0]
    assert await job.result() == "bought 7 for ann"
    assert (await late.get()).reason == "waiting for signal second thoughts"


async def test_a_job_is_held_for_one_thing(backstay: Harness) -> None:
    with pytest.raises(InvalidPayload, match="wait_timeout needs wait_for"):
        await buy.options(wait_timeout="1d").enqueue(number=7)
    with pytest.raises(InvalidPayload, match="either held_for or wait_for"):
        await buy.options(wait_for="approval", held_for="a person").enqueue(number=7)


async def test_bad_signals_are_refused_and_nothing_is_stored(backstay: Harness) -> None:
    job = await buy.enqueue(number=7)
    await backstay.drain()

    with pytest.raises(InvalidPayload):
        await app.signals.send(job, "approval", float("nan"))
    with pytest.raises(InvalidPayload):
        await app.signals.send(job, "", {})
    with pytest.raises(JobNotFound):
        await app.signals.send("no id", "approval")
    await app.jobs.cancel(job.id, reason="not needed")
    with pytest.raises(SignalRefused, match="cancelled and waits for nothing"):
        await app.signals.send(job, "approval")

    assert await app.signals.of_job(job) == []


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_no_signal_is_missed_however_it_races_with_the_wait(
    database: str, tmp_path: Path, test_database: str
) -> None:
    """The signal is sent while the handler that will wait for it runs: before, during and after it is held."""
    url = f"sqlite:///{tmp_path}/race.db" if database == "sqlite" else test_database
    opened = open_database(url)
    await migrate(opened)
    await opened.close()
    racing = Backstay(url)
    begun: asyncio.Queue[Any] = asyncio.Queue()

    @racing.job(kind=f"race_{database}")
    async def race(ctx: Context, number: int) -> int:
        if ctx.run == 1:
            begun.put_nowait(ctx.job_id)
        return int(await ctx.wait_for("go")) + number

    async def send() -> None:
        for number in range(200):
            job_id = await begun.get()
            await asyncio.sleep(0.0005 * (number % 8))
            await racing.signals.send(job_id, "go", 1)

    async with racing.working(concurrency=8):
        sending = asyncio.create_task(send())
        jobs = [await race.enqueue(number=number) for number in range(200)]
        results = [await job.result(timeout=60) for job in jobs]
        await sending

    assert results == [number + 1 for number in range(200)]
    await racing.close()


async def test_a_wait_survives_the_worker_that_began_it(tmp_path: Path) -> None:
    """Another worker, which never saw the job before, finishes it; no lease and no slot is held meanwhile."""
    url = f"sqlite:///{tmp_path}/restart.db"
    first = Backstay(url)
    first.job(kind="buy")(buy.__wrapped__)
    async with first.working(concurrency=1):
        handle = await first.jobs.enqueue_by_name("buy", {"number": 1})
        while (await first.jobs.get(handle.id)).state is not State.HELD:
            await asyncio.sleep(0.01)
        other = await first.jobs.enqueue_by_name("buy", {"number": 2})
        while (await first.jobs.get(other.id)).state is not State.HELD:
            await asyncio.sleep(0.01)
    await first.close()

    second = Backstay(url)
    second.job(kind="buy")(buy.__wrapped__)
    await second.signals.send(handle.id, "approval", {"by": "ann"})
    async with second.working(concurrency=1):
        assert await second.jobs.result(handle.id, timeout=20) == "bought 1 for ann"
    await second.close()


async def test_a_timeout_comes_by_itself(tmp_path: Path) -> None:
    timing = Backstay(f"sqlite:///{tmp_path}/timing.db")

    @timing.job
    async def impatient(ctx: Context) -> str:
        try:
            await ctx.wait_for("never", timeout="200ms")
        except SignalTimeout as error:
            return error.name
        return "came"

    async with timing.working():
        assert await (await impatient.enqueue()).result(timeout=20) == "never"
    await timing.close()
