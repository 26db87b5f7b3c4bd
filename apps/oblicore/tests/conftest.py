"""One private PostgreSQL a run, one database a test, real mail and SMS servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import uvicorn

from backstay.testing import Harness, PrivatePostgres, harness
from backstay_oblicore.jobs import build
from backstay_oblicore.services import Services
from backstay_oblicore.settings import Settings
from backstay_oblicore.store import people
from backstay_oblicore.web.app import build_web
from backstay_parts.mail import MailServer
from backstay_parts.servers import ModelServer, free_port
from backstay_parts.sms import SmsServer

phones = (f"+4477009{number:05d}" for number in count(1))
SECRET = "a secret of the tests, and of nothing else"


@pytest.fixture(scope="session")
def server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres.start(fsync=False) as started:
        yield started


@pytest.fixture(scope="session")
def template(server: PrivatePostgres, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with all tables, which each test gets a copy of."""
    server.create_database("oblicore_template")
    services = build(Settings(server.url("oblicore_template"), secret=SECRET))

    async def prepare() -> None:
        await services.prepare()
        await services.close()

    asyncio.run(prepare())
    return "oblicore_template"


@pytest.fixture
def database_url(server: PrivatePostgres, template: str) -> str:
    """The one database of the run, emptied: a copy for each test would take seconds on a busy machine."""
    url = server.url(template)

    async def empty() -> None:
        connection = await asyncpg.connect(url)
        tables = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'oblicore'"
            " AND tablename NOT IN ('migrations', 'modules', 'extraction_rules')"
        )
        statements = [f"DELETE FROM oblicore.{row['tablename']}" for row in tables]
        await connection.execute("; ".join(["SET session_replication_role = replica", *statements]))
        await connection.close()

    asyncio.run(empty())
    return url


@pytest.fixture(scope="session")
def mail_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with MailServer(folder=tmp_path_factory.mktemp("mail")) as started:
        yield started


@pytest.fixture(scope="session")
def sms_server() -> Iterator[SmsServer]:
    with SmsServer() as started:
        yield started


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    with ModelServer("backstay_oblicore_reader") as started:
        yield started


@pytest.fixture
def services(
    database_url: str,
    mail_server: MailServer,
    sms_server: SmsServer,
    model_server: ModelServer,
    tmp_path: Path,
) -> Services:
    mail_server.clear()
    mail_server.accept_all()
    model_server.forget_faults()
    return build(
        Settings(
            database_url,
            storage_url=f"folder:{tmp_path / 'files'}",
            mail_url=f"smtp://{mail_server.host}:{mail_server.port}",
            mail_sender="office@example.org",
            sms_url=sms_server.url,
            sms_account=sms_server.account,
            sms_token=sms_server.token,
            model_url=model_server.base_url,
            model_key=model_server.api_key,
            secret=SECRET,
        )
    )


@pytest.fixture
def backstay(services: Services, database_url: str) -> Iterator[Harness]:
    """The application under test; its address is written in another way, because the harness empties the tables."""
    with harness(services.app, f"{database_url}?application_name=harness") as opened:
        yield opened


@dataclass
class World:
    """A company with one site, its people, and short ways to change and look at its rows."""

    services: Services
    backstay: Harness
    company: UUID
    site: UUID
    owner: UUID
    manager: UUID
    staff: UUID

    async def value(self, query: str, *args: Any) -> Any:
        async with self.services.database.connection() as connection:
            return await connection.fetchval(query, *args)

    async def rows(self, query: str, *args: Any) -> list[Any]:
        async with self.services.database.connection() as connection:
            return await connection.fetch(query, *args)

    async def execute(self, query: str, *args: Any) -> None:
        async with self.services.database.connection() as connection:
            await connection.execute(query, *args)

    async def document(self, **values: Any) -> UUID:
        module = await self.value(
            "SELECT id FROM oblicore.modules WHERE module_code = $1", values.pop("module", "MODULE_1")
        )
        known = {"company_id": self.company, "site_id": self.site, "title": "Permit", "module_id": module}
        return await self.insert("documents", **(known | {"uploaded_by": self.staff} | values))

    async def obligation(self, document: UUID, **values: Any) -> UUID:
        known = {"company_id": self.company, "site_id": self.site, "summary": "Send the report"}
        reviewed = {"review_status": "CONFIRMED", "frequency": "MONTHLY"}
        return await self.insert("obligations", document_id=document, **(known | reviewed | values))

    async def insert(self, table: str, **values: Any) -> UUID:
        names = ", ".join(values)
        places = ", ".join(f"${n}" for n in range(1, len(values) + 1))
        found: UUID = await self.value(
            f"INSERT INTO oblicore.{table} ({names}) VALUES ({places}) RETURNING id", *values.values()
        )
        return found

    async def run(self, kind: str, *, at: date | datetime | None = None, **args: Any) -> Any:
        if isinstance(at, date) and not isinstance(at, datetime):
            at = datetime.combine(at, time(12), UTC)
        if at is not None:
            args["reference_time"] = at
        return await self.backstay.run_job(self.services.handlers[kind], **args)


@pytest.fixture
async def world(services: Services, backstay: Harness) -> AsyncIterator[World]:
    async with services.database.connection() as connection:
        company = await people.add_company(connection, "Brindle Foods")
        site = await people.add_site(connection, company, "Brindle Factory")
        owner = await people.add_user(connection, "owner@brindle.example", "Olive Owner", phone=next(phones))
        manager = await people.add_user(
            connection, "manager@brindle.example", "Max Manager", phone=next(phones)
        )
        staff = await people.add_user(connection, "staff@brindle.example", "Sam Staff", phone=next(phones))
        await people.grant(connection, owner, company, "OWNER")
        await people.grant(connection, manager, company, "ADMIN", sites=(site,))
        await people.grant(connection, staff, company, "STAFF", sites=(site,))
    yield World(services, backstay, company, site, owner, manager, staff)
    await services.database.close()


@pytest.fixture
async def address(world: World) -> AsyncIterator[str]:
    """Pages and API on a real socket."""
    port = free_port()
    config = uvicorn.Config(
        build_web(world.services), host="127.0.0.1", port=port, log_level="error", lifespan="off"
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(60):
        while not server.started:
            await asyncio.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    await task


@pytest.fixture
async def other_company(world: World) -> World:
    """A second company, which nothing of the first may touch."""
    async with world.services.database.connection() as connection:
        company = await people.add_company(connection, "Hartwell Packaging")
        site = await people.add_site(connection, company, "Hartwell Mill")
        owner = await people.add_user(connection, "owner@hartwell.example", "Hal Owner")
        await people.grant(connection, owner, company, "OWNER", sites=(site,))
    return World(world.services, world.backstay, company, site, owner, owner, owner)
