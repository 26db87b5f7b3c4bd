"""The private PostgreSQL server, driven for real."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from backstay.testing import PrivatePostgres
from backstay.testing.postgres_binaries import (
    InstallFailed,
    PostgresNotFound,
    first_binaries,
    installed_binaries,
    without_main_cluster,
)
from backstay.testing.postgres_server import PrivatePostgresError


@pytest.fixture(scope="module")
def server() -> Iterator[PrivatePostgres]:
    """A server of this file's own, because these tests crash it."""
    with PrivatePostgres.start(fsync=False) as server:
        yield server


@pytest.fixture
def database(server: PrivatePostgres) -> Iterator[str]:
    server.create_database("orders")
    yield "orders"
    server.drop_database("orders")


async def ask(server: PrivatePostgres, question: str, *, database: str = "postgres") -> object:
    connection = await asyncpg.connect(server.url(database))
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


async def test_a_started_server_answers_at_its_url(server: PrivatePostgres) -> None:
    assert server.url("shop") == f"postgresql://postgres@127.0.0.1:{server.port}/shop"
    assert await ask(server, "SELECT 6 * 7") == 42


async def test_it_keeps_clear_of_the_usual_port(server: PrivatePostgres) -> None:
    assert server.port != 5432
    assert await ask(server, "SHOW listen_addresses") == "127.0.0.1"


async def test_it_speaks_utf8_and_utc(server: PrivatePostgres) -> None:
    assert await ask(server, "SHOW server_encoding") == "UTF8"
    assert await ask(server, "SHOW timezone") == "UTC"


async def test_settings_reach_the_server() -> None:
    with PrivatePostgres.start(fsync=False, settings={"application_name": "it's \\ ours"}) as server:
        assert await ask(server, "SELECT setting FROM pg_file_settings WHERE name = 'application_name'") == (
            "it's \\ ours"
        )
        assert await ask(server, "SHOW fsync") == "off"


@pytest.mark.parametrize("crash", ["immediate", "kill"])
async def test_committed_rows_survive_a_crash(server: PrivatePostgres, database: str, crash: str) -> None:
    await ask(server, "CREATE TABLE parcel AS SELECT 7 AS weight", database=database)
    before = server.pid

    if crash == "kill":
        server.kill()
        server.start_again()
    else:
        server.restart("immediate")

    assert await ask(server, "SELECT weight FROM parcel", database=database) == 7
    assert server.pid != before


async def test_a_stopped_server_refuses_until_started_again(server: PrivatePostgres) -> None:
    server.stop()

    with pytest.raises(OSError):  # noqa: PT011 -- the number differs between systems
        await ask(server, "SELECT 1")
    with pytest.raises(PrivatePostgresError, match=r"not running; call start_again\(\)"):
        _ = server.pid
    server.start_again()
    assert await ask(server, "SELECT 1") == 1


async def test_a_database_is_copied_from_a_template(server: PrivatePostgres, database: str) -> None:
    await ask(server, "CREATE TABLE parcel AS SELECT 7 AS weight", database=database)

    server.create_database('copy "of" orders', template=database)

    assert await ask(server, "SELECT count(*) FROM pg_database WHERE datname = 'copy \"of\" orders'") == 1
    server.drop_database('copy "of" orders')
    assert await ask(server, "SELECT count(*) FROM pg_database WHERE datname LIKE 'copy%'") == 0


async def test_dropping_disconnects_whoever_is_connected(server: PrivatePostgres) -> None:
    server.create_database("busy")
    connection = await asyncpg.connect(server.url("busy"))

    server.drop_database("busy")

    with pytest.raises(asyncpg.PostgresConnectionError):
        await connection.fetchval("SELECT 1")


async def test_two_servers_run_side_by_side(server: PrivatePostgres, database: str) -> None:
    with PrivatePostgres.start(fsync=False) as other:
        assert other.port != server.port
        assert await ask(server, "SELECT count(*) FROM pg_database WHERE datname = 'orders'") == 1
        assert await ask(other, "SELECT count(*) FROM pg_database WHERE datname = 'orders'") == 0


def test_closing_leaves_neither_process_nor_file() -> None:
    server = PrivatePostgres.start(fsync=False)
    process = psutil.Process(server.pid)

    server.close()
    server.close()

    process.wait(timeout=30)
    assert not server.home.exists()


def test_the_server_dies_with_the_process_that_started_it() -> None:
    program = (
        "from backstay.testing import PrivatePostgres\n"
        "server = PrivatePostgres.start(fsync=False)\n"
        "print(server.pid, flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        postmaster = psutil.Process(int(parent.stdout.readline()))

        parent.kill()

        postmaster.wait(timeout=30)


def test_a_failing_program_tells_why() -> None:
    with pytest.raises(PrivatePostgresError, match=r"pg_ctl .*no_such_setting") as raised:
        PrivatePostgres.start(settings={"no_such_setting": "1"})

    assert raised.value.program == "pg_ctl"


def test_without_programs_the_error_says_what_was_tried_and_what_to_do() -> None:
    def nothing_here() -> Path | None:
        return None

    def broken_installer() -> Path | None:
        raise InstallFailed(["apt-get", "install", "postgresql"], "E: Unable to locate package\n")

    def find_binaries() -> Path:
        return first_binaries([nothing_here, broken_installer])

    with pytest.raises(PostgresNotFound) as raised:
        PrivatePostgres.start(find_binaries=find_binaries)

    message = str(raised.value)
    assert "nothing here: none" in message
    assert "'apt-get install postgresql' failed: E: Unable to locate package" in message
    assert "Install PostgreSQL 13 or newer" in message
    assert len(raised.value.attempts) == 2


def test_the_first_source_that_works_is_taken(tmp_path: Path) -> None:
    def must_not_be_asked() -> Path | None:
        raise AssertionError("an installer ran although programs were there")

    assert first_binaries([lambda: tmp_path, must_not_be_asked]) == tmp_path


def test_installed_programs_come_as_a_set() -> None:
    found = installed_binaries()

    assert found is None or (found / "initdb").exists()


@pytest.mark.parametrize(
    "before",
    ["", "#create_main_cluster = true\n", "create_main_cluster = true\n", "create_main_cluster=yes\n"],
)
def test_debian_is_told_to_create_no_server(before: str) -> None:
    after = without_main_cluster(before + "start_conf = 'auto'\n")

    active = [line for line in after.splitlines() if line.startswith("create_main_cluster")]
    assert active == ["create_main_cluster = false"]
    assert "start_conf = 'auto'" in after
