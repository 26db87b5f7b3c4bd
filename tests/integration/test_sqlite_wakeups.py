"""Hints between processes on one host come from the file's version number, whatever happens to the file meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from backstay.wakeups.contract import ANYTHING
from backstay.wakeups.sqlite import SqliteWakeups


async def test_a_file_that_cannot_be_read_for_a_while_does_not_end_the_listening(tmp_path: Path) -> None:
    """ENG-044, ENG-045."""
    path = tmp_path / "jobs.db"
    path.write_bytes(b"this is no database, and it is long enough for that to be seen at once" * 100)
    heard = asyncio.Event()
    listening = asyncio.create_task(
        SqliteWakeups(str(path)).listen(lambda hint: heard.set() if hint == ANYTHING else None)
    )
    await asyncio.sleep(0.2)

    assert not listening.done()
    path.unlink()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE something (here)")
    file.close()
    heard.clear()

    async with asyncio.timeout(10):
        await heard.wait()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
