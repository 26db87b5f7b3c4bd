"""Lists and figures may come from a replica; what is decided upon never does, and one that is away costs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backstay import Backstay
from backstay.errors import InvalidSettings, JobNotFound
from backstay.stores.database.queries import SQL
from backstay.stores.database.reading import READS
from backstay.testing import PrivatePostgres


def application(url: str, replica: str | None = None) -> Backstay:
    settings = {} if replica is None else {"read_url": replica}
    app = Backstay(url, emit=lambda event, **facts: None, settings=settings)

    @app.job
    async def report() -> None: ...

    return app


@pytest.fixture(params=["sqlite", "postgres"])
async def both(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Backstay, Backstay]]:
    """An application, and one on what it takes for its replica; two databases that differ tell which was asked."""
    urls = [f"sqlite:///{tmp_path / name}.db" for name in ("main", "replica")]
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        for name in ("replica_main", "replica_replica"):
            server.create_database(name)
        urls = [server.url("replica_main"), server.url("replica_replica")]
    app, replica = application(urls[0], urls[1]), application(urls[1])
    await app.migrate()
    await replica.migrate()
    yield app, replica
    await app.close()
    await replica.close()
    if request.param == "postgres":
        for name in ("replica_main", "replica_replica"):
            server.drop_database(name)


async def test_lists_and_figures_come_from_the_replica_and_one_job_does_not(
    both: tuple[Backstay, Backstay],
) -> None:
    """ENG-158."""
    app, replica = both
    here, there = await app.jobs.enqueue_by_name("report"), await replica.jobs.enqueue_by_name("report")
    await replica.metrics.count("pages", 7)

    listed = [job.id for job in (await app.jobs.search()).jobs]

    assert listed == [there.id]
    assert [count.jobs for count in await app.jobs.counts()] == [1]
    assert await app.metrics.counters() == {"pages": 7}
    assert (await app.jobs.get(here.id)).state == "available"
    with pytest.raises(JobNotFound):
        await app.jobs.get(there.id)


async def test_a_replica_that_is_away_costs_nobody_an_answer(postgres_server: PrivatePostgres) -> None:
    postgres_server.create_database("replica_away")
    app = application(postgres_server.url("replica_away"), "postgresql://nobody@127.0.0.1:1/nothing")
    await app.migrate()
    stored = await app.jobs.enqueue_by_name("report")

    assert [job.id for job in (await app.jobs.search()).jobs] == [stored.id]
    await app.close()
    postgres_server.drop_database("replica_away")


def test_what_goes_to_the_replica_only_reads() -> None:
    for name in READS:
        files = [SQL / place / f"{name}.sql" for place in ("shared", "postgres", "sqlite")]
        texts = [file.read_text("utf-8").upper() for file in files if file.is_file()]
        assert texts
        assert not any(word in text for text in texts for word in ("INSERT ", "UPDATE ", "DELETE "))


def test_a_replica_is_a_database(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="read_url"):
        Backstay("sqlite://:memory:", settings={"read_url": "redis://localhost"})
