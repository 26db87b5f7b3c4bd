"""Back up an SQLite file while it is in use, and compare what came out of it."""

import asyncio
import hashlib
import sqlite3
from pathlib import Path

from backstay import Backstay

FILE, COPY = Path("shop.db"), Path("backup.db")


def application(path: Path) -> Backstay:
    app = Backstay(f"sqlite:///{path}", settings={"tick": "500ms"})

    # What ran at the moment of the copy starts again when its lease has run out.
    @app.job(lease="2s", renew_every="500ms")
    async def bill(number: int) -> str:
        return f"bill {number}"

    return app


def back_up(source: Path, target: Path) -> None:
    """Copy the database as it is at one moment; others may go on writing."""
    origin, copy = sqlite3.connect(source), sqlite3.connect(target)
    origin.backup(copy)
    [problem] = copy.execute("PRAGMA integrity_check").fetchone()
    origin.close()
    copy.close()
    if problem != "ok":
        raise SystemExit(f"{target} is damaged: {problem}")


def fingerprint(path: Path) -> dict[str, tuple[int, str]]:
    """Of every table the number of its rows, and a hash of them all."""
    database = sqlite3.connect(path)
    tables = [
        name
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]
    found = {}
    for table in tables:
        rows = sorted(map(repr, database.execute(f'SELECT * FROM "{table}"')))
        found[table] = (len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())
    database.close()
    return found


async def main() -> None:
    app = application(FILE)
    async with app.working():
        jobs = [await app.jobs.enqueue_by_name("bill", {"number": number}) for number in range(50)]
        back_up(FILE, COPY)
        await asyncio.gather(*(job.result() for job in jobs))
    await app.close()

    # What the copy has not seen end is done again: handlers must stand that.
    restored = application(COPY)
    async with restored.working():
        results = [await restored.jobs.result(job.id) for job in jobs]
    assert results == [f"bill {number}" for number in range(50)]
    await restored.close()

    back_up(FILE, COPY.with_name("quiet.db"))
    assert fingerprint(FILE) == fingerprint(COPY.with_name("quiet.db"))
    print("equal")


asyncio.run(main())
