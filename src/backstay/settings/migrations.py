"""An application's own migrations: numbered SQL files, and the views made after them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from backstay.errors import InvalidSettings

VIEWS = "views.sql"
DATABASES = ("postgresql", "sqlite")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One numbered file; views have the number 0 and are made again whenever their text has changed."""

    number: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Migrations:
    """Where an application keeps the migrations of its own tables: `Migrations("shop", Path("migrations"))`.

    Files such as `0001_orders.sql` go for both databases, those in the folders `postgresql` and `sqlite` for one.
    Each is applied once, in the order of its number and in a transaction of its own; `views.sql` is run last, and
    again whenever it has changed. `name` keeps several applications in one database apart.
    """

    name: str
    folder: Path | Traversable

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidSettings(
                f"migrations cannot belong to {self.name!r}: use lower-case letters, digits and underscores"
            )
        if not self.folder.is_dir():
            raise InvalidSettings(
                f"the migrations of {self.name!r} are not there: {self.folder} is no folder"
            )

    def numbered(self, database: str) -> list[MigrationFile]:
        """The migrations for "postgresql" or "sqlite", in order; raises InvalidSettings for names that do not fit."""
        found: dict[int, MigrationFile] = {}
        for file in self._files(database):
            if file.name == VIEWS:
                continue
            named = _FILE.fullmatch(file.name)
            if named is None or int(named[1]) == 0:
                raise InvalidSettings(
                    f"cannot apply {file} of {self.name!r}: a migration is called 0001_what_it_does.sql"
                )
            number = int(named[1])
            if number in found:
                raise InvalidSettings(
                    f"{self.name!r} has two migrations with the number {number:04} for {database}: "
                    f"{found[number].name} and {named[2]}"
                )
            found[number] = MigrationFile(number, named[2], file.read_text("utf-8"))
        return [found[number] for number in sorted(found)]

    def views(self, database: str) -> MigrationFile | None:
        """What is run last, if there is such a file."""
        parts = [file.read_text("utf-8") for file in self._files(database) if file.name == VIEWS]
        return MigrationFile(0, "views", "\n".join(parts)) if parts else None

    def _files(self, database: str) -> Iterator[Path | Traversable]:
        for entry in sorted(self.folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".sql"):
                yield entry
            elif entry.is_dir() and entry.name not in (*DATABASES, "__pycache__"):
                raise InvalidSettings(
                    f"{entry} of {self.name!r} is for no database: call it {' or '.join(DATABASES)}"
                )
        special = self.folder / database
        if special.is_dir():
            yield from (
                entry
                for entry in sorted(special.iterdir(), key=lambda entry: entry.name)
                if entry.name.endswith(".sql")
            )
