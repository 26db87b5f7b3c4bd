"""Flows as an application writes them: the builder, transactions, children added by handlers, and what people do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from backstay import Backstay, Context, Hopeless, State, result_of
from backstay.errors import FlowNotFound, InvalidArguments, InvalidFlow, WrongState
from backstay.model.flows import WAITS
from backstay.testing import Harness, PrivatePostgres, harness

app = Backstay("sqlite:////nowhere/backstay.db", emit=lambda event, /, **facts: None)
ran: list[str] = []
broken: set[str] = set()


@app.job
async def fetch(url: str) -> str:
    ran.append(f"fetch {url}")
    if url in broken:
        raise Hopeless(f"{url} is broken")
    return url.upper()


@app.job
async def merge(pages: list[str], title: str = "all") -> dict[str, Any]:
    ran.append(f"merge {','.join(pages)} as {title}")
    return {"score": len(pages)}


@app.job
def mail(to: str) -> None:
    ran.append(f"mail {to}")


@app.job
async def told(flow: str) -> None:
    ran.append("told")


@app.job
async def grow(ctx: Context, by: int) -> None:
    flow = app.flow(within=ctx)
    nodes = [flow.add(fetch, url=f"more {number}") for number in range(by)]
    flow.add(merge, pages=[node.result for node in nodes], title="more")
    await flow.enqueue()


@pytest.fixture(scope="module")
def postgres_url(postgres_server: PrivatePostgres) -> str:
    postgres_server.create_database("flows")
    return postgres_server.url("flows")


@pytest.fixture(params=["sqlite", "postgresql"])
def backstay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    url = (
        f"sqlite:///{tmp_path}/jobs.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    ran.clear()
    broken.clear()
    with harness(app, url) as held:
        yield held


async def state(job_id: UUID) -> State:
    return (await app.jobs.get(job_id)).state


async def test_a_flow_runs_in_the_order_of_its_picture(backstay: Harness) -> None:
    flow = app.flow("monthly report")
    pages = [flow.add(fetch, url=url) for url in ("a", "b")]
    merged = flow.add(merge, pages=[page.result for page in pages])
    flow.add(mail, to="ada").after(merged)

    handle = await flow.enqueue()
    await backstay.drain()

    assert ran == ["fetch a", "fetch b", "merge A,B as all", "mail ada"]
    assert await handle.of(merged).result(timeout=5) == {"score": 2}
    record = await app.flows.get(handle.id)
    assert (record.name, record.jobs, record.is_finished) == ("monthly report", {State.COMPLETED: 4}, True)


async def test_conditions_take_one_branch(backstay: Harness) -> None:
    flow = app.flow("branches")
    check = flow.add(merge, pages=["x"])
    low = flow.add(mail, to="low").after(check.when("/score", "<", 5))
    high = flow.add(mail, to="high").after(check.when("/score", ">=", 5))
    last = flow.add(mail, to="last").after(low, high, wait_for="completion")

    await flow.enqueue()
    await backstay.drain()

    assert ran == ["merge x as all", "mail low", "mail last"]
    assert await state(high.id) is State.CANCELLED
    assert await state(last.id) is State.COMPLETED


async def test_chains_fan_out_and_fan_in(backstay: Harness) -> None:
    flow = app.flow("helpers")
    first, second = flow.chain(mail.args(to="1"), mail.args(to="2"))
    wide = flow.fan_out([fetch.args(url=str(number)) for number in range(3)], after=second)
    flow.fan_in(mail.args(to="end"), after=wide)

    await flow.enqueue()
    await backstay.drain()

    assert ran[:2] == ["mail 1", "mail 2"]
    assert sorted(ran[2:5]) == ["fetch 0", "fetch 1", "fetch 2"]
    assert ran[5:] == ["mail end"]
    assert first.number == 0


async def test_policies_say_what_a_failed_parent_means(backstay: Harness) -> None:
    broken.add("a")
    flow = app.flow("policies")
    bad = flow.add(fetch, url="a")
    anyway = flow.add(merge, pages=[bad.result, "y"]).after(bad, on_failure="run")
    waits = flow.add(mail, to="waits").after(bad)

    await flow.enqueue()
    await backstay.drain()
    blocked = await app.jobs.get(waits.id)
    broken.clear()
    await app.flows.retry_from(bad.id, by="ann", reason="mended")
    await backstay.drain()

    # Its parent had no result, so it got null, which is no text and does not fit.
    assert await state(anyway.id) is State.HELD
    assert (blocked.state, "is dead" in str(blocked.reason)) == (State.HELD, True)
    assert await state(waits.id) is State.COMPLETED
    reasons = await app.doctor.why(waits.id)
    assert reasons == ["It has completed."]


async def test_the_doctor_says_what_a_child_waits_for(backstay: Harness) -> None:
    flow = app.flow("pair")
    first = flow.add(fetch, url="a")
    second = flow.add(mail, to="x").after(first)
    await flow.enqueue()

    reasons = await app.doctor.why(second.id)

    assert reasons[0].startswith("It waits for 1 job to end:")
    assert str(first.id) in reasons[0]


async def test_a_callback_runs_once_when_all_have_ended_also_those_added_later(backstay: Harness) -> None:
    flow = app.flow("grows")
    flow.add(grow, by=2)
    bad = flow.add(fetch, url="bad")
    broken.add("bad")
    flow.on_complete(told, flow=str(flow.id))

    handle = await flow.enqueue()
    await backstay.drain()

    assert ran.count("told") == 1
    assert ran[-1] == "told"
    assert "merge MORE 0,MORE 1 as more" in ran
    assert await state(bad.id) is State.DEAD
    members = await app.flows.members(handle.id)
    assert len(members) == 6
    grown = await app.jobs.get(members[-1].id)
    assert grown.parent_id == members[0].id


async def test_the_rest_of_a_flow_can_be_cancelled(backstay: Harness) -> None:
    flow = app.flow("stopped")
    flow.chain(mail.args(to="1"), mail.args(to="2"), mail.args(to="3"))
    flow.on_complete(told, flow="x")
    handle = await flow.enqueue()

    reached = await app.flows.cancel(handle.id, by="ann", reason="enough")
    await backstay.drain()

    assert reached == 3
    assert ran == ["told"]
    record = await app.flows.get(handle.id)
    assert record.jobs == {State.COMPLETED: 1, State.CANCELLED: 3}


async def test_a_part_can_be_run_again_once_it_has_ended(backstay: Harness) -> None:
    flow = app.flow("again")
    pages = [flow.add(fetch, url=url) for url in ("a", "b")]
    merged = flow.add(merge, pages=[page.result for page in pages])
    end = flow.add(mail, to="end").after(merged)
    handle = await flow.enqueue()
    with pytest.raises(WrongState, match="run again"):
        await app.flows.retry_from(pages[0].id, by="ann", reason="why not")
    await backstay.drain()
    ran.clear()

    again = await app.flows.retry_from(pages[0].id, by="ann", reason="page was wrong")
    await backstay.drain()

    assert ran == ["fetch a", "merge A,B as all", "mail end"]
    assert len(again) == 3
    assert (await app.flows.get(handle.id)).jobs == {State.COMPLETED: 7}
    assert "job.run_again" in [entry.action for entry in await app.jobs.history(end.id)]


async def test_jobs_that_are_stored_can_be_parents_and_give_results(backstay: Harness) -> None:
    stored = await fetch.enqueue(url="old")
    flow = app.flow("later")
    flow.add(merge, pages=[result_of(stored)])
    flow.add(mail, to="x").after(stored)
    flow.add(mail, to="y").after([stored.id])

    await flow.enqueue()
    await backstay.drain()

    assert sorted(ran) == ["fetch old", "mail x", "mail y", "merge OLD as all"]


async def test_what_does_not_fit_is_refused_and_nothing_is_stored(backstay: Harness) -> None:
    flow, other = app.flow("bad"), app.flow("other")
    first = flow.add(fetch, url="a")
    second = flow.add(fetch, url="b")

    with pytest.raises(InvalidFlow, match="cannot wait for itself"):
        first.after(first)
    with pytest.raises(InvalidFlow, match="was added later"):
        first.after(second)
    with pytest.raises(InvalidFlow, match="belongs to another flow"):
        other.add(mail, to="x").after(first)
    with pytest.raises(InvalidFlow, match="option 'throttle'"):
        flow.add(fetch.options(throttle="1/10s"), url="c")
    with pytest.raises(InvalidFlow, match="of tenant 'acme'"):
        flow.add(fetch.options(tenant="acme"), url="c")
    with pytest.raises(InvalidFlow, match="'maybe' is not known here: use one of 'cancel', 'run', 'hold'"):
        second.after(first, on_failure="maybe")  # type: ignore[arg-type]  # what a test must try
    with pytest.raises(InvalidArguments, match="unknown argument"):
        flow.add(merge, page=first.result)  # type: ignore[call-arg]  # what a test must try
    with pytest.raises(InvalidArguments, match=r"Expected `str`, got `int` \(field 'title'\)"):
        flow.add(merge, pages=[first.result], title=3)  # type: ignore[arg-type]  # what a test must try
    with pytest.raises(InvalidFlow, match="a flow needs a name"):
        app.flow(" ")
    with pytest.raises(InvalidFlow, match="has no jobs"):
        await app.flow("empty").enqueue()
    second.after(uuid4())
    with pytest.raises(InvalidFlow, match=r"there is no job .* to wait for"):
        await flow.enqueue()

    assert await app.jobs.counts() == []
    assert await app.flows.all() == []
    with pytest.raises(FlowNotFound):
        await app.flows.get(flow.id)


async def test_a_parent_of_another_tenant_is_refused(backstay: Harness) -> None:
    theirs = await fetch.options(tenant="other").enqueue(url="a")
    flow = app.flow("mine", tenant="acme")
    flow.add(mail, to="x").after(theirs)

    with pytest.raises(InvalidFlow, match=f"there is no job {theirs.id} of tenant 'acme'"):
        await flow.enqueue()

    assert len(await app.jobs.counts()) == 1


async def test_ten_thousand_and_one_parents_are_refused(backstay: Harness) -> None:
    flow = app.flow("wide")
    flow.add(mail, to="x").after([uuid4() for _ in range(10_001)])

    with pytest.raises(InvalidFlow, match="has 10,001 parents, the limit is 1,000: gather them in groups"):
        await flow.enqueue()

    assert await app.jobs.counts() == []


async def test_a_flow_of_plain_values_may_come_in_any_order(backstay: Harness) -> None:
    jobs = [
        {
            "name": "end",
            "kind": "mail",
            "args": {"to": "end"},
            "after": [{"job": "sum", "when": ["/score", ">", 1]}],
        },
        {
            "name": "sum",
            "kind": "merge",
            "args": {"pages": [None, None]},
            "after": [{"job": "a", "place": "/pages/0"}, {"job": "b", "place": "/pages/1"}],
        },
        {"name": "a", "kind": "fetch", "args": {"url": "a"}},
        {"name": "b", "kind": "fetch", "args": {"url": "b"}, "after": "a"},
    ]

    handle = await app.flows.start("from a file", jobs)
    await backstay.drain()

    assert ran == ["fetch a", "fetch b", "merge A,B as all", "mail end"]
    assert [one.label for one in await app.flows.members(handle.id)] == ["a", "b", "sum", "end"]


async def test_a_circle_of_plain_values_is_refused_by_its_names(backstay: Harness) -> None:
    jobs = [
        {"name": name, "kind": "mail", "args": {"to": "x"}, "after": [before]}
        for name, before in (("a", "c"), ("b", "a"), ("c", "b"))
    ]

    with pytest.raises(InvalidFlow, match=r"in a circle, '\w' → '\w' → '\w' → '\w': leave one of these out"):
        await app.flows.start("circle", jobs)
    with pytest.raises(InvalidFlow, match="unknown field 'afters'"):
        await app.flows.start("typo", [{"name": "a", "kind": "mail", "args": {"to": "x"}, "afters": []}])
    with pytest.raises(InvalidFlow, match="two jobs are called 'a'"):
        await app.flows.start("twice", [{"name": "a", "kind": "mail"}, {"name": "a", "kind": "mail"}])

    assert await app.jobs.counts() == []


async def test_a_flow_joins_the_callers_transaction(backstay: Harness) -> None:
    done = await fetch.enqueue(url="done")
    await backstay.drain()

    async def build(name: str) -> Any:
        flow = app.flow(name)
        flow.add(merge, pages=[result_of(done)])
        flow.add(mail, to="x").after(flow.nodes[0])
        return flow

    kept, undone = await build("kept"), await build("undone")
    if app.url.startswith("postgresql"):
        connection = await asyncpg.connect(app.url)
        async with connection.transaction():
            await kept.enqueue(tx=connection)
        transaction = connection.transaction()
        await transaction.start()
        await undone.enqueue(tx=connection)
        await transaction.rollback()
        await connection.close()
    else:
        from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

        engine = create_async_engine(app.url.replace("sqlite", "sqlite+aiosqlite", 1))
        async with AsyncSession(engine) as session:
            await kept.enqueue(tx=session)
            await session.commit()
            await undone.enqueue(tx=session)
            await session.rollback()
        await engine.dispose()

    assert [one.name for one in await app.flows.all()] == ["kept"]
    # Its parent had ended, so it does not wait.
    assert await state(kept.nodes[0].id) is State.AVAILABLE
    # What is stored on the caller's connection goes by the real clock.
    await backstay.drain(with_scheduled=True)
    assert ran == ["fetch done", "merge DONE as all", "mail x"]


def test_a_flow_is_stored_by_blocking_calls_and_in_blocking_transactions(backstay: Harness) -> None:
    flow = app.flow("blocking")
    first = flow.add(fetch, url="a")
    flow.add(mail, to="x").after(first)
    handle = flow.enqueue_sync()
    assert app.sync.flows.get(handle.id).total == 2

    for number, opened in enumerate(blocking_transactions()):
        with opened as transaction:
            joined = app.flow(f"joined {number}")
            joined.add(mail, to="y").after(first.id)
            joined.enqueue_sync(tx=transaction)
            transaction.commit()
        assert app.sync.jobs.get(joined.nodes[0].id).reason == WAITS


def blocking_transactions() -> Iterator[Any]:
    if app.url.startswith("postgresql"):
        yield psycopg.connect(app.url)
        yield Session(create_engine(app.url.replace("postgresql", "postgresql+psycopg"), poolclass=NullPool))
    else:
        connection = sqlite3.connect(app.url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute("BEGIN")
        yield closing(connection)
        yield Session(create_engine(app.url, poolclass=NullPool))
