"""Private servers, started once a run, and a platform of its own for each test."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from backstay.testing import PrivatePostgres
from backstay_parts.mail import MailServer
from backstay_parts.servers import LocalStripe, MotoServer, ServerProcess, answers_http, free_port
from backstay_watchpoint.jobs import Jobs, build
from backstay_watchpoint.outside.clients import s3_client
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.tables import installation

NOW = datetime(2026, 3, 18, 12, 40, tzinfo=UTC)
BASE_ENVIRONMENT = {
    "WATCHPOINT_SECRET": "s" * 40,
    "CALLBACK_SECRET": "c" * 40,
    "EVENTS_TOKEN": "e" * 40,
    "OPS_PASSWORD": "correct horse",
    "SCHEDULES": "off",  # the tests' workers run what the tests ask for, whatever the hour
}
BUCKETS = ("watchpoint-forecasts", "watchpoint-archive", "observations")


@cache
def tls() -> ssl.SSLContext:
    """Read the certificates once: that takes longer than most requests of the tests."""
    return httpx.create_ssl_context()


class FixedClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class LocalProvider:
    """What tests ask of the local provider, over HTTP as everybody else."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, **body: object) -> None:
        httpx.post(f"{self.url}{path}", json=body, timeout=30, verify=tls()).raise_for_status()

    def fault(self, mode: str, **match: object) -> None:
        self.post("/local/faults", mode=mode, **match)

    @property
    def jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/local/jobs", timeout=30, verify=tls()).json()
        return found

    @property
    def requests(self) -> list[str]:
        found: list[str] = httpx.get(f"{self.url}/local/requests", timeout=30, verify=tls()).json()
        return found

    async def settled(self) -> list[dict[str, Any]]:
        """Wait until nothing can go on, and return the jobs."""
        async with asyncio.timeout(60):
            while True:
                found = await asyncio.to_thread(lambda: self.jobs)
                if all(
                    job["ended_at"] or str(job["fault"] or "").startswith(("hang", "stay")) for job in found
                ):
                    return found
                await asyncio.sleep(0.05)


def s3(jobs: Jobs) -> Any:
    """A client for the test's own object store."""
    settings = jobs.platform.settings
    return s3_client(
        settings.aws_endpoint_url,
        region=settings.aws_region,
        access_key=settings.aws_access_key,
        secret_key=settings.aws_secret_key,
    )


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def clock(now: datetime) -> FixedClock:
    return FixedClock(now)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PrivatePostgres]:
    with PrivatePostgres.start(fsync=False) as server:
        server.create_database("base")
        asyncio.run(_prepare(server.url("base")))
        yield server


@pytest.fixture(scope="session")
def sqlite_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "base.db"
    asyncio.run(_prepare(f"sqlite:///{path}"))
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A migrated, empty database, on either kind."""
    if request.param == "sqlite":
        return _sqlite_url(request, tmp_path)
    return _postgres_url(request)


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty PostgreSQL database."""
    return _postgres_url(request)


@pytest.fixture(params=["postgresql", pytest.param("sqlite", marks=pytest.mark.prove)])
def outside_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The database of tests with outside parts: PostgreSQL with every change, SQLite with the long proofs."""
    if request.param == "sqlite":
        return _sqlite_url(request, tmp_path)
    return _postgres_url(request)


@pytest.fixture(scope="session")
def cloud_server() -> Iterator[MotoServer]:
    with MotoServer() as server:
        yield server


@pytest.fixture(scope="session")
def stripe_server() -> Iterator[LocalStripe]:
    with LocalStripe() as server:
        yield server


@pytest.fixture
def cloud(cloud_server: MotoServer) -> MotoServer:
    """An object store and queues, empty but for the platform's buckets."""
    httpx.post(f"{cloud_server.url}/moto-api/reset", timeout=30, verify=tls()).raise_for_status()
    return cloud_server


