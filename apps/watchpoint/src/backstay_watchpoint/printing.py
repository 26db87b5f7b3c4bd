"""What the command line prints: JSON for programs, lines and tables for people."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import typer


def show(value: Any, as_json: bool, line: str) -> None:
    """Print a value as JSON, or a line for people."""
    typer.echo(json.dumps(value, default=_plain) if as_json else line)


def show_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    """Print rows as JSON, or as a table for people."""
    if as_json:
        typer.echo(json.dumps(rows, default=_plain))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in rows[0] if rows else ():
        table.add_column(name)
    for row in rows:
        table.add_row(*(_short(value) for value in row.values()))
    Console().print(table if rows else "nothing")


def _short(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return "" if value is None else str(value)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
