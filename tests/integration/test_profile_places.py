"""Lanes, categories, priorities and words of a profile as the database knows them."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from backstay import Backstay, JobOptions, PriorityScale, Profile, State
from backstay.errors import InvalidPolicy, SchemaMismatch
from backstay.model.policy.told_profile import told
from backstay.records import JobFilter
from backstay.testing import PrivatePostgres

numbers = itertools.count()


def clinic(**others: Any) -> Profile:
    """Two lanes, one of them for one kind only, and categories."""
    given: dict[str, Any] = {
        "name": "clinic",
        "words": {(State.AVAILABLE, ""): "QUEUED", (State.HELD, "paused"): "ON HOLD"},
        "lanes": {"quick": (), "slow": ("scan",)},
        "categories": ("labs", "letters"),
        "priority": PriorityScale(first="high", names={"urgent": 1}),
        "tenant_alias": "practice_id",
    }
    return Profile(**given | others)


def application(url: str, profile: Profile) -> Backstay:
    app = Backstay(url, profile=profile)

    @app.job(queue="slow")
    async def scan(page: int = 1) -> None: ...

    @app.job(queue="quick")
    async def remind(to: str = "ada") -> None: ...

    return app


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/clinic.db"
        return
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"places_{next(numbers)}"
    server.create_database(name)
    yield server.url(name)


async def sql(url: str, text: str) -> list[tuple[Any, ...]]:
    """What a statement gives that knows nothing of Backstay; written for PostgreSQL."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            return connection.execute(text.replace("backstay.", "backstay_")).fetchall()
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(text)]
    finally:
        await connection.close()


def direct(kind: str, queue: str, profile: str = "'clinic'", category: str = "NULL") -> str:
    """A job that somebody stores without asking anybody."""
    at = "CURRENT_TIMESTAMP"
    return (
        "INSERT INTO backstay.jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args, "
        f"profile, category) VALUES ('019b0000-0000-7000-8000-{next(numbers):012}', '{kind}', '{queue}', "
        f"'available', 5, {at}, {at}, {at}, {at}, '{{}}', {profile}, {category}) RETURNING kind"
    )


async def test_a_queue_that_is_no_lane_of_the_kind_is_refused_everywhere(url: str) -> None:
    app = application(url, clinic())
    await app.migrate()

    with pytest.raises(InvalidPolicy, match="one of quick for 'remind'"):
        await app.jobs.enqueue_by_name("remind", {}, JobOptions(queue="slow"))
    await app.jobs.enqueue_by_name("scan", {}, JobOptions(queue="quick"))
    for queue in ("slow", "elsewhere"):
        with pytest.raises((asyncpg.ForeignKeyViolationError, sqlite3.IntegrityError), match="queue"):
            await sql(url, direct("remind", queue))

    assert await sql(url, direct("scan", "slow")) == [("scan",)]
    # A job that is said to be of no profile is nobody's concern.
    assert await sql(url, direct("remind", "elsewhere", profile="NULL")) == [("remind",)]
    await app.close()


async def test_a_category_that_is_not_declared_is_refused_everywhere(url: str) -> None:
    app = application(url, clinic())
    await app.migrate()
    kept = await app.jobs.enqueue_by_name("scan", {}, JobOptions(category="labs"))

    with pytest.raises(InvalidPolicy, match="one of labs, letters"):
        await app.jobs.enqueue_by_name("scan", {}, JobOptions(category="bills"))
    with pytest.raises((asyncpg.ForeignKeyViolationError, sqlite3.IntegrityError), match="category"):
        await sql(url, direct("scan", "slow", category="'bills'"))

    assert (await kept.get()).category == "labs"
    assert [job.id for job in (await app.jobs.search(JobFilter(category="labs"))).jobs] == [kept.id]
    await app.close()


async def test_a_profile_that_the_database_was_not_told_of_says_what_to_run(url: str) -> None:
    earlier = application(url, clinic())
    await earlier.migrate()
    await earlier.close()
    later = application(url, clinic(lanes=("quick", "slow", "night")))

    with pytest.raises(SchemaMismatch, match="db migrate --app"):
        await later.jobs.enqueue_by_name("scan", {}, JobOptions(queue="night"))
    await later.migrate()

    assert (
        await (await later.jobs.enqueue_by_name("scan", {}, JobOptions(queue="night"))).get()
    ).queue == "night"
    await later.close()


async def test_the_view_of_a_profile_speaks_in_its_words(url: str) -> None:
    app = application(url, clinic())
    await app.migrate()
    await app.jobs.enqueue_by_name("scan", {}, JobOptions(tenant="p1", priority="urgent"))

    shown = await sql(url, "SELECT kind, status, practice_id, priority FROM backstay.jobs_as_clinic")

    assert shown == [("scan", "QUEUED", "p1", 10)]
    assert await app._connections.drift() == []
    await app.close()


async def test_telling_the_same_profile_again_changes_nothing(url: str) -> None:
    app = application(url, clinic())

    first, second = await app.migrate(), await app.migrate()

    stores = app._connections.stores("schema")
    assert "profile clinic" in first
    assert second == []
    assert await stores.profiles.known("clinic") == told(app.profile, ["scan", "remind"])
    assert told(Profile(name="plain"), ["scan"]) is None
    await app.close()


async def test_plain_sql_may_use_the_applications_words(postgres_server: PrivatePostgres) -> None:
    name = f"places_{next(numbers)}"
    postgres_server.create_database(name)
    url = postgres_server.url(name)
    app = application(url, clinic())
    await app.migrate()
    async with app.working():
        pass

    def enqueue(options: str) -> str:
        return f"SELECT backstay.enqueue('scan', '{{}}', '{options}')"

    await sql(url, enqueue('{"own_priority": "URGENT", "practice_id": "p1", "category": "labs"}'))
    await sql(url, enqueue('{"own_priority": 8, "tenant": "p2"}'))
    for odd in ('{"own_priority": "soon"}', '{"category": "bills"}', '{"queue": "elsewhere"}'):
        with pytest.raises(asyncpg.PostgresError) as refused:
            await sql(url, enqueue(odd))
        assert "Nothing was stored" in str(refused.value.hint)

    stored = (await app.jobs.search()).jobs
    assert [(job.priority, job.tenant, job.category) for job in reversed(stored)] == [
        (1, "p1", "labs"),
        (3, "p2", None),
    ]
    await app.close()
