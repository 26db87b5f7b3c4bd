"""One private PostgreSQL a run, the service on it, two teams."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx
import pytest
from aeon_fleet import Fleet
from aeon_world import World
from redis.asyncio import Redis

from backstay.testing import Harness, PrivatePostgres, PrivateRedis, harness
from backstay.testing.database import EMPTY_TABLES
from backstay_aeon import services as running
from backstay_aeon.jobs import build
from backstay_aeon.services import Services
from backstay_aeon.settings import Settings
from backstay_aeon.store import people
from backstay_aeon.web.server import web_app

SECRET = "a secret of the tests, and of nothing else"
HANDLERS = ("aeon_failing", "aeon_waiting")


@pytest.fixture(scope="session")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres.start(fsync=False) as started:
        yield started


@pytest.fixture(scope="session")
def url(server: PrivatePostgres) -> str:
    """A database with all tables."""
    server.create_database("aeon")
    own = build(
        Settings(server.url("aeon"), secret=SECRET, storage="folder:/tmp/aeon-tests", handlers=HANDLERS)
    )

    async def prepare() -> None:
        await own.migrate()
        # Workers make the kinds known; plain SQL needs to know them.
        async with own.app.working(until_empty=True):
            pass
        await own.database.execute("CREATE TABLE test_kinds AS SELECT * FROM backstay.kinds")
        await own.close()

    asyncio.run(prepare())
    return server.url("aeon")


@pytest.fixture
def services(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    """The service with empty tables; handlers find the same one."""

    async def empty() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(
            "DELETE FROM public.teams; DELETE FROM public.users; DELETE FROM aeon.alerts"
        )
        await connection.execute("DELETE FROM aeon.submissions; DELETE FROM aeon.worker_spans")
        await connection.close()

    asyncio.run(empty())
    folder = f"folder:{tmp_path / 'files'}"
    own = build(Settings(url, secret=SECRET, is_secret_kept=True, storage=folder, handlers=HANDLERS))
    monkeypatch.setattr(running, "here", lambda: own)
    return own


@pytest.fixture
def backstay(services: Services, url: str) -> Iterator[Harness]:
    """The engine under the test's own hand; it may empty the tables of jobs, but not what workers made known."""
    with harness(services.app, f"{url}?application_name=harness") as opened:
        yield opened


@pytest.fixture
async def world(services: Services, backstay: Harness) -> AsyncIterator[World]:
    # The harness has emptied what workers made known.
    await services.database.execute(
        "INSERT INTO backstay.kinds SELECT * FROM test_kinds ON CONFLICT DO NOTHING"
    )
    team = await people.add_team(services.database, "Nord")
    user = await people.add_user(services.database, team, "ann@nord.example")
    other = await people.add_team(services.database, "Ost")
    yield World(services, backstay, team, user, other)
    await services.close()


@pytest.fixture(scope="module")
def redis_server() -> Iterator[PrivateRedis]:
    with PrivateRedis.start() as started:
        yield started


@pytest.fixture
async def fleet(
    services: Services, url: str, redis_server: PrivateRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fleet]:
    """A team and no worker yet; handlers find the same services."""
    connection = await asyncpg.connect(url)
    await connection.execute(EMPTY_TABLES)
    await connection.execute("INSERT INTO backstay.kinds SELECT * FROM test_kinds ON CONFLICT DO NOTHING")
    await connection.close()
    redis = Redis.from_url(redis_server.url(), decode_responses=True)
    await redis.flushall()
    environment = {
        "AEON_DATABASE_URL": url,
        "AEON_REDIS": "on",
        "AEON_REDIS_URL": redis_server.url(),
        "AEON_SECRET": SECRET,
        "AEON_STORAGE": f"folder:{tmp_path / 'files'}",
        "AEON_HANDLERS": ",".join(HANDLERS),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
        "POLL_INTERVAL": "300",
    }
    own = build(Settings.from_environment(environment))
    monkeypatch.setattr(running, "here", lambda: own)
    team = await people.add_team(own.database, "Nord")
    with ExitStack() as stack:
        yield Fleet(own, redis_server, redis, team, tmp_path, environment, stack)
        await asyncio.to_thread(stack.close)
    await own.close()
    await redis.aclose()


@pytest.fixture
async def api(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A program of the first team."""
    key = await people.add_key(world.database, world.team, world.user, "test")
    transport = httpx.ASGITransport(web_app(world.services))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


os.environ.setdefault("AEON_REDIS", "off")
