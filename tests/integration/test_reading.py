"""Finding jobs by text and time, in either order, and counting them up to a limit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import asyncpg
import pytest

from backstay import Backstay, Hopeless, State
from backstay.errors import InvalidPolicy, SearchTooLong
from backstay.records import JobFilter
from backstay.testing import Harness, PrivatePostgres, harness

numbers = itertools.count()
app = Backstay("sqlite:///unused.db")


@app.job(promote=["page"])
async def read(page: int = 1) -> None:
    if page == 13:
        raise Hopeless("100% of page_13 is torn")


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The application on each of the databases."""
    url = "sqlite://:memory:"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"reading_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    with harness(app, url) as tried:
        yield tried


async def ids(filters: JobFilter) -> list[object]:
    return [job.id for job in (await app.jobs.search(filters)).jobs]


async def test_jobs_are_found_by_a_text_in_name_description_or_error(backend: Harness) -> None:
    named = await read.options(name="The Atlas").enqueue(1)
    told = await read.options(description="a book of maps").enqueue(2)
    torn = await read.enqueue(13)
    await backend.drain()

    assert await ids(JobFilter(text="atlas")) == [named.id]
    assert await ids(JobFilter(text="MAPS")) == [told.id]
    # What stands for anything in a pattern stands for itself here.
    assert await ids(JobFilter(text="100% of page_13")) == [torn.id]
    assert await ids(JobFilter(text="1%torn")) == []


async def test_jobs_are_found_by_when_they_ended(backend: Harness) -> None:
    first = await read.enqueue(1)
    await backend.drain()
    await backend.travel("1h")
    half = backend.now
    last = await read.enqueue(2)
    await backend.drain()
    waits = await read.options(delay="1d").enqueue(3)

    assert await ids(JobFilter(finished_to=half)) == [first.id]
    assert await ids(JobFilter(finished_from=half)) == [last.id]
    assert waits.id not in await ids(JobFilter(finished_from=half))


async def test_the_oldest_can_come_first_page_by_page(backend: Harness) -> None:
    stored = [(await read.enqueue(page)).id for page in range(5)]

    filters = JobFilter(order="oldest", kind="read")
    first = await app.jobs.search(filters, limit=3)
    second = await app.jobs.search(filters, limit=3, cursor=first.cursor)

    assert [job.id for job in first.jobs + second.jobs] == stored
    assert await ids(JobFilter(order="newest")) == stored[::-1]
    with pytest.raises(InvalidPolicy, match="newest"):
        await ids(JobFilter(order="biggest"))  # type: ignore[arg-type]  # what a caller without types may write
    with pytest.raises(InvalidPolicy, match="promoted"):
        await ids(JobFilter(order="oldest", promoted={"page": 1}))


async def test_counts_tell_where_they_stopped_counting(backend: Harness) -> None:
    await read.enqueue_many([{"page": page} for page in range(7)])
    await read.options(delay="1h").enqueue(1)
    await read.options(tenant="north").enqueue(1)
    jobs = app._connections.stores("schema").jobs

    exact = {one.state: (one.jobs, one.is_capped) for one in await app.jobs.counts()}
    capped = {one.state: (one.jobs, one.is_capped) for one in await jobs.counts(most=5)}
    of_tenant = {one.state: (one.jobs, one.is_capped) for one in await jobs.counts(tenant="north", most=5)}
    await backend.drain()
    ended = {one.state: (one.jobs, one.is_capped) for one in await jobs.counts(most=5)}

    assert exact == {State.AVAILABLE: (8, False), State.SCHEDULED: (1, False)}
    assert capped == {State.AVAILABLE: (5, True), State.SCHEDULED: (1, False)}
    assert of_tenant == {State.AVAILABLE: (1, False)}
    assert ended[State.COMPLETED] == (4, True)


async def test_a_search_that_takes_too_long_says_what_would_help(postgres_server: PrivatePostgres) -> None:
    name = f"reading_{next(numbers)}"
    postgres_server.create_database(name)
    url = postgres_server.url(name)
    reader = Backstay(url)
    await reader.migrate()
    connection = await asyncpg.connect(url)

    async with connection.transaction():
        # No search gets further than this while the transaction is open, as none does among millions.
        await connection.execute("LOCK TABLE backstay.jobs")
        with pytest.raises(SearchTooLong, match="correlation_id") as found:
            await reader.jobs.search(JobFilter(tag="none"), timeout="50ms")

    assert found.value.within.total_seconds() == 0.05
    assert (await reader.jobs.search(JobFilter(tag="none"))).jobs == []
    await connection.close()
    await reader.close()


async def test_an_application_counts_what_is_its_own(backend: Harness) -> None:
    totals = [await app.metrics.count("pages", number) for number in (3, 1, 0)]
    await app.metrics.count("drifts")

    assert totals == [3, 4, 4]
    assert await app.metrics.counters() == {"drifts": 1, "pages": 4}
    for odd in ("Pages", "a b", ""):
        with pytest.raises(InvalidPolicy, match="name"):
            await app.metrics.count(odd)
    with pytest.raises(InvalidPolicy, match="only rise"):
        await app.metrics.count("pages", -1)
