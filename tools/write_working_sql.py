"""Writes the functions for working from SQL into PostgreSQL's migrations, from the statements that workers send.

The newest migration that has them is written anew, unless a release has frozen it: then they go into a new one.
`--check` writes nothing and fails when the functions are out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections.abc import Collection
from pathlib import Path

from backstay.model.policy.policy import Policy
from backstay.stores.database import postgres
from backstay.stores.database.queries import statement_text

SQL = Path(__file__).resolve().parents[1] / "src" / "backstay" / "stores" / "sql" / "postgres"
MIGRATIONS = SQL / "migrations"
RELEASES = Path(__file__).resolve().parents[1] / "tests" / "releases"
FUNCTIONS = Path(__file__).with_name("working_from_sql.sql")
BEGIN, END = "-- Working from SQL: written by tools/write_working_sql.py\n", "-- End of working from SQL\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the functions for working from SQL.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when the functions are out of date"
    )
    check = parser.parse_args().check
    newest = max(path for path in MIGRATIONS.glob("*.sql") if BEGIN in path.read_text("utf-8"))
    path, after = target(newest, functions(), frozen())
    if path.exists() and path.read_text("utf-8") == after:
        return 0
    if check:
        print(f"{path} is out of date: run 'python tools/write_working_sql.py'")
        return 1
    path.write_text(after, "utf-8")
    print(f"wrote {path}")
    return 0


def target(newest: Path, text: str, frozen: Collection[str]) -> tuple[Path, str]:
    """The migration that has the functions or is to get them, and what is to stand in it."""
    head, rest = newest.read_text("utf-8").split(BEGIN)
    written, tail = rest.split(END)
    if written == text or newest.name not in frozen:
        return newest, head + BEGIN + text + END + tail
    number = max(int(path.name[:4]) for path in newest.parent.glob("*.sql")) + 1
    return newest.with_name(f"{number:04}_expand_working_from_sql.sql"), BEGIN + text + END


def frozen() -> set[str]:
    """The migrations for PostgreSQL that a release has frozen."""
    inside = "backstay/stores/sql/postgres/migrations/"
    return {
        name.removeprefix(inside)
        for wheel in RELEASES.glob("backstay-*.whl")
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith(inside)
    }


def functions() -> str:
    """The functions, with the statements of workers and the defaults of the policy in their places."""
    text = FUNCTIONS.read_text("utf-8")
    for name in ("claim", "renew", "complete"):
        text = text.replace(f"<<{name}>>", _indented(_body(f"jobs/{name}")))
    policy = Policy()
    defaults = {
        "lease": policy.lease.total_seconds(),
        "timeout": policy.timeout.total_seconds(),
        "max_attempts": policy.max_attempts,
        "max_result_bytes": policy.max_result_bytes,
    }
    for name, value in defaults.items():
        text = text.replace(f"<<{name}>>", f"{value:g}" if isinstance(value, float) else str(value))
    return text


def _body(name: str) -> str:
    """A statement up to what it returns, its values named as the functions name theirs: `p_worker` for `:worker`."""
    body = postgres.dialect(clock=True).render(statement_text("postgres", name))
    body = body[: body.rindex("RETURNING")] if name != "jobs/complete" else body[: body.index("RETURNING")]
    return re.sub(r"(?<!:):([a-z_]+)", r"p_\1", body).rstrip()


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


if __name__ == "__main__":
    sys.exit(main())
