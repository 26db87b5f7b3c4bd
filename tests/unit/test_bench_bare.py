"""What the limit is made of: the loop that everybody is held against."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from bench import bare


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(bare.connect_sqlite(str(tmp_path / "jobs.db"))) as opened:
        yield opened


def test_ids_are_in_the_order_of_time_and_never_come_twice() -> None:
    made = [job_id for _ in range(50) for job_id in bare.ordered_ids(3)]

    assert made == sorted(set(made))
    assert {uuid.UUID(job_id).version for job_id in made} == {7}


def test_the_loop_on_sqlite_completes_every_job_in_batches(connection: sqlite3.Connection) -> None:
    claims: list[None] = []
    bare.enqueue_many_sqlite(connection, range(25))

    bare.drain_sqlite(connection, batch=10, claimed=lambda: claims.append(None))

    assert len(claims) == 3
    assert connection.execute("SELECT state, lease_epoch, count(*) FROM jobs").fetchall() == [
        ("completed", 2, 25)
    ]


def test_the_loop_does_not_complete_what_it_no_longer_holds(connection: sqlite3.Connection) -> None:
    bare.enqueue_many_sqlite(connection, range(10))

    def take_one_away() -> None:
        connection.execute("UPDATE jobs SET lease_epoch = lease_epoch + 1 WHERE turn = 0")

    with pytest.raises(bare.NotCompleted, match="9, but 10 jobs were claimed"):
        bare.drain_sqlite(connection, batch=10, claimed=take_one_away)
