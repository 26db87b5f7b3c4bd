"""The procedures of the guide to recovery, rehearsed: what was lost comes back equal, and the work goes on."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from backstay import Backstay, Hopeless
from backstay.model.events import silent
from backstay.testing import PrivatePostgres
from backstay.testing.postgres_binaries import find_or_install_binaries

PATIENCE = 120
TABLES = """
    SELECT quote_ident(relname) FROM pg_class
    WHERE relnamespace = 'backstay'::regnamespace AND relkind = 'r' ORDER BY 1
"""


def tool(name: str) -> str:
    """A program of PostgreSQL, from beside the server's own."""
    found = (find_or_install_binaries() / "pg_ctl").resolve().with_name(name)
    assert found.exists(), f"these tests need {name} of PostgreSQL: install the package postgresql"
    return str(found)


@pytest.fixture
def second_server() -> Iterator[PrivatePostgres]:
    with PrivatePostgres.start(fsync=False) as server:
        yield server


def shop(url: str) -> Backstay:
    app = Backstay(url, emit=silent, settings={"tick": "100ms", "archive_every": "1d"})

    @app.job(lease="1s", renew_every="300ms")
    async def work(n: int) -> int:
        if n % 10 == 9:
            raise Hopeless("no")
        return n * n

    return app


async def work_through(app: Backstay, first: int, count: int) -> None:
    """Store so many jobs and run them; every tenth dies."""
    async with app.working():
        for n in range(first, first + count):
            await app.jobs.enqueue_by_name("work", {"n": n})
        await until(app, first + count)


async def until(app: Backstay, ended: int) -> None:
    by = time.monotonic() + PATIENCE
    while (
        sum(one.jobs for one in await app.jobs.counts() if one.state.value in ("completed", "dead")) < ended
    ):
        assert time.monotonic() < by
        await asyncio.sleep(0.05)


async def fingerprint(url: str) -> dict[str, tuple[int, str]]:
    """Of every table of ours the number of its rows, and a hash of them all."""
    server = await asyncpg.connect(url)
    try:
        tables = [row[0] for row in await server.fetch(TABLES)]
        found = {}
        for table in tables:
            query = (
                "SELECT count(*), coalesce(md5(string_agg(one::text, E'\\n' ORDER BY one::text)), '') "
                f"FROM backstay.{table} AS one"
            )
            found[table] = tuple(await server.fetchrow(query))
        return found
    finally:
        await server.close()


async def test_a_dump_restored_into_a_second_server_is_equal_and_works(
    postgres_server: PrivatePostgres, second_server: PrivatePostgres, tmp_path: Path
) -> None:
    """ENG-142."""
    postgres_server.create_database("dumped")
    before = shop(postgres_server.url("dumped"))
    await before.migrate()
    await work_through(before, 0, 60)
    for n in range(60, 100):
        await before.jobs.enqueue_by_name("work", {"n": n})
    await before.close()
    dump = tmp_path / "dump"

    run(tool("pg_dump"), "--format=custom", f"--file={dump}", postgres_server.url("dumped"))
    second_server.create_database("restored")
    run(
        tool("pg_restore"),
        "--exit-on-error",
        "--single-transaction",
        "-d",
        second_server.url("restored"),
        dump,
    )

    assert await fingerprint(second_server.url("restored")) == await fingerprint(
        postgres_server.url("dumped")
    )
    after = shop(second_server.url("restored"))
    async with after.working():
        await until(after, 100)
    assert await outcomes(after) == {"completed": 90, "dead": 10}
    await after.close()


async def test_the_moment_before_a_mistake_comes_back_from_a_base_backup_and_the_log(
    second_server: PrivatePostgres,
) -> None:
    """ENG-142."""
    kept = second_server.home / "kept"
    base = second_server.home / "base"
    archiving = {"archive_mode": "on", "archive_command": f"cp %p {kept}/%f", "wal_level": "replica"}
    with PrivatePostgres.start(settings=archiving) as first_server:
        done = second_server._execute_program(["mkdir", str(kept)])
        assert done.returncode == 0, done.stdout
        first_server.create_database("shop")
        url = first_server.url("shop")
        app = shop(url)
        await app.migrate()
        await work_through(app, 0, 30)
        backup = [tool("pg_basebackup"), "-d", first_server.url(), "-D", str(base), "-c", "fast"]
        done = second_server._execute_program(backup)
        assert done.returncode == 0, done.stdout

        await work_through(app, 30, 30)
        await app.close()
        server = await asyncpg.connect(url)
        before = await fingerprint(url)
        await server.execute("SELECT pg_create_restore_point('before the mistake')")
        await server.execute("DELETE FROM backstay.jobs")
        await until_archived(server)
        await server.close()

    recover(second_server, base, kept)
    recovered = second_server.url("shop")

    await until_promoted(recovered)
    assert await fingerprint(recovered) == before
    after = shop(recovered)
    await work_through(after, 60, 10)
    assert await outcomes(after) == {"completed": 63, "dead": 7}
    await after.close()


def recover(server: PrivatePostgres, base: Path, kept: Path) -> None:
    """Put a base backup in the place of the server's data, and have the log played up to the restore point."""
    server.stop()
    shutil.rmtree(server.data)
    base.rename(server.data)
    server._configure(
        {
            "port": str(server.port),
            "unix_socket_directories": str(server.home),
            "archive_mode": "off",
            "restore_command": f"cp {kept}/%f %p",
            "recovery_target_name": "before the mistake",
            "recovery_target_action": "promote",
        }
    )
    done = server._execute_program(["touch", str(server.data / "recovery.signal")])
    assert done.returncode == 0, done.stdout
    server.start_again()


async def until_archived(server: asyncpg.Connection) -> None:
    """Begin another file of the log, and wait until the archive has the last one whole."""
    last = await server.fetchval("SELECT pg_walfile_name(pg_switch_wal())")
    by = time.monotonic() + PATIENCE
    while not await server.fetchval("SELECT last_archived_wal >= $1 FROM pg_stat_archiver", last):
        assert time.monotonic() < by
        await asyncio.sleep(0.05)


async def until_promoted(url: str) -> None:
    server = await asyncpg.connect(url)
    by = time.monotonic() + PATIENCE
    while await server.fetchval("SELECT pg_is_in_recovery()"):
        assert time.monotonic() < by
        await asyncio.sleep(0.05)
    await server.close()


async def outcomes(app: Backstay) -> dict[str, int]:
    return {one.state.value: one.jobs for one in await app.jobs.counts()}


def run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
