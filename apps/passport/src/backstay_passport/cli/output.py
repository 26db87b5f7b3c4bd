"""How commands speak: a table or lines for people, JSON for programs, an exit code that tells the truth."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy.exc import OperationalError, ProgrammingError

from backstay import BackstayError
from backstay_passport.domain.errors import InvalidInput, PassportError
from backstay_passport.services import Services
from backstay_passport.settings import Settings
from backstay_passport.store import access

JSON_OPTION = typer.Option(False, "--json", help="Print JSON for programs.")
TENANT_OPTION = typer.Option(
    "", "--tenant", envvar="BPC_TENANT", help="The tenant's name; not needed if there is one."
)


@contextmanager
def opened() -> Iterator[Services]:
    """The application by the environment's settings; errors of ours end the command with their message."""
    # Loaded here: a command that needs no database, such as replay, starts in a fraction of the time.
    from backstay_passport.jobs import build

    try:
        services = build(Settings.from_environment())
        try:
            yield services
        finally:
            services.close()
    except PassportError as error:
        fail(error.message)
    except BackstayError as error:
        fail(str(error))
    except (OperationalError, ProgrammingError) as error:
        reason = str(error.orig).strip().splitlines()[0]
        fail(f"the database cannot be used: {reason}; `backstay-passport migrate` makes its tables")
    except OSError as error:
        fail(f"{error.filename or 'a file'}: {error.strerror or error}")


def read_source(path: Path) -> str:
    """Return the text of a file; raise `InvalidInput` if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: byte {error.start} is not UTF-8") from None


def tenant_id(services: Services, name: str) -> str:
    """Return the tenant that is meant."""
    with services.database.read() as connection:
        if name:
            return access.tenant(connection, name)
        known = access.all_tenants(connection)
    if len(known) != 1:
        fail(f"there are {len(known)} tenants; say which with --tenant")
    return str(known[0]["id"])


def fail(message: str) -> NoReturn:
    """Say what is wrong and end with exit code 1."""
    sys.stderr.write(f"backstay-passport: {message}\n")
    raise typer.Exit(1)


def say(value: Any, *, as_json: bool, text: str | Callable[[], str]) -> None:
    """Print a result as JSON or as text."""
    if as_json:
        sys.stdout.write(json.dumps(value, default=str) + "\n")
    else:
        sys.stdout.write((text if isinstance(text, str) else text()) + "\n")


def say_table(rows: Sequence[Mapping[Any, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """Print rows as JSON or as a table."""
    shown = [{name: row[name] for name in columns} for row in rows]
    if as_json:
        sys.stdout.write(json.dumps(shown, default=str) + "\n")
        return
    table = Table(*columns)
    for row in shown:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    Console().print(table)
