"""What handlers do through their context, on both databases."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import asyncpg
import pytest

from backstay import Backoff, Backstay, Context, State
from backstay.composition.connect import open_database, stores_on
from backstay.errors import InvalidPayload, InvalidStep, LeaseUncertain, SyncOnLoop
from backstay.model.job import NewStep
from backstay.model.outcome import Fail
from backstay.records import Progress
from backstay.stores.database.migrate import migrate
from backstay.testing import FrozenClock, Harness, PrivatePostgres, harness
from backstay.testing.contract.support import Store
from backstay.testing.database import IN_MEMORY
from backstay.worker.run import local_backend as backend

told: list[tuple[str, dict[str, Any]]] = []
did: list[str] = []
app = Backstay("sqlite:////nowhere/backstay.db", emit=lambda event, /, **facts: told.append((event, facts)))
twice = app.job(max_attempts=2, backoff=Backoff.fixed("1s"))


@dataclass
class Invoice:
    number: int
    paid_at: datetime


async def fetch(number: int) -> Invoice:
    did.append(f"fetch {number}")
    return Invoice(number, datetime(2027, 1, 2, tzinfo=UTC))


def total(*invoices: Invoice) -> int:
    did.append("total")
    return sum(invoice.number for invoice in invoices)


def fail() -> None:
    did.append("fail")
    raise ConnectionError("the service is away")


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("context")
    yield postgres_server.url("context")
    postgres_server.drop_database("context")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest) -> Iterator[Harness]:
    url = IN_MEMORY if request.param == "sqlite" else request.getfixturevalue("test_database")
    did.clear()
    told.clear()
    with harness(app, url) as opened:
        yield opened


@twice
async def bill(ctx: Context, number: int) -> int:
    first, second = await asyncio.gather(
        ctx.step("first", fetch, number), ctx.step("second", partial(fetch, number + 1))
    )
    assert (type(first), second.paid_at.tzinfo) == (Invoice, UTC)
    sum_of_both = await ctx.step("total", total, first, second)
    if ctx.run == 1:
        await ctx.step("send", fail)
    return sum_of_both


async def test_a_retry_gets_the_results_of_finished_steps_in_their_types(backstay: Harness) -> None:
    handle = await bill.enqueue(number=3)

    drained = await backstay.drain(with_scheduled=True)

    assert (drained.retrying, drained.completed) == (1, 1)
    assert await handle.result() == 7
    assert sorted(did) == ["fail", "fetch 3", "fetch 4", "total"]
    steps = await app.jobs.steps(handle.id)
    assert [(step.name, step.run) for step in steps] == [("first", 1), ("second", 1), ("total", 1)]


@twice
async def render(ctx: Context) -> dict[str, int]:
    """Do one step again where it failed, and go on where an item fails for good."""
    try:
        await ctx.step("paper", fail)
    except ConnectionError:
        did.append("again")
        await ctx.step("paper", total)
    counts = {"ok": 0, "failed": 0}
    for item in (1, 0, 2):
        try:
            counts["ok"] += bool(4 // item)
        except ZeroDivisionError as error:
            counts["failed"] += 1
            ctx.log.warning("item skipped", item=item, error=str(error))
    return counts


async def test_what_a_handler_repeats_or_skips_itself_costs_no_attempt(backstay: Harness) -> None:
    """ENG-061 and ENG-062."""
    handle = await render.enqueue()

    await backstay.drain()

    job = await app.jobs.get(handle.id)
    assert did == ["fail", "again", "total"]
    assert (job.state, job.attempt, job.result) == (State.COMPLETED, 1, {"ok": 2, "failed": 1})
    assert await app.jobs.attempts(handle.id) == []


async def test_an_error_tells_in_which_step_it_came_about(backstay: Harness) -> None:
    ran = await backstay.try_job(bill, number=3)

    assert isinstance(ran.outcome, Fail)
    assert ran.outcome.error.context == {"step": "send"}
    assert ran.job.error is not None
    assert ran.job.error["context"] == {"step": "send"}


@app.job(timeout="100ms")
async def stuck(ctx: Context) -> None:
    await ctx.step("wait", asyncio.Event().wait)


async def test_a_timeout_tells_in_which_step_the_time_ran_out(backstay: Harness) -> None:
    ran = await backstay.try_job(stuck)

    assert isinstance(ran.outcome, Fail)
    assert (ran.outcome.timed_out, ran.outcome.error.context) == (True, {"step": "wait"})


@twice
def bill_in_thread(ctx: Context, number: int) -> int:
    found = ctx.step_sync("total", total, Invoice(number, datetime(2027, 1, 1, tzinfo=UTC)))
    if ctx.run == 1:
        fail()
    return found


async def test_a_handler_in_a_thread_has_steps_as_well(backstay: Harness) -> None:
    handle = await bill_in_thread.enqueue(number=3)

    await backstay.drain(with_scheduled=True)

    assert await handle.result() == 3
    assert did == ["total", "fail"]


@app.job
async def misuse(ctx: Context, how: str) -> None:
    match how:
        case "duplicate":
            await ctx.step("fetch", fetch, 1)
            await ctx.step("fetch", fetch, 2)
        case "no JSON":
            await ctx.step("open", lambda: object())
        case "too large":
            await ctx.step("read", lambda: "x" * 2_000_000)
        case "other type":
            await ctx.step("count", lying)
        case "no name":
            await ctx.step("", fetch, 1)
        case "unknown annotation":
            await ctx.step("count", unknown)
        case "called":
            await ctx.step("fetch", fetch(1))  # type: ignore[call-overload]  # what the test is about
        case "a value":
            await ctx.step("total", 7)  # type: ignore[call-overload]  # what the test is about
        case "blocking":
            ctx.step_sync("fetch", total)


def lying() -> int:
    return "many"  # type: ignore[return-value]  # what the test is about


def unknown() -> Missing:  # type: ignore[name-defined]  # noqa: F821 -- what the test is about
    return 1


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("duplicate", "step 'fetch': it was begun before in this run: give each step a name of its own"),
        ("no JSON", "step 'open': it cannot be remembered: result: an object of type object"),
        ("too large", "step 'read': it cannot be remembered: result: 2,000,002 bytes of JSON"),
        ("other type", "step 'count': its result is not what its function is annotated to return"),
        ("no name", "step cannot be '': it has 0 characters, not 1 to 255"),
        ("unknown annotation", "step 'count': the annotation 'Missing' of its function is not known"),
        ("called", "step 'fetch': it was called already: hand in the function and what it takes"),
        ("a value", "step 'total': int is no function: hand in a function and what it takes"),
    ],
)
async def test_a_step_that_can_never_work_makes_its_job_dead(backstay: Harness, how: str, says: str) -> None:
    ran = await backstay.try_job(misuse, how=how)

    assert isinstance(ran.error, InvalidStep)
    assert says in str(ran.error)
    assert ran.job.state is State.DEAD


async def test_a_blocking_step_is_refused_on_the_event_loop(backstay: Harness) -> None:
    with pytest.raises(SyncOnLoop, match=r"ctx\.step_sync would block"):
        await backstay.run_job(misuse, how="blocking")


@app.job
def awaits_nothing(ctx: Context) -> None:
    ctx.step("fetch", fetch, 1)


@app.job
def blocks_on_async(ctx: Context) -> None:
    ctx.step_sync("fetch", fetch, 1)


async def test_steps_of_the_wrong_colour_are_refused_with_advice(backstay: Harness) -> None:
    with pytest.raises(InvalidStep, match=r"use 'ctx\.step_sync\(…\)'"):
        await backstay.run_job(awaits_nothing)
    with pytest.raises(InvalidStep, match=r"use 'await ctx\.step\(…\)'"):
        await backstay.run_job(blocks_on_async)


@app.job
def count_quickly(ctx: Context, seconds: float) -> int:
    calls, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        calls += 1
        ctx.progress(calls, 1_000_000_000, f"call {calls}")
    return calls


async def test_a_flood_of_progress_is_written_once_a_second_and_at_the_end(backstay: Harness) -> None:
    ran = await backstay.try_job(count_quickly, seconds=1.2)

    writes = [facts for event, facts in told if event == "job.progressed"]
    assert ran.result > 1000
    assert len(writes) <= 4
    assert ran.job.progress == Progress(
        ran.result, 1_000_000_000, f"call {ran.result}", updated_at=backstay.now
    )


@app.job
async def one_word(ctx: Context, current: Any, total: Any = None) -> None:
    ctx.progress(current, total, "all \x00 is\nwell")
    raise ValueError("ended at once")


async def test_the_last_progress_is_written_also_when_the_handler_fails_at_once(backstay: Harness) -> None:
    ran = await backstay.try_job(one_word, current=1, total=3)

    assert ran.job.progress is not None
    assert (ran.job.progress.current, ran.job.progress.total) == (1, 3)
    assert ran.job.progress.message == "all \\x00 is\nwell"


@pytest.mark.parametrize(("current", "total"), [(-1, None), (None, 3), (1, 0), ("1", 2), (True, None)])
async def test_progress_that_is_no_count_is_refused(backstay: Harness, current: Any, total: Any) -> None:
    with pytest.raises(InvalidPayload, match="progress: "):
        await backstay.run_job(one_word, current=current, total=total)


@app.job
async def look_at_the_clock(ctx: Context, reference_time: datetime | None = None) -> list[datetime]:
    return [ctx.now, ctx.now]


async def test_now_is_the_reference_time_of_the_job_or_the_time_of_the_run(backstay: Harness) -> None:
    """ENG-080."""
    given = datetime(2026, 5, 1, 12, tzinfo=UTC)

    assert await backstay.run_job(look_at_the_clock) == [backstay.now] * 2
    assert await backstay.run_job(look_at_the_clock, reference_time=given) == [given] * 2
    with pytest.raises(InvalidPayload, match="without a time zone at /reference_time"):
        await backstay.run_job(look_at_the_clock, reference_time=datetime(2026, 5, 1))  # noqa: DTZ001 -- the case


@app.job
async def write_a_line(ctx: Context) -> None:
    ctx.log.warning("page.skipped", page=7, name="a name that records have, too")


async def test_a_line_of_the_log_carries_the_job(backstay: Harness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "backstay.job")

    ran = await backstay.try_job(write_a_line)

    facts = {
        name: vars(caplog.records[0]).get(name) for name in ("job_id", "kind", "attempt", "page", "name_")
    }
    assert (caplog.records[0].message, caplog.records[0].levelname) == ("page.skipped", "WARNING")
    assert facts == {
        "job_id": str(ran.job.id),
        "kind": "write_a_line",
        "attempt": 1,
        "page": 7,
        "name_": "a name that records have, too",
    }


@app.job
async def rely_on_the_lease(ctx: Context) -> int:
    ctx.ensure_lease()
    return ctx.lease_epoch


async def test_a_lease_is_relied_upon_until_it_was_not_renewed_for_long(
    backstay: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await backstay.run_job(rely_on_the_lease) == 1

    monkeypatch.setattr(backend, "UNCERTAIN_AFTER", 0)
    with pytest.raises(LeaseUncertain, match="another worker may take the job"):
        await backstay.run_job(rely_on_the_lease)


async def test_a_context_that_nobody_runs_still_runs_steps() -> None:
    """As a test of a handler may make one."""
    ctx = Context(job_id=app._env.new_id(), kind="bill", queue="default")  # type: ignore[arg-type]  # any id will do

    assert (await ctx.step("fetch", fetch, 3)).number == 3
    ctx.progress(1, 2)
    ctx.ensure_lease()
    assert ctx.now.tzinfo is UTC


async def test_nobody_can_take_a_job_over_while_its_step_is_saved(test_database: str) -> None:
    """The step waits for the one who takes over, and then it is refused."""
    database = open_database(test_database)
    await migrate(database)
    store = Store(stores_on(database.lane("test", size=4)), FrozenClock())
    claim = await store.claimed()
    rival = await asyncpg.connect(test_database)
    async with rival.transaction():
        await rival.execute("UPDATE backstay.jobs SET lease_epoch = lease_epoch + 2 WHERE id = $1", claim.id)
        saving = asyncio.create_task(store.stores.steps.save([(claim, NewStep("fetch", 1, "1", 0))]))
        while not await rival.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert not saving.done()
            await asyncio.sleep(0.01)

    assert await saving == {claim.id}
    await rival.close()
    await database.close()