@pytest.fixture(scope="session")
def provider_server(
    cloud_server: MotoServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    port = free_port()
    folder = tmp_path_factory.mktemp("provider")
    argv = [sys.executable, "-m", "backstay_watchpoint.local.runpod_server"]
    env = {
        "PROVIDER_DATABASE_URL": "sqlite:///unused.db",
        "PROVIDER_ENDPOINTS": cloud_server.url,
        "RUNPOD_API_KEY": "provider-key",
    }
    with ServerProcess(
        [*argv, "--port", str(port), "--folder", str(folder)],
        port=port,
        name="provider",
        env=env,
        is_ready=answers_http("/local/requests"),
    ) as server:
        yield server


@pytest.fixture
def provider(provider_server: ServerProcess, outside_url: str) -> LocalProvider:
    """An inference provider without jobs, whose worker writes to the test's database."""
    local = LocalProvider(provider_server.url)
    local.post("/local/reset", database_url=outside_url)
    return local


@pytest.fixture
def environment_with_clouds(
    outside_url: str, cloud: MotoServer, provider: LocalProvider, stripe_server: LocalStripe
) -> dict[str, str]:
    mirror = f"@{cloud.url}"
    return {
        **BASE_ENVIRONMENT,
        "WATCHPOINT_URL": outside_url,
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.access_key,
        "AWS_SECRET_ACCESS_KEY": cloud.secret_key,
        "UPSTREAM_MIRRORS": f"gfs{mirror}",
        "GOES_MIRRORS": f"goes{mirror}",
        "MRMS_MIRRORS": f"mrms{mirror}",
        "RUNPOD_URL": provider.url,
        "RUNPOD_API_KEY": "provider-key",
        "STRIPE_URL": stripe_server.url,
        "STRIPE_SECRET_KEY": stripe_server.api_key,
        "MIRROR_TIMEOUT": "60s",
    }


@pytest.fixture
async def connected(environment_with_clouds: dict[str, str], clock: FixedClock) -> AsyncIterator[Jobs]:
    """The platform with every outside part, and the buckets it needs."""
    built = build(Settings.from_environment(environment_with_clouds), clock=clock)
    client = s3(built)
    for bucket in (*BUCKETS, "gfs", "goes", "mrms"):
        client.create_bucket(Bucket=bucket)
    yield built
    await built.platform.close()


@pytest.fixture(scope="session")
def mail_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with MailServer(folder=tmp_path_factory.mktemp("mail")) as server:
        yield server


@pytest.fixture
def mail(mail_server: MailServer) -> MailServer:
    """A mail server that has received nothing yet."""
    mail_server.clear()
    mail_server.accept_all()
    return mail_server


@pytest.fixture
def posting_environment(url: str, cloud: MotoServer, mail: MailServer) -> dict[str, str]:
    return {
        **BASE_ENVIRONMENT,
        "WATCHPOINT_URL": url,
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.access_key,
        "AWS_SECRET_ACCESS_KEY": cloud.secret_key,
        "SMTP_HOST": mail.host,
        "SMTP_PORT": str(mail.port),
    }


@pytest.fixture
async def posting(posting_environment: dict[str, str], clock: FixedClock) -> AsyncIterator[Jobs]:
    """The platform with queues and a mail server."""
    built = build(Settings.from_environment(posting_environment), clock=clock)
    for queue in ("notification-queue", "eval-standard"):
        await built.platform.queues.create(queue, visibility_seconds=1)
    yield built
    await built.platform.close()


@pytest.fixture
def connected_work(connected: Jobs, now: datetime) -> Work:
    return Work(connected.platform.database, now, connected.publisher)


@pytest.fixture
def environment(url: str) -> dict[str, str]:
    """The settings that every test has; tests with outside parts add to them."""
    return {**BASE_ENVIRONMENT, "WATCHPOINT_URL": url}


@pytest.fixture
async def jobs(environment: dict[str, str], clock: FixedClock) -> AsyncIterator[Jobs]:
    built = build(Settings.from_environment(environment), clock=clock)
    yield built
    await built.platform.close()


@pytest.fixture
def platform(jobs: Jobs) -> Platform:
    return jobs.platform


@pytest.fixture
def database(platform: Platform) -> Database:
    return platform.database


@pytest.fixture
def work(jobs: Jobs, now: datetime) -> Work:
    return Work(jobs.platform.database, now, jobs.publisher)


def _sqlite_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "watchpoint.db"
    shutil.copy(request.getfixturevalue("sqlite_base"), path)
    return f"sqlite:///{path}"


def _postgres_url(request: pytest.FixtureRequest) -> str:
    server: PrivatePostgres = request.getfixturevalue("postgres")
    asyncio.run(_empty(server.url("base")))
    return server.url("base")


# Much quicker than a database of its own for each test; foreign keys and triggers do not matter for emptying all.
EMPTY = """
DO $$
DECLARE found record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR found IN
        SELECT schemaname, tablename
        FROM pg_tables
        WHERE schemaname IN ('watchpoint', 'backstay')
          AND tablename NOT IN ('migrations', 'application_migrations', 'facts', 'installation')
    LOOP
        EXECUTE format('DELETE FROM %I.%I', found.schemaname, found.tablename);
    END LOOP;
END $$
"""


async def _empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(EMPTY)
    await connection.close()


async def _prepare(url: str) -> None:
    built = build(Settings.from_environment({"WATCHPOINT_URL": url}))
    await built.platform.app.migrate()
    database = built.platform.database
    async with database.transaction() as transaction:
        await transaction.execute(installation.update().values(installed_at=datetime(2026, 1, 1, tzinfo=UTC)))
    if database.is_sqlite:
        async with database.engine.connect() as connection:
            await connection.exec_driver_sql("COMMIT")
            await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            await connection.exec_driver_sql("BEGIN")
    await built.platform.close()
