"""Promoted options, and rules that values of promoted fields must keep, whoever stores the job."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from backstay import Backstay, JobOptions, PromotedField
from backstay.errors import FieldRefused, InvalidArguments, InvalidSettings
from backstay.records import JobFilter
from backstay.testing import PrivatePostgres

numbers = itertools.count()


def application(url: str) -> Backstay:
    app = Backstay(url)

    @app.job(
        promote=[
            PromotedField("side", one_of=("left", "right")),
            PromotedField("page", minimum=1, maximum=99),
            PromotedField.option("created_by", one_of=("ada", "eve")),
        ]
    )
    async def scan(side: str = "left", page: int = 1) -> None: ...

    return app


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/clinic.db"
        return
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"promoted_rules_{next(numbers)}"
    server.create_database(name)
    yield server.url(name)


async def change(url: str, args: str) -> None:
    """Change the arguments of all jobs, as somebody might who knows nothing of Backstay."""
    statement = f"UPDATE backstay.jobs SET args = '{args}'"
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            connection.execute(statement.replace("backstay.", "backstay_"))
        return
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_an_option_is_found_as_a_promoted_field(url: str) -> None:
    app = application(url)
    await app.migrate()
    job = await app.jobs.enqueue_by_name("scan", {"page": 1}, JobOptions(created_by="ada"))
    await app.jobs.enqueue_by_name("scan", {"page": 1}, JobOptions(created_by="eve"))
    await app.jobs.enqueue_by_name("scan", {})

    found = await app.jobs.search(JobFilter(promoted={"created_by": "ada", "page": 1}))

    assert [one.id for one in found.jobs] == [job.id]
    assert (await app.promoted.fill()).filled == 0
    assert await app.promoted.drift() == []
    await app.close()


@pytest.mark.parametrize(("field", "value"), [("side", "top"), ("page", 0), ("page", 100)])
async def test_a_value_that_breaks_the_rule_is_refused_before_it_is_sent(
    url: str, field: str, value: object
) -> None:
    app = application(url)
    await app.migrate()

    with pytest.raises(InvalidArguments, match=field):
        await app.jobs.enqueue_by_name("scan", {field: value})
    await app.close()


async def test_the_database_itself_refuses_a_value_that_breaks_the_rule(url: str) -> None:
    app = application(url)
    await app.migrate()
    await app.jobs.enqueue_by_name("scan", {})

    for args in ('{"side": "top"}', '{"side": "left right"}', '{"page": 100}'):
        with pytest.raises((asyncpg.PostgresError, sqlite3.IntegrityError), match="must be"):
            await change(url, args)
    with pytest.raises(FieldRefused, match="one of ada eve"):
        await app.jobs.enqueue_by_name("scan", {}, JobOptions(created_by="bob"))

    await change(url, '{"side": "right", "page": 99}')
    await change(url, "{}")
    await app.close()


def test_rules_that_do_not_fit_are_refused_where_they_are_written() -> None:
    app = Backstay("sqlite:///unused.db")

    def declare(field: PromotedField) -> None:
        @app.job(kind=f"kind-{next(numbers)}", promote=[field])
        async def scan(side: str, page: int) -> None: ...

    for field in (
        PromotedField("page", one_of=("left",)),
        PromotedField("side", one_of=("to the left",)),
        PromotedField("side", minimum=1),
    ):
        with pytest.raises(InvalidSettings, match=field.field):
            declare(field)
    with pytest.raises(InvalidSettings, match="created_by"):
        PromotedField.option("run_at")
