"""A process that dies at any of its statements leaves all of a transaction or nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from backstay.testing import PrivatePostgres, kill_at_statement

PROGRAM = Path(__file__).with_name("killed_program.py")
TABLE = "CREATE TABLE bookings (id integer)"
KILLED = -signal.SIGKILL


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with a table of the test's own."""
    if request.param == "sqlite":
        connection = sqlite3.connect(tmp_path / "bookings.db")
        connection.execute(TABLE)
        connection.close()
        return f"sqlite:///{tmp_path}/bookings.db"
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"killed_{abs(hash(tmp_path))}"
    server.create_database(name)

    async def prepare() -> None:
        connection = await asyncpg.connect(server.url(name))
        await connection.execute(TABLE)
        await connection.close()

    asyncio.run(prepare())
    return server.url(name)


def killed_everywhere(way: str, url: str) -> list[tuple[int, int]]:
    """Kill the program at each of its statements in turn; returns how each run ended and what there was then."""
    done = subprocess.run([sys.executable, PROGRAM, way, url], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return [(code, left) for code, left in map(json.loads, done.stdout.splitlines())]


@pytest.mark.parametrize("way", ["driver", "sqlalchemy"])
def test_a_program_is_killed_at_each_statement_of_its_transaction(url: str, way: str) -> None:
    by_driver = "sqlite3" if url.startswith("sqlite") else "asyncpg"

    runs = killed_everywhere(by_driver if way == "driver" else way, url)

    # SQLAlchemy begins a transaction of its own to ask the server who it is.
    assert len(runs) >= 5
    assert runs == [(KILLED, 0)] * (len(runs) - 1) + [(0, 2)]


def test_a_job_whose_worker_is_killed_at_any_statement_is_done_exactly_once(url: str) -> None:
    runs = killed_everywhere("handler", url)

    assert runs == [(KILLED, 2), (KILLED, 4), (0, 6)]


ENDS = {
    "complete": ["completed", "0"],
    "fail": ["dead", "1", "failed"],
    "retry": ["completed", "0", "failed"],
    "snooze": ["completed", "0", "snoozed"],
}


@pytest.mark.prove
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ending", ENDS)
def test_a_transaction_that_ends_its_job_in_any_way_is_killed_at_each_statement(
    tmp_path: Path, ending: str
) -> None:
    """On SQLite; the cut matrix does so on PostgreSQL, with every driver."""
    done = subprocess.run(
        [sys.executable, PROGRAM, ending, f"sqlite:///{tmp_path}/bookings.db"],
        capture_output=True,
        text=True,
        timeout=590,
        check=True,
    )
    runs = [json.loads(line) for line in done.stdout.splitlines()]

    assert [code for code, *_ in runs] == [KILLED] * (len(runs) - 1) + [0]
    assert [left for _, left, *_ in runs] == [2] * len(runs)
    assert [end for _, _, *end in runs] == [ENDS[ending]] * len(runs)
    assert len(runs) > 6


def test_statements_are_only_counted_without_a_number() -> None:
    with kill_at_statement(None, matching="VALUES") as statements:
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE t (id)")
        connection.execute("INSERT INTO t VALUES (1)")

    connection.execute("INSERT INTO t VALUES (2)")
    connection.close()
    assert statements.sent == ["INSERT INTO t VALUES (1)"]
    assert statements.count == 1


def test_there_is_no_statement_zero() -> None:
    with pytest.raises(ValueError, match="counted from 1"), kill_at_statement(0):
        pass
