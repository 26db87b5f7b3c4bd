"""Row security keeps tenants apart: tried as the application's role, on a connection of its own, without privileges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import psycopg
import pytest

from backstay import Backstay, State
from backstay.options import JobOptions
from backstay.testing import PrivatePostgres

ROLES = ("tables_owner", "the_engine", "the_shop")
OWNER, ENGINE, SHOP = ROLES


def of_role(url: str, role: str) -> str:
    """The same database for another role; the private server trusts this machine."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{role}@{host}").geturl()


@pytest.fixture
def url(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("tenants")
    url = postgres_server.url("tenants")
    with psycopg.connect(url, autocommit=True) as connection:
        for role in ROLES:
            connection.execute(f"DROP ROLE IF EXISTS {role}".encode())
            connection.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS".encode())
        connection.execute(f"GRANT CREATE ON DATABASE tenants TO {OWNER}".encode())
    yield url
    postgres_server.drop_database("tenants")
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
        for role in ROLES:
            connection.execute(f"DROP ROLE {role}".encode())


def application(url: str) -> Backstay:
    app = Backstay(url)

    @app.job
    async def add(a: int, b: int) -> int:
        return a + b

    return app


@pytest.fixture
async def engine(url: str) -> AsyncIterator[Backstay]:
    """The application as the engine's role, with tenants enforced and a job of each."""
    owner = application(of_role(url, OWNER))
    await owner.migrate()
    await owner.tenants.enforce(engine=ENGINE, application=SHOP)
    await owner.close()
    app = application(of_role(url, ENGINE))
    for tenant in ("acme", "globex", None):
        await app.jobs.enqueue_by_name("add", {"a": 1, "b": 2}, JobOptions(tenant=tenant))
    await app.worker(until_empty=True).run()
    yield app
    await app.close()


@asynccontextmanager
async def shop(url: str, tenant: str | None) -> AsyncIterator[Any]:
    """A transaction of the application for one tenant."""
    connection = await asyncpg.connect(of_role(url, SHOP))
    try:
        async with connection.transaction():
            if tenant is not None:
                await connection.execute("SELECT set_config('backstay.tenant', $1, TRUE)", tenant)
            yield connection
    finally:
        await connection.close()


async def test_the_engine_works_for_every_tenant_as_before(engine: Backstay) -> None:
    jobs = (await engine.jobs.search()).jobs

    assert [(job.tenant, job.state) for job in jobs] == [
        ("", State.COMPLETED),
        ("globex", State.COMPLETED),
        ("acme", State.COMPLETED),
    ]


@pytest.mark.parametrize("tenant", ["acme", "globex"])
async def test_the_application_reads_the_rows_of_its_tenant_alone(
    engine: Backstay, url: str, tenant: str
) -> None:
    async with shop(url, tenant) as connection:
        jobs = await connection.fetch("SELECT tenant FROM backstay.jobs")
        executions = await connection.fetch("SELECT count(*) AS rows FROM backstay.attempts")

    assert [row["tenant"] for row in jobs] == [tenant]
    assert executions[0]["rows"] == 0


@pytest.mark.parametrize("tenant", [None, "", "nobody", "*", "acme' OR TRUE --"])
async def test_without_a_tenant_of_its_own_the_application_sees_nothing(
    engine: Backstay, url: str, tenant: str | None
) -> None:
    async with shop(url, tenant) as connection:
        assert await connection.fetch("SELECT 1 FROM backstay.jobs") == []


async def test_the_application_stores_jobs_of_its_tenant_and_of_no_other(engine: Backstay, url: str) -> None:
    async with shop(url, "acme") as connection:
        await connection.execute(
            """SELECT backstay.enqueue('add', '{"a": 3, "b": 4}', '{"tenant": "acme"}')"""
        )
    for other in ('{"tenant": "globex"}', "{}"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with shop(url, "acme") as connection:
                await connection.execute("SELECT backstay.enqueue('add', '{\"a\": 1, \"b\": 2}', $1)", other)

    await engine.worker(until_empty=True).run()
    stored = [(job.tenant, job.result) for job in (await engine.jobs.search()).jobs]
    assert sorted(stored) == [("", 3), ("acme", 3), ("acme", 7), ("globex", 3)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE backstay.jobs SET state = 'cancelled', reason = 'mine' WHERE tenant = 'globex'",
        "UPDATE backstay.jobs SET tenant = 'acme'",
        "DELETE FROM backstay.jobs",
        "TRUNCATE backstay.jobs",
        "SELECT * FROM backstay.api_keys",
        "SELECT * FROM backstay.webhooks",
        "SELECT * FROM backstay.facts",
        "SELECT * FROM backstay.outbox",
        "INSERT INTO backstay.tenant_pauses VALUES ('globex', now(), 'me', 'mine')",
        "ALTER TABLE backstay.jobs DISABLE ROW LEVEL SECURITY",
        "SELECT backstay.relax_tenants()",
        f"SELECT backstay.enforce_tenants('{ENGINE}', '{SHOP}')",
        f"SET ROLE {ENGINE}",
        "SET row_security = off; SELECT * FROM backstay.jobs",
    ],
)
async def test_the_application_writes_nothing_else_and_reads_no_secret(
    engine: Backstay, url: str, statement: str
) -> None:
    before = (await engine.jobs.search()).jobs

    with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError)):
        async with shop(url, "acme") as connection:
            await connection.execute(statement)

    assert (await engine.jobs.search()).jobs == before


async def test_what_goes_on_in_the_database_of_another_tenant_is_not_heard_by_keys(
    engine: Backstay, url: str
) -> None:
    """A unique key that another tenant has taken is free: keys belong to their tenant."""
    options = '{"tenant": "%s", "idempotency_key": "order-7"}'
    async with shop(url, "acme") as connection:
        ours = await connection.fetchval(
            "SELECT backstay.enqueue('add', '{\"a\": 1, \"b\": 2}', $1)", options % "acme"
        )
    async with shop(url, "globex") as connection:
        theirs = await connection.fetchval(
            "SELECT backstay.enqueue('add', '{\"a\": 1, \"b\": 2}', $1)", options % "globex"
        )

    assert ours != theirs


async def test_enforcing_again_changes_nothing_and_relaxing_lets_all_be_seen(
    engine: Backstay, url: str
) -> None:
    owner = application(of_role(url, OWNER))
    await owner.tenants.enforce(engine=ENGINE, application=SHOP)
    await owner.tenants.relax()
    await owner.close()

    async with shop(url, "acme") as connection:
        assert len(await connection.fetch("SELECT 1 FROM backstay.jobs")) == 3


@pytest.mark.parametrize(
    ("engine_role", "application_role", "problem"),
    [(ENGINE, "nobody_at_all", "no role"), (ENGINE, ENGINE, "cannot be"), (ENGINE, OWNER, "cannot be")],
)
async def test_roles_that_would_not_keep_tenants_apart_are_refused(
    engine: Backstay, url: str, engine_role: str, application_role: str, problem: str
) -> None:
    owner = application(of_role(url, OWNER))
    try:
        with pytest.raises(Exception, match=problem):
            await owner.tenants.enforce(engine=engine_role, application=application_role)
    finally:
        await owner.close()
    await asyncio.sleep(0)
