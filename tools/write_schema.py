"""Writes the expected schema of each database beside its SQL, from freshly migrated tables.

Run it after adding a migration. `--check` writes nothing and fails when a file is out of date.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres

SQL = Path(__file__).resolve().parents[1] / "src" / "backstay" / "stores" / "sql"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the expected schema of each database.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    check = parser.parse_args().check
    with PrivatePostgres.start(fsync=False) as server:
        server.create_database("schema")
        urls = {"sqlite": "sqlite://:memory:", "postgres": server.url("schema")}
        found = {name: asyncio.run(describe(url)) for name, url in urls.items()}
    stale = [name for name, text in found.items() if text != written(name)]
    for name in stale:
        if check:
            print(f"{file_of(name)} is out of date: run 'python tools/write_schema.py'")
        else:
            file_of(name).write_text(found[name], "utf-8")
            print(f"wrote {file_of(name)}")
    return 1 if check and stale else 0


async def describe(url: str) -> str:
    database = open_database(url)
    await migrate(database)
    lines = await database.describe()
    await database.close()
    return "\n".join(sorted(lines)) + "\n"


def file_of(database: str) -> Path:
    return SQL / database / "schema.txt"


def written(database: str) -> str:
    return file_of(database).read_text("utf-8") if file_of(database).exists() else ""


if __name__ == "__main__":
    sys.exit(main())
