"""An application's words for states: jobs are found by them, and unknown ones are refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from backstay import Backstay, Hopeless, JobOptions, Profile, Retry, State
from backstay.errors import InvalidPolicy
from backstay.records import JobFilter
from backstay.testing import Harness, PrivatePostgres, harness

numbers = itertools.count()

WORDS = {
    (State.AVAILABLE, ""): "QUEUED",
    (State.SCHEDULED, ""): "QUEUED",
    (State.SCHEDULED, "retrying"): "RETRYING",
    (State.DEAD, ""): "FAILED",
    (State.DEAD, "hopeless"): "REJECTED",
}


@pytest.fixture(params=["sqlite", "postgres"])
def shop(request: pytest.FixtureRequest) -> Iterator[Harness]:
    """An application with words of its own, on each of the databases."""
    app = Backstay("sqlite:///unused.db", profile=Profile(name="shop", words=WORDS))

    @app.job(kind="end")
    async def end(how: str) -> None:
        if how == "again":
            raise Retry("later", after="1h")
        raise Hopeless("no")

    url = "sqlite://:memory:"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"words_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    with harness(app, url) as tried:
        yield tried


@pytest.fixture
async def app(shop: Harness) -> Backstay:
    """A queued job, one for later, one that is tried again, and one that is dead."""

    async def enqueue(how: str, **options: Any) -> None:
        given = JobOptions(correlation_id=how, **options)
        await shop.app.jobs.enqueue_by_name("end", {"how": how}, given)

    await enqueue("again")
    await enqueue("hopeless")
    await shop.drain()
    await enqueue("now")
    await enqueue("later", delay=3600)
    return shop.app


async def found(app: Backstay, *words: State | str) -> set[str | None]:
    page = await app.jobs.search(JobFilter(state=words[0] if len(words) == 1 else words))
    return {job.correlation_id for job in page.jobs}


async def test_a_word_finds_exactly_the_jobs_that_are_called_so(app: Backstay) -> None:
    """ENG-024: what a search for a word finds is what is shown under that word."""
    jobs = (await app.jobs.search()).jobs
    called = {job.correlation_id: app.profile.word_for(job.state, job.attempt, job.reason) for job in jobs}

    assert called == {"again": "RETRYING", "hopeless": "REJECTED", "now": "QUEUED", "later": "QUEUED"}
    for word in ("QUEUED", "queued", "RETRYING", "REJECTED", "FAILED"):
        expected = {name for name, known in called.items() if known.casefold() == word.casefold()}
        assert await found(app, word) == expected
    assert await found(app, "RETRYING", "REJECTED") == {"again", "hopeless"}
    assert await found(app, State.SCHEDULED) == {"again", "later"}
    assert await found(app, State.SCHEDULED, "REJECTED") == {"again", "later", "hopeless"}
    assert await found(app, "scheduled") == {"again", "later"}


async def test_an_unknown_word_is_refused_by_name(app: Backstay) -> None:
    with pytest.raises(InvalidPolicy, match=r"state cannot be 'nonsense'.*QUEUED"):
        await app.jobs.search(JobFilter(state="nonsense"))


async def test_jobs_are_found_by_who_asked_for_them_and_by_the_class_of_their_error(app: Backstay) -> None:
    await app.jobs.enqueue_by_name("end", {"how": "x"}, JobOptions(correlation_id="hers", created_by="ada"))

    async def by(**asked: str) -> set[str | None]:
        return {job.correlation_id for job in (await app.jobs.search(JobFilter(**asked))).jobs}

    assert await by(created_by="ada") == {"hers"}
    assert await by(error_class="retry_asked") == {"again"}
    assert await by(error_class="timeout") == set()


async def test_the_history_of_a_schedule_speaks_in_the_applications_words(
    app: Backstay, shop: Harness
) -> None:
    await app.schedules.create("nightly", "end", every="1h", args={"how": "hopeless"})
    await app.schedules.run_now("nightly")
    await shop.drain()

    [entry] = await app.schedules.history("nightly")
    assert (entry.status, entry.word) == ("dead", "REJECTED")
