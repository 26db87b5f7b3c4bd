"""Erasing the jobs of a person or a tenant, and what dead letters and the audit trail keep."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from datetime import timedelta

import pytest

from backstay import Backstay, Context, Hopeless, PromotedField, State
from backstay.errors import Forbidden, InvalidPolicy, JobNotFound
from backstay.model.records import AuditFilter
from backstay.records import AuditEntry, Erased, JobFilter
from backstay.testing import Harness, PrivatePostgres, harness

numbers = itertools.count()
app = Backstay("sqlite:///unused.db")


@app.job(promote=[PromotedField("patient")])
async def scan(ctx: Context, patient: str, how: str = "well") -> str:
    if how == "badly":
        raise Hopeless("cannot be read")
    await ctx.step("read", lambda: patient)
    return patient


@app.job
async def tell(text: str) -> None: ...


@pytest.fixture(params=["sqlite", "postgres"])
def clinic(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The application on each of the databases."""
    url = "sqlite://:memory:"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"erasing_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    with harness(app, url) as tried:
        yield tried


async def everything(clinic: Harness) -> str:
    """All that the database holds, as text."""
    connections = app._connections
    described = await connections.database.describe()
    assert described
    stored = (await app.jobs.search(limit=200)).jobs
    letters = [await app.dead_letters.of_job(job.id) for job in stored]
    return json.dumps([str(stored), str(letters), str(await app.audit.search(AuditFilter()))])


async def erasures() -> list[AuditEntry]:
    """The lines of the trail that tell of erasing."""
    return [one for one in await app.audit.search(AuditFilter()) if one.action == "jobs.erased"]


async def test_all_jobs_of_a_person_are_erased_whatever_state_they_are_in(clinic: Harness) -> None:
    ended = await scan.options(key="ada-1").enqueue("ada")
    dead = await scan.enqueue("ada", how="badly")
    await clinic.drain()
    waits = await scan.options(delay="1h").enqueue("ada")
    other = await scan.enqueue("bob")

    done = await app.jobs.erase(JobFilter(promoted={"patient": "ada"}), by="eve", reason="she asked")

    assert done == Erased(jobs=3, letters=1)
    for job in (ended, dead, waits):
        with pytest.raises(JobNotFound):
            await app.jobs.get(job.id)
        assert await app.dead_letters.of_job(job.id) == []
        assert await app.jobs.steps(job.id) == []
    assert (await other.get()).state is State.AVAILABLE
    # Its key is free again.
    assert (await scan.options(key="ada-1").enqueue("ada")).is_new


async def test_the_trail_tells_that_it_was_done_and_not_about_whom(clinic: Harness) -> None:
    await scan.enqueue("ada lovelace")

    await app.jobs.erase(JobFilter(promoted={"patient": "ada lovelace"}), by="eve", reason="as asked")

    [line] = await erasures()
    assert (line.actor, line.reason) == ("eve", "as asked")
    assert line.details is not None
    assert line.details["jobs"] == 1
    assert line.details["filter"]["promoted.patient"].startswith("hmac-sha256:")
    assert "lovelace" not in await everything(clinic)


async def test_an_erasure_that_is_cut_short_has_told_of_all_that_is_gone(clinic: Harness) -> None:
    await scan.enqueue_many([{"patient": "ada"}] * 450)

    task = asyncio.create_task(
        app.jobs.erase(JobFilter(promoted={"patient": "ada"}), by="eve", reason="she asked")
    )
    while not (lines := await erasures()) and not task.done():
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    left = sum(one.jobs for one in await app.jobs.counts())
    lines = await erasures()
    assert lines
    assert sum(line.details["jobs"] for line in lines if line.details) == 450 - left


async def test_an_erasure_that_found_nothing_is_told_too(clinic: Harness) -> None:
    await app.jobs.erase(JobFilter(tenant="north"), by="eve", reason="they asked")

    [line] = await erasures()
    assert (line.actor, line.tenant) == ("eve", "north")


async def test_children_of_what_is_erased_are_decided_about(clinic: Harness) -> None:
    flow = app.flow("scan and tell", tenant="north")
    first = flow.add(scan, patient="ada", how="badly")
    last = flow.add(tell, text="done").after(first)
    handle = await flow.enqueue()
    await clinic.drain()

    done = await app.jobs.erase(JobFilter(tenant="north", kind="scan"), by="eve", reason="she asked")

    assert done.jobs == 1
    assert (await handle.of(last).get()).state is State.CANCELLED


async def test_a_job_whose_result_is_waited_for_stays_until_it_is_not(clinic: Harness) -> None:
    flow = app.flow("scan and tell", tenant="north")
    first = flow.add(scan, patient="ada")
    later = flow.add(scan.options(delay="1h"), patient="bob")
    flow.add(tell, first.result).after(later)
    await flow.enqueue()
    await clinic.drain()

    one = await app.jobs.erase(JobFilter(promoted={"patient": "ada"}), by="eve", reason="she asked")
    await app.jobs.erase(JobFilter(tenant="north", kind="tell"), by="eve", reason="she asked")
    two = await app.jobs.erase(JobFilter(promoted={"patient": "ada"}), by="eve", reason="she asked")

    assert (one, two) == (Erased(awaited=1), Erased(jobs=1))


async def test_nothing_is_erased_without_a_tenant_or_a_field(clinic: Harness) -> None:
    for filters in (JobFilter(), JobFilter(kind="scan"), JobFilter(state=State.DEAD)):
        with pytest.raises(InvalidPolicy, match="a tenant or a promoted field"):
            await app.jobs.erase(filters, by="eve", reason="tidy up")


async def test_a_letter_keeps_the_arguments_that_its_job_died_with(clinic: Harness) -> None:
    job = await scan.enqueue("ada", how="badly")
    await clinic.drain()
    await app.dead_letters.retry(job.id, by="eve", reason="typo", args={"patient": "bob", "how": "badly"})
    await clinic.drain()

    assert await app.dead_letters.arguments(job.id) == [
        {"patient": "bob", "how": "badly"},
        {"patient": "ada", "how": "badly"},
    ]
    seer = app.acting_as("eve", tenant="", rights=["dead_letters.read", "payloads.read"])
    blind = app.acting_as("eve", tenant="", rights=["dead_letters.read"])
    assert len(await seer.dead_letters.arguments(job.id)) == 2
    with pytest.raises(Forbidden):
        await blind.dead_letters.arguments(job.id)
    with pytest.raises(Forbidden):
        await blind.jobs.erase(JobFilter(), reason="she asked")


async def test_letters_that_have_outlived_their_job_are_erased_too(clinic: Harness) -> None:
    job = await scan.options(tenant="north").enqueue("ada", how="badly")
    await clinic.drain()
    await app.dead_letters.resolve(job.id, by="eve", reason="known")
    await clinic.travel("40d")
    upkeep = app._connections.stores("schema").upkeep
    await upkeep.delete_finished(
        {State.RESOLVED: timedelta(days=30)}, after=job.id.__class__(int=0), limit=100
    )
    assert len(await app.dead_letters.of_job(job.id)) == 1

    done = await app.jobs.erase(JobFilter(promoted={"patient": "ada"}), by="eve", reason="she asked")

    assert done == Erased(letters=1)
    assert await app.dead_letters.of_job(job.id) == []
