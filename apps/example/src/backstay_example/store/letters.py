"""The letters that were written, in a table beside the jobs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from backstay import Transaction

TABLE = "CREATE TABLE IF NOT EXISTS letters (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"


def prepare(path: Path) -> None:
    """Make the table."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(TABLE)


async def add(tx: Transaction, text: str) -> None:
    """Keep a letter, in the transaction that also completes the job."""
    await tx.execute("INSERT INTO letters (text) VALUES (?)", text)


def all_letters(path: Path) -> list[str]:
    """Every letter, in the order of writing."""
    with closing(sqlite3.connect(path)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM letters ORDER BY id")]
