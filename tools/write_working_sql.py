"""Writes the functions for working from SQL into PostgreSQL's migration, from the statements that workers send.

`--check` writes nothing and fails when the migration is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from backstay.model.policy.policy import Policy
from backstay.stores.database import postgres
from backstay.stores.database.queries import statement_text

SQL = Path(__file__).resolve().parents[1] / "src" / "backstay" / "stores" / "sql" / "postgres"
MIGRATION = SQL / "migrations" / "0001_first.sql"
FUNCTIONS = Path(__file__).with_name("working_from_sql.sql")
BEGIN, END = "-- Working from SQL: written by tools/write_working_sql.py\n", "-- End of working from SQL\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the functions for working from SQL.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when the migration is out of date"
    )
    check = parser.parse_args().check
    before = MIGRATION.read_text("utf-8")
    head, rest = before.split(BEGIN)
    after = head + BEGIN + functions() + END + rest.split(END)[1]
    if after != before and not check:
        MIGRATION.write_text(after, "utf-8")
        print(f"wrote {MIGRATION}")
    elif after != before:
        print(f"{MIGRATION} is out of date: run 'python tools/write_working_sql.py'")
    return int(check and after != before)


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
