"""The bare loop on an SQLite file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bench import bare
from bench.adapter import URL, Meter, run

BATCH = int(os.environ.get("BENCH_OPTION", "500"))
METER = Meter(every=BATCH)
PATH = URL.removeprefix("sqlite:///")


class Client:
    """Plain inserts."""

    packages = ()

    def open(self) -> None:
        self._connection = bare.connect_sqlite(PATH)

    def enqueue(self, n: int, sent: int) -> None:
        bare.enqueue_many_sqlite(self._connection, [n])

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        bare.enqueue_many_sqlite(self._connection, numbers)

    def remaining(self) -> int:
        [count] = self._connection.execute("SELECT count(*) FROM jobs WHERE state <> 'completed'").fetchone()
        return count

    def empty(self) -> None:
        self._connection.execute("DELETE FROM jobs")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def work(processes: int) -> None:
    """Drain once, then wait for the end."""
    bare.drain_sqlite(bare.connect_sqlite(PATH), batch=BATCH, claimed=METER.mark)
    run(METER.rest())
