"""Jobs of a flow with keys and signals, waiting for a whole flow, and a retry that moves to another queue."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import asyncpg
import pytest

from backstay import Backstay, Context, Hopeless, Profile, Retry, State
from backstay.errors import InvalidFlow, JobDead, ResultTimeout
from backstay.testing import Harness, PrivatePostgres, harness

numbers = itertools.count()

app = Backstay("sqlite:///unused.db", profile=Profile(name="mill", lanes=("default", "large")))


@app.job
async def one(value: int = 1) -> int:
    return value


@app.job
async def add(values: list[int]) -> int:
    return sum(values)


@app.job
async def approve(ctx: Context, value: int = 0) -> str:
    return f"{value} by {await ctx.wait_for('approval', type=str)}"


@app.job
async def fail() -> None:
    raise Hopeless("no")


@app.job(max_attempts=3)
async def grow(ctx: Context, to: str) -> int:
    if ctx.attempt == 1:
        raise Retry("too large", after=0, queue=to)
    return ctx.attempt


@pytest.fixture(params=["sqlite", "postgres"])
def mill(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The application on each of the databases."""
    url = "sqlite://:memory:"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"flow_keys_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    with harness(app, url) as tried:
        yield tried


async def test_a_flow_that_is_stored_twice_with_keys_is_one(mill: Harness) -> None:
    async def store() -> tuple[object, ...]:
        flow = app.flow("sum")
        first = flow.add(one.options(key="first"), 4)
        flow.add(add.options(key="sum"), [first.result])
        handle = await flow.enqueue()
        return handle.is_new, [job.id for job in handle.jobs]

    is_new, ids = await store()
    again = await store()
    await mill.drain()

    assert is_new is True
    assert again == (False, ids)
    assert [job.result for job in await mill.enqueued(add)] == [4]


async def test_a_job_that_a_key_finds_stands_in_the_flow(mill: Harness) -> None:
    earlier = await one.options(unique="shared").enqueue(5)
    flow = app.flow("sum")
    shared, own = flow.add(one.options(unique="shared"), 5), flow.add(one, 2)
    total = flow.add(add, [shared.result, own.result])
    handle = await flow.enqueue()
    await mill.drain()

    assert handle.of(shared).id == earlier.id
    assert [handle.of(node).is_new for node in (shared, own, total)] == [False, True, True]
    assert await flow.result(timeout=5) == (5, 2, 7)


async def test_a_unique_window_holds_for_jobs_of_flows(mill: Harness) -> None:
    async def store() -> tuple[bool, ...]:
        flow = app.flow("daily")
        flow.add(one.options(unique="daily", unique_for="1d"))
        handle = await flow.enqueue()
        await mill.drain()
        return tuple(job.is_new for job in handle.jobs)

    assert [await store(), await store()] == [(True,), (False,)]
    await mill.travel("2d")
    assert await store() == (True,)


async def test_a_key_from_arguments_that_are_not_known_yet_is_refused(mill: Harness) -> None:
    flow = app.flow("sum")
    first = flow.add(one, 4)

    with pytest.raises(InvalidFlow, match="values is known only when the parents have ended"):
        flow.add(add.options(unique=True), [first.result])


@pytest.mark.parametrize("signal_first", [True, False])
async def test_a_job_of_a_flow_waits_for_its_parents_and_for_a_signal(
    mill: Harness, signal_first: bool
) -> None:
    flow = app.flow("approved")
    first = flow.add(one, 4)
    last = flow.add(approve.options(wait_for="approval"), first.result)
    handle = await flow.enqueue()
    gate = handle.of(last)

    if signal_first:
        await app.signals.send(gate.id, "approval", "ada")
        assert (await gate.get()).reason == "waits for its parents"
        await mill.drain()
    else:
        await mill.drain()
        assert (await gate.get()).reason == "waiting for signal approval"
        await app.signals.send(gate.id, "approval", "ada")
        await mill.drain()

    assert await gate.result(timeout=5) == "4 by ada"
    assert (await gate.get()).run == 1


async def test_a_signal_that_does_not_come_in_time_is_not_waited_for(mill: Harness) -> None:
    flow = app.flow("approved")
    first = flow.add(one, 4)
    last = flow.add(approve.options(wait_for="approval", wait_timeout="1h"), first.result)
    handle = await flow.enqueue()
    await mill.drain()

    await mill.travel("2h")
    await mill.drain(with_scheduled=True)

    job = await handle.of(last).get()
    assert job.error is not None
    assert "approval" in job.error["message"]


async def test_keys_and_signals_hold_in_a_callers_transaction(postgres_server: PrivatePostgres) -> None:
    name = f"flow_keys_{next(numbers)}"
    postgres_server.create_database(name)
    mill = Backstay(postgres_server.url(name))

    @mill.job
    async def step(value: int = 1) -> int:
        return value

    await mill.migrate()
    connection = await asyncpg.connect(postgres_server.url(name))

    async def store() -> list[bool]:
        flow = mill.flow("in a transaction")
        first = flow.add(step.options(key="first"))
        flow.add(step.options(wait_for="go", key="second")).after(first)
        async with connection.transaction():
            handle = await flow.enqueue(tx=connection)
        return [job.is_new for job in handle.jobs]

    assert [await store(), await store()] == [[True, True], [False, False]]
    assert await connection.fetchval("SELECT count(*) FROM backstay.waits WHERE is_open") == 1
    assert await connection.fetchval("SELECT count(*) FROM backstay.flows") == 1
    await connection.close()
    await mill.close()


async def test_waiting_for_a_flow_tells_the_first_that_did_not_complete(mill: Harness) -> None:
    flow = app.flow("fails")
    failing = flow.add(fail)
    flow.add(add, [1]).after(failing)
    with pytest.raises(InvalidFlow, match="enqueue"):
        await flow.result()
    handle = await flow.enqueue()

    with pytest.raises(ResultTimeout):
        await handle.result(timeout=0.01)
    await mill.drain()

    with pytest.raises(JobDead, match="no"):
        await handle.result(timeout=5)


async def test_a_retry_moves_to_the_queue_that_it_names(mill: Harness) -> None:
    job = await grow.enqueue("large")
    refused = await grow.enqueue("no-lane")
    odd = await grow.enqueue("not a name!")

    await mill.drain(with_scheduled=True)

    assert (await job.get()).queue == "large"
    assert await job.result(timeout=5) == 2
    # No lane of its profile: it runs again where it was.
    assert (await refused.get()).queue == "default"
    assert await refused.result(timeout=5) == 2
    assert (await odd.get()).state is State.DEAD


async def test_a_worker_finds_what_was_moved(mill: Harness) -> None:
    job = await grow.enqueue("large")

    async with app.working():
        assert await job.result(timeout=20) == 2
