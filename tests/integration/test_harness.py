"""The harness that users test their jobs with, on both databases."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from unittest.mock import ANY

import pytest

from backstay import Backoff, Backstay, Cancel, Context, Hopeless, PromotedField, References, Snooze, State
from backstay.errors import InvalidSettings, JobFailed, SyncOnLoop
from backstay.model.outcome import Fail, Snoozed, Stopped
from backstay.records import JobFilter
from backstay.testing import Drained, FrozenClock, Harness, NotRunnable, PrivatePostgres, SyncHarness, harness
from backstay.testing.database import IN_MEMORY

app = Backstay("sqlite:////nowhere/backstay.db")
app.declare("elsewhere")
runs: list[str] = []


@dataclass
class Address:
    street: str


@app.job(queue="mail", max_attempts=3)
async def send(user: int, address: Address | None = None) -> str:
    runs.append(f"send {user} in {threading.current_thread().name}")
    return f"sent to {user}"


@app.job
def resize(path: str) -> int:
    runs.append(f"resize {path}")
    send.enqueue_sync(user=len(path))
    return len(path)


@app.job(runs_in="process")
def compute(number: int) -> int:
    runs.append(f"compute {number}")
    return number + 1


@app.job(max_attempts=2, backoff=Backoff.fixed("1m"))
async def broken(message: str) -> None:
    runs.append("broken")
    raise ValueError(message)


@app.job
async def order(ctx: Context, number: int) -> int:
    await send.options(delay="5m", tenant="acme").enqueue(user=number)
    return ctx.attempt


@app.job(promote=[PromotedField("user", References("users.id")), "page"])
async def scan(user: int, page: int) -> None:
    runs.append(f"scan {user}")


@app.job
async def ending(how: str) -> None:
    match how:
        case "snooze":
            raise Snooze(60)
        case "cancel":
            raise Cancel("paid meanwhile")
        case "hopeless":
            raise Hopeless("no such street")


@app.job(timeout="100ms")
async def slow() -> None:
    await asyncio.Event().wait()


@app.job
async def endless(number: int) -> None:
    await endless.enqueue(number=number + 1)


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("harness")
    yield postgres_server.url("harness")
    postgres_server.drop_database("harness")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest) -> Iterator[Harness]:
    url = IN_MEMORY if request.param == "sqlite" else request.getfixturevalue("test_database")
    runs.clear()
    with harness(app, url) as opened:
        yield opened


@pytest.fixture
def backstay_sync(backstay: Harness) -> SyncHarness:
    return SyncHarness(backstay)


async def test_what_was_enqueued_is_found_by_some_of_its_arguments(backstay: Harness) -> None:
    await send.enqueue(user=7, address=Address("Elm"))

    job = await backstay.assert_enqueued(send, user=7)

    assert job.args == {"user": 7, "address": {"street": "Elm"}}
    assert await backstay.assert_enqueued("send", address=Address("Elm")) == job
    assert await backstay.assert_enqueued(send, user=ANY) == job
    await backstay.refute_enqueued(send, user=8)
    await backstay.refute_enqueued(resize)


@pytest.mark.parametrize(
    "options",
    [
        {"queue": "fast"},
        {"tenant": "acme", "priority": 2},
        {"delay": "5m"},
        {"tags": ["a", "b"], "metadata": {"who": "ann"}},
        {"expires": "1h", "deadline": timedelta(hours=2)},
        {"max_attempts": 9, "timeout": "7s"},
        {"key": "w-7", "name": "welcome", "correlation_id": "c"},
        {"held_for": "an approval"},
    ],
    ids=lambda options: "-".join(options),
)
async def test_options_are_expected_as_they_are_given(backstay: Harness, options: dict[str, object]) -> None:
    await send.options(**options).enqueue(user=7)

    await backstay.assert_enqueued(send.options(**options), user=7)
    await backstay.refute_enqueued(send.options(**options, description="another"), user=7)


async def test_what_differs_is_told_nearest_first(backstay: Harness) -> None:
    await resize.enqueue(path="cat.png")
    await send.enqueue(user=1, address=Address("Elm"))
    await send.options(delay="5m").enqueue(user=7)

    with pytest.raises(AssertionError) as refused:
        await backstay.assert_enqueued(
            send.options(delay="1h", tenant="acme"), user=7, address=Address("Oak")
        )

    first, *lines = str(refused.value).splitlines()
    assert first == (
        "no job 'send' with user=7, address=Address(street='Oak'), delay 1:00:00, tenant 'acme' was enqueued. "
        "Nearest first, there are:"
    )
    assert lines == [
        "  send(user=7) [scheduled, queue 'mail']: it has no address; delay is 0:05:00, not 1:00:00; "
        "tenant is '', not 'acme'",
        "  send(user=1, address={'street': 'Elm'}) [available, queue 'mail']: user is 1, not 7; "
        "address is {'street': 'Elm'}, not Address(street='Oak'); delay is 0:00:00, not 1:00:00; "
        "tenant is '', not 'acme'",
        "  resize(path='cat.png') [available, queue 'default']: its kind is 'resize'",
    ]


async def test_what_should_not_be_there_is_shown(backstay: Harness) -> None:
    await app.jobs.enqueue_many([send.args(user=number) for number in range(12)])

    with pytest.raises(AssertionError) as refused:
        await backstay.refute_enqueued(send)
    with pytest.raises(AssertionError, match="no job 'resize' was enqueued"):
        await backstay.assert_enqueued(resize)

    lines = str(refused.value).splitlines()
    assert lines[0] == "12 jobs 'send' should not have been enqueued:"
    assert lines[1] == "  send(user=0) [available, queue 'mail']"
    assert lines[-1] == "  … and 2 more"


async def test_where_nothing_was_enqueued_that_is_said(backstay: Harness) -> None:
    with pytest.raises(AssertionError, match="no job 'send' with user=7 was enqueued; nothing was"):
        await backstay.assert_enqueued(send, user=7)


async def test_an_argument_that_does_not_exist_is_refused(backstay: Harness) -> None:
    """A slip of the pen would make every refutation true."""
    with pytest.raises(TypeError, match="'send' has no argument usr: it has user, address"):
        await backstay.refute_enqueued(send, usr=7)
    with pytest.raises(ValueError, match="the option unique cannot be seen"):
        await backstay.refute_enqueued(send.options(unique=True))


async def test_kinds_of_other_programs_are_found_by_name(backstay: Harness) -> None:
    await app.jobs.enqueue_by_name("elsewhere", {"a": 1, "b": 2})

    await backstay.assert_enqueued("elsewhere", b=2)
    await backstay.refute_enqueued("elsewhere", b=3)


async def test_draining_runs_what_there_is_and_what_that_enqueues(backstay: Harness) -> None:
    await resize.enqueue(path="cat.png")
    await send.enqueue(user=1)
    await send.options(queue="fast").enqueue(user=2)

    drained = await backstay.drain()

    assert (drained.completed, len(drained), drained.failed) == (4, 4, 0)
    assert [run.split(" in ")[0] for run in runs] == ["resize cat.png", "send 1", "send 2", "send 7"]
    assert [job.state for job in await backstay.enqueued(send)] == [State.COMPLETED] * 3


async def test_draining_leaves_what_is_not_due(backstay: Harness) -> None:
    await order.enqueue(number=3)
    await broken.enqueue(message="no")

    first, second = await backstay.drain(), await backstay.drain()

    assert (first.completed, first.retrying, first.dead, first.failed) == (1, 1, 0, 1)
    assert repr(first) == "Drained(completed=1, retrying=1)"
    assert len(second) == 0


async def test_draining_with_what_is_scheduled_travels_there(backstay: Harness) -> None:
    before = backstay.now
    await order.enqueue(number=3)
    await broken.enqueue(message="no")

    drained = await backstay.drain(with_scheduled=True)

    assert (drained.completed, drained.retrying, drained.dead) == (2, 1, 1)
    assert backstay.now == before + timedelta(minutes=5)
    assert [ran.job.kind for ran in drained.attempts] == ["order", "broken", "broken", "send"]


async def test_every_way_to_end_is_counted(backstay: Harness) -> None:
    for how in ("snooze", "cancel", "hopeless", "well"):
        await ending.enqueue(how=how)

    drained = await backstay.drain()

    assert (drained.snoozed, drained.cancelled, drained.dead, drained.completed) == (1, 1, 1, 1)


async def test_jobs_that_never_end_are_noticed(backstay: Harness) -> None:
    await endless.enqueue(number=0)

    with pytest.raises(NotRunnable, match="after 20 attempts there are still jobs to run, next 'endless'"):
        await backstay.drain(most=20)


async def test_a_paused_queue_is_not_drained(backstay: Harness) -> None:
    await send.enqueue(user=1)
    await app.queues.pause(queue="mail", reason="maintenance")

    drained = await backstay.drain()

    assert repr(drained) == repr(Drained())


async def test_one_job_is_run_and_its_result_returned(backstay: Harness) -> None:
    await send.enqueue(user=1)

    result = await backstay.run_job(send, user=2)

    assert result == "sent to 2"
    assert [job.state for job in await backstay.enqueued(send)] == [State.AVAILABLE, State.COMPLETED]
    assert [(job.attempt, job.args["user"]) for job in await backstay.enqueued(send, user=1)] == [(0, 1)]


async def test_a_job_that_asks_for_a_process_runs_in_that_of_the_test(backstay: Harness) -> None:
    assert await backstay.run_job(compute, number=41) == 42

    assert runs[-1] == "compute 41"


async def test_a_follow_up_of_a_job_is_there_and_has_not_run(backstay: Harness) -> None:
    assert await backstay.run_job(order.options(tenant="acme"), number=4) == 1

    follow_up = await backstay.assert_enqueued(send.options(delay="5m", tenant="acme"), user=4)

    assert follow_up.state is State.SCHEDULED


async def test_what_the_handler_raises_is_raised(backstay: Harness) -> None:
    with pytest.raises(ValueError, match="no such thing"):
        await backstay.run_job(broken, message="no such thing")
    with pytest.raises(Snooze):
        await backstay.run_job(ending, how="snooze")
    with pytest.raises(JobFailed, match="did not finish within its time limit"):
        await backstay.run_job(slow)


async def test_a_failure_can_be_looked_at_instead(backstay: Harness) -> None:
    ran = await backstay.try_job(broken, message="no")
    snoozed = await backstay.try_job(ending, how="snooze")
    stopped = await backstay.try_job(ending, how="cancel")

    assert isinstance(ran.error, ValueError)
    assert isinstance(ran.outcome, Fail)
    assert (ran.job.state, ran.job.attempt) == (State.SCHEDULED, 1)
    assert ran.job.run_at > backstay.now
    assert snoozed.outcome == Snoozed(timedelta(minutes=1))
    assert stopped.outcome == Stopped("paid meanwhile")


async def test_a_job_that_cannot_run_now_is_refused(backstay: Harness) -> None:
    with pytest.raises(NotRunnable, match="travel there first"):
        await backstay.run_job(send.options(delay="5m"), user=1)
    with pytest.raises(NotRunnable, match=r"it is held \(an approval\)"):
        await backstay.run_job(send.options(held_for="an approval"), user=1)
    await app.queues.pause(queue="mail", reason="maintenance")
    with pytest.raises(NotRunnable, match="its queue 'mail' or its kind is paused"):
        await backstay.run_job(send, user=1)


async def test_time_passes_only_by_travelling(backstay: Harness) -> None:
    before = backstay.now
    later = await send.options(delay="1h").enqueue(user=1)
    late = await send.options(expires="10m").enqueue(user=2)
    missed = await send.options(delay="20m", deadline="15m").enqueue(user=3)

    await backstay.travel("59m")
    states = [(await handle.get()).state for handle in (later, late, missed)]
    await backstay.travel(to=before + timedelta(hours=1))

    assert states == [State.SCHEDULED, State.CANCELLED, State.DEAD]
    assert (await later.get()).state is State.AVAILABLE
    assert runs == []


async def test_travelling_needs_one_direction(backstay: Harness) -> None:
    with pytest.raises(TypeError, match="either a length of time or a moment"):
        await backstay.travel()
    with pytest.raises(ValueError, match="cannot travel back"):
        await backstay.travel(to=backstay.now - timedelta(seconds=1))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_job_survives_the_crash_of_its_worker(backstay: Harness, when: str) -> None:
    await resize.enqueue(path="cat.png")
    await send.enqueue(user=7)

    crashed = await backstay.crash_worker(send, when=when)  # type: ignore[arg-type]  # a parameter of the test
    still = await backstay.drain()
    await backstay.travel("2m")
    again = await backstay.drain()

    assert (crashed.kind, crashed.state) == ("send", State.RUNNING)
    assert [ran.job.kind for ran in still.attempts] == ["resize", "send"]
    assert [(ran.job.id, ran.job.run, ran.job.state) for ran in again.attempts] == [
        (crashed.id, 2, State.COMPLETED)
    ]
    assert sum("send 7" in run for run in runs) == (3 if when == "after" else 2)


async def test_a_job_that_kills_every_worker_dies(backstay: Harness) -> None:
    handle = await send.enqueue(user=7)
    for _ in range(4):
        await backstay.crash_worker(send)
        await backstay.travel("2m")
        await backstay.travel("1h")

    job = await handle.get()
    assert (job.state, job.reason) == (State.DEAD, "exhausted")
    with pytest.raises(NotRunnable, match="no job of 'send' can be claimed now"):
        await backstay.crash_worker(send)


async def test_after_a_long_way_the_test_can_still_run_jobs(backstay: Harness) -> None:
    await backstay.run_job(send, user=1)
    await backstay.travel("90d")

    assert await backstay.run_job(send, user=2) == "sent to 2"


async def test_blocking_calls_from_a_thread_see_the_same_jobs(backstay: Harness) -> None:
    await asyncio.to_thread(send.enqueue_sync, 7)

    await backstay.assert_enqueued(send, user=7)


def test_the_blocking_twin_does_the_same(backstay_sync: SyncHarness) -> None:
    resize.enqueue_sync(path="cat.png")

    drained = backstay_sync.drain()
    result = backstay_sync.run_job(send, user=3)
    ran = backstay_sync.try_job(broken, message="no")
    backstay_sync.travel("2m")
    again = backstay_sync.drain(with_scheduled=True)
    send.enqueue_sync(user=8)
    crashed = backstay_sync.crash_worker(send)

    assert (drained.completed, result, type(ran.error)) == (2, "sent to 3", ValueError)
    assert (again.dead, crashed.state) == (1, State.RUNNING)
    assert backstay_sync.assert_enqueued(send, user=7).state is State.COMPLETED
    assert len(backstay_sync.enqueued(send)) == 3
    assert backstay_sync.now == backstay_sync.clock()
    backstay_sync.refute_enqueued(send, user=9)
    with pytest.raises(AssertionError, match="no job 'send' with user=9"):
        backstay_sync.assert_enqueued(send, user=9)


async def test_the_blocking_twin_refuses_a_running_loop(backstay_sync: SyncHarness) -> None:
    with pytest.raises(SyncOnLoop, match=r"backstay_sync\.drain"):
        backstay_sync.drain()


@pytest.mark.parametrize("test", [1, 2])
async def test_every_test_begins_with_nothing(backstay: Harness, test: int) -> None:
    assert await backstay.enqueued(send) == []
    await send.options(queue="fast").enqueue(user=test)
    await backstay.drain()


def test_afterwards_the_application_is_where_it_was() -> None:
    before = vars(app).copy()

    with harness(app, clock=FrozenClock()) as opened:
        moved = app.url
        asyncio.run(opened.run_job(send, user=1))
        send.enqueue_sync(user=2)

    assert moved == IN_MEMORY
    assert vars(app) == before


def test_the_database_of_the_application_itself_is_refused(test_database: str) -> None:
    own = Backstay(test_database)

    with (
        pytest.raises(InvalidSettings, match="give tests a database of their own"),
        harness(own, test_database),
    ):
        pass


async def test_it_is_made_before_the_loop_runs() -> None:
    with pytest.raises(InvalidSettings, match="before the event loop runs"), harness(app):
        pass


async def test_promoted_fields_need_nothing_in_a_test(backstay: Harness) -> None:
    """Not even the tables that they refer to."""
    job = await scan.enqueue(user=1, page=7)

    found = await app.jobs.search(JobFilter(promoted={"page": 7, "user": 1}))
    await backstay.drain()

    assert [one.id for one in found.jobs] == [job.id]
    assert runs == ["scan 1"]


async def test_a_harness_that_was_given_up_for_dead_goes_on_as_a_new_worker(backstay: Harness) -> None:
    """Workers of other processes look at the register, and a harness tells nothing of itself between two jobs."""
    assert await backstay.run_job(send, user=1) == "sent to 1"
    [worker] = [one.id for one in await app.workers.all() if one.state == "alive"]
    await app._enqueuer.stores.workers.declare_one_dead(worker)

    assert await backstay.run_job(send, user=2) == "sent to 2"
