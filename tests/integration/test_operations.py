"""Operations: a worker does one thing with many jobs, and goes on when whoever has started it is gone."""

from __future__ import annotations

import asyncio

import pytest

from backstay import Backstay, Hopeless, State
from backstay.errors import Forbidden, InvalidSettings, NotFound
from backstay.options import JobOptions
from backstay.records import DeadLetterFilter, JobFilter, Operation

PATIENCE = 60


@pytest.fixture
async def app(empty_app: Backstay) -> Backstay:
    @empty_app.job(max_attempts=1)
    async def fail(number: int) -> None:
        raise Hopeless("it cannot be done")

    @empty_app.job
    async def idle() -> None:
        return None

    return empty_app


async def dead(app: Backstay, count: int, tenant: str | None = None) -> None:
    for number in range(count):
        await app.jobs.enqueue_by_name("fail", {"number": number}, JobOptions(tenant=tenant))
    await app.worker(until_empty=True).run()


async def over(app: Backstay, operation: Operation) -> Operation:
    """The operation once it has ended, with a worker that knows none of the kinds it is about."""
    other = Backstay(app.url)

    @other.job
    async def nothing() -> None:
        return None

    async with asyncio.timeout(PATIENCE), other.working():
        while (found := await app.operations.get(operation.id)).is_running:
            await asyncio.sleep(0.05)
    await other.close()
    return found


async def test_every_dead_letter_that_was_open_at_the_start_is_resolved(app: Backstay) -> None:
    await dead(app, 5)

    started = await app.operations.start(
        "dead_letters.resolve", DeadLetterFilter(kind="fail"), reason="paid by hand", by="ann"
    )
    await dead(app, 1)
    ended = await over(app, started)

    assert (started.name, started.total, started.is_running) == ("resolve 5 dead letters", 5, True)
    assert (ended.status, ended.done, ended.skipped, ended.share) == ("completed", 5, 0, 1.0)
    [left] = await app.dead_letters.open()
    assert (await app.jobs.history(left.job_id))[-1].action != "job.resolved"


async def test_jobs_that_wait_are_cancelled_by_who_asked_and_with_the_reason(app: Backstay) -> None:
    jobs = [
        (await app.jobs.enqueue_by_name("idle", {}, JobOptions(delay="1h", tags=["old"]))).id
        for _ in range(3)
    ]
    kept = (await app.jobs.enqueue_by_name("idle", {}, JobOptions(delay="1h"))).id

    ended = await over(
        app,
        await app.operations.start(
            "jobs.cancel", JobFilter(tag="old", state=State.SCHEDULED), reason="too late", by="ann", pace=1000
        ),
    )

    assert (ended.done, ended.filters["tag"]) == (3, "old")
    assert {(await app.jobs.get(job)).state for job in jobs} == {State.CANCELLED}
    assert (await app.jobs.get(kept)).state is State.SCHEDULED
    assert (await app.jobs.history(jobs[0]))[-1].actor == "ann"


async def test_what_cannot_be_done_to_a_job_is_skipped_with_its_problem(app: Backstay) -> None:
    await app.jobs.enqueue_by_name("idle", {})
    await app.worker(until_empty=True).run()

    ended = await over(app, await app.operations.start("jobs.hold", JobFilter(), reason="wait", by="ann"))

    assert (ended.done, ended.skipped) == (0, 1)
    assert ended.problem is not None
    assert "completed" in ended.problem


async def test_an_operation_goes_on_with_another_worker_and_stops_when_asked(app: Backstay) -> None:
    await dead(app, 6)
    started = await app.operations.start(
        "dead_letters.resolve", DeadLetterFilter(), reason="paid", by="ann", pace=2
    )

    for expected in (1, 2):
        async with asyncio.timeout(PATIENCE), app.working(kinds=["idle"]):
            while (await app.operations.get(started.id)).done < expected:
                await asyncio.sleep(0.05)
    assert await app.operations.stop(started.id, by="ben")
    ended = await over(app, started)

    assert (ended.status, ended.stopped_by) == ("stopped", "ben")
    assert 2 <= ended.done < 6
    assert not await app.operations.stop(started.id, by="ben")


async def test_somebody_of_a_tenant_acts_on_the_tenants_jobs_alone(app: Backstay) -> None:
    """ENG-108."""
    await dead(app, 2, "acme")
    await dead(app, 2, "globex")
    ann = app.acting_as("ann", tenant="acme", rights={"operations.*", "dead_letters.resolve"})
    eve = app.acting_as("eve", tenant="globex", rights={"operations.*"})

    started = await ann.operations.start("dead_letters.resolve", DeadLetterFilter(), reason="paid")

    with pytest.raises(NotFound):
        await eve.operations.stop(started.id)
    with pytest.raises(Forbidden):
        await eve.operations.start("dead_letters.resolve", DeadLetterFilter(), reason="mine")
    assert await eve.operations.all() == []
    assert (await over(app, started)).done == 2
    assert {letter.tenant for letter in await app.dead_letters.open()} == {"globex"}


@pytest.mark.parametrize("pace", [0, -1, float("inf"), float("nan")])
async def test_a_pace_that_is_none_is_refused(app: Backstay, pace: float) -> None:
    with pytest.raises(InvalidSettings, match="pace"):
        await app.operations.start("jobs.hold", JobFilter(), reason="wait", by="ann", pace=pace)


async def test_a_verb_that_is_none_or_does_not_fit_is_refused(app: Backstay) -> None:
    with pytest.raises(InvalidSettings, match="choose one of"):
        await app.operations.start("jobs.burn", JobFilter(), reason="wait", by="ann")
    with pytest.raises(InvalidSettings, match="JobFilter"):
        await app.operations.start("jobs.hold", DeadLetterFilter(), reason="wait", by="ann")
