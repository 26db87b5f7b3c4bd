"""Finds the SQL of a named query and turns its few macros into one database's words.

A query is a file, `sql/<database>/<noun>/<verb>.sql`, or the shared one of the same name. Tables are written
`windlass.<table>`: a schema on PostgreSQL, a prefix on SQLite. Values are `:names`. The macros:

{clock}            the moment this row is written            {now}          the moment this statement began
{each a t, b t}    one row for every set of values handed in  {skip_locked}  pass over rows that others hold
{milliseconds x}   an interval or moment as whole ms          {greatest}     the larger of its arguments, or {least}
{any_of c :v t}    the column is one of the values            {has_tag c :v} the JSON array holds the text
{object …}         a JSON object                              {started}      when the database was started
types:             {word} {uuid} {json} {jsonb} {timestamp} {interval} {serial}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

_MACRO = re.compile(r"\{([a-z_]+)((?:[^{}]|\{[a-z_]+\})*)\}")
_VALUE = re.compile(r"(?<!:):([a-z_]+)")
_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FOR UPDATE)\b")

SQL = files("windlass.stores") / "sql"


@dataclass(frozen=True, slots=True)
class Statement:
    """One query, ready for a driver: `values` are its parameters in the order of their numbers.

    `columns` are what its `{each}` takes of every set of values.
    """

    name: str
    sql: str
    values: tuple[str, ...]
    columns: tuple[str, ...]
    is_read: bool


@dataclass(frozen=True)
class Dialect:
    """How one database spells what the shared SQL leaves open."""

    name: str
    tables: str
    macros: Mapping[str, Callable[[str], str]]
    numbered: bool
    wall_clock: str
    _statements: dict[str, Statement] = field(default_factory=dict)

    def statement(self, name: str) -> Statement:
        """The query of this name; a wrong name is a programming error and raises KeyError."""
        found = self._statements.get(name)
        if found is None:
            found = self._statements[name] = self._prepare(name, _source(self.name, name))
        return found

    def render(self, text: str) -> str:
        """Expand macros and table names, leaving values as they are written."""
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
        previous = ""
        while previous != text:
            previous, text = text, _MACRO.sub(self._expand, text)
        return text.replace("windlass.", self.tables).strip()

    def _prepare(self, name: str, text: str) -> Statement:
        sql = self.render(text)
        is_read = _WRITES.search(sql) is None
        each = [match for match in _MACRO.finditer(text) if match.group(1) == "each"]
        taken = tuple(column for match in each for column, _ in columns(match.group(2)))
        if not self.numbered:
            return Statement(name, sql, tuple(dict.fromkeys(_VALUE.findall(sql))), taken, is_read)
        order: dict[str, int] = {}

        def number(match: re.Match[str]) -> str:
            return f"${order.setdefault(match.group(1), len(order) + 1)}"

        return Statement(name, _VALUE.sub(number, sql), tuple(order), taken, is_read)

    def _expand(self, match: re.Match[str]) -> str:
        return self.macros[match.group(1)](match.group(2).strip())

    @cached_property
    def migrations(self) -> list[tuple[int, str, str]]:
        """Every migration as (number, name, SQL), in order."""
        folders = [SQL / place / "migrations" for place in ("shared", self.name)]
        found = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
        named = sorted((file for file in found if file.name.endswith(".sql")), key=lambda file: file.name)
        return [(int(file.name[:4]), file.name[5:-4], self.render(file.read_text("utf-8"))) for file in named]


def _source(dialect: str, name: str) -> str:
    noun, verb = name.split("/")
    for folder in (dialect, "shared"):
        file: Traversable = SQL / folder / noun / f"{verb}.sql"
        if file.is_file():
            return file.read_text("utf-8")
    raise KeyError(f"no SQL file for {name!r}")


def columns(each: str) -> list[tuple[str, str]]:
    """The (name, type) pairs of an `{each}` macro."""
    pairs = (part.split() for part in each.split(","))
    return [(name, kind) for name, kind in pairs]
