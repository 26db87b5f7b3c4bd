"""The seam between what is done and which database does it: run a named query, transact, close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, overload

from backstay.stores.database.queries import Dialect

Row = Mapping[str, Any]
Values = Mapping[str, Any]


class Columns(Sequence[Values]):
    """Sets of values that are known column by column: who wants them so need not take every set apart."""

    def __init__(self, **columns: Sequence[Any]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @overload
    def __getitem__(self, index: int) -> Values: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Values]: ...
    def __getitem__(self, index: int | slice) -> Values | Sequence[Values]:
        part = {name: column[index] for name, column in self.columns.items()}
        return Columns(**part) if isinstance(index, slice) else part


class Connection(Protocol):
    """Runs named queries, each at once or inside the transaction it belongs to."""

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        """Run the query and return its rows."""
        ...

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        """Run the query for every set of values, all or none, and return all rows; `same` goes for every set."""
        ...


class Lane(Connection, Protocol):
    """Connections kept for one purpose, so that no other purpose can use them up."""

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        """Several queries that happen together or not at all."""
        ...


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered change of the tables: of our own, or of an application's."""

    number: int
    name: str
    sql: str
    checksum: str
    application: str = ""

    def __str__(self) -> str:
        number = f"{self.number:04} " if self.number else ""
        return f"{number}{self.name}" + (f" of {self.application}" if self.application else "")

    @property
    def note(self) -> tuple[str, dict[str, Any]]:
        """The query that remembers it, unless it is remembered already, and its values."""
        values = {"number": self.number, "name": self.name, "checksum": self.checksum}
        if not self.application:
            return "schema/note", values
        return "schema/note_own", {**values, "application": self.application}


class Database(Protocol):
    """One database, as seen from one event loop."""

    dialect: Dialect
    reconnections: int
    """How often a connection that was lost had to be opened again."""

    def lane(self, purpose: str, *, size: int = 1) -> Lane:
        """The connections for this purpose, opened when first used."""
        ...

    async def bootstrap(self) -> None:
        """Make the tables that remember migrations, if they are not there."""
        ...

    async def apply(self, migration: Migration) -> bool:
        """Apply a migration and remember it, in one transaction; False when it was applied already.

        Raises MigrationFailed when the database refuses a statement of it.
        """
        ...

    async def describe(self) -> list[str]:
        """One line for every table, column, index and rule of ours that the database has."""
        ...

    async def close(self) -> None:
        """Close every connection; the database opens again when used again."""
        ...
