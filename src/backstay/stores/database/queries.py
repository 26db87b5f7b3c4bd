"""Finds the SQL of a named query and turns its few macros into one database's words.

A query is a file, `sql/<database>/<noun>/<verb>.sql`, or the shared one of the same name. Tables are written
`backstay.<table>`: a schema on PostgreSQL, a prefix on SQLite. Values are `:names`. The macros:

{clock}            the moment this row is written            {now}          the moment this statement began
{each a t, b t}    one row for every set of values handed in  {skip_locked}  pass over rows that others hold
{milliseconds x}   an interval or moment as whole ms, or µs   {greatest}     the larger of its arguments, or {least}
{any_of c :v t}    the column is one of the values            {has_tag c :v} the JSON array holds the text
{error_class c}    the class of a stored error
{object …}         a JSON object                              {started}      when the database was started
{share table}      keep its rows as they are until the end    {lock}         keep its rows from all others till then
{part name}        the text of sql/<database>/parts/<name>.sql, or of the shared one, with its own parts
{keep}             keep rows as an update of no key would     {skip_used}    pass over rows that others hold or refer to
types:             {word} {uuid} {json} {jsonb} {timestamp} {interval} {serial} {column a-promoted-field's-type}

Some queries are about tables whose columns the application chose. Those names come with the query's own, as JSON:
`promoted/search?{"table": …, "fields": […]}`. Each is written `<<table>>` in the file, and lines from `-- for each
field` to `-- end` are repeated for every entry of `fields`; `-- for each pair` repeats by another list of that name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_PART = re.compile(r"\{part (\w+)\}")
_MACRO = re.compile(r"\{([a-z_]+)((?:[^{}]|\{[a-z_]+\})*)\}")
_VALUE = re.compile(r"(?<!:):([a-z_]+)")
_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FOR UPDATE|FOR NO KEY UPDATE)\b")

_BLOCK = re.compile(r"^-- for each (\w+)\n(.*?)^-- end\n", re.DOTALL | re.MULTILINE)
_GIVEN = re.compile(r"<<(\w+)>>")
_SAFE = re.compile(r"[\w .:+-]*", re.ASCII)

SQL = files("backstay.stores") / "sql"


@dataclass(frozen=True, slots=True)
class Statement:
    """One query, ready for a driver: `values` are its parameters in the order of their numbers.

    `columns` are what its `{each}` takes of every set of values. One that says `-- plan anew` wants a plan for the
    values it is given: a plan for any values would have to allow for filters that were left out.
    """

    name: str
    sql: str
    values: tuple[str, ...]
    columns: tuple[str, ...]
    is_read: bool
    plans_anew: bool = False


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
            found = self._statements[name] = self._prepare(name, statement_text(self.name, name))
        return found

    def render(self, text: str) -> str:
        """Expand macros and table names, leaving values as they are written."""
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
        previous = ""
        while previous != text:
            previous, text = text, _MACRO.sub(self._expand, text)
        return text.replace("backstay.", self.tables).strip()

    def _prepare(self, name: str, text: str) -> Statement:
        sql = self.render(text)
        is_read, plans_anew = _WRITES.search(sql) is None, "-- plan anew" in text
        each = [match for match in _MACRO.finditer(text) if match.group(1) == "each"]
        taken = tuple(column for match in each for column, _ in columns(match.group(2)))
        if not self.numbered:
            values = tuple(dict.fromkeys(_VALUE.findall(sql)))
            return Statement(name, sql, values, taken, is_read, plans_anew)
        order: dict[str, int] = {}

        def number(match: re.Match[str]) -> str:
            return f"${order.setdefault(match.group(1), len(order) + 1)}"

        return Statement(name, _VALUE.sub(number, sql), tuple(order), taken, is_read, plans_anew)

    def _expand(self, match: re.Match[str]) -> str:
        return self.macros[match.group(1)](match.group(2).strip())

    @cached_property
    def migrations(self) -> list[tuple[int, str, str]]:
        """Every migration as (number, name, SQL), in order."""
        found = (SQL / self.name / "migrations").iterdir()
        named = sorted((file for file in found if file.name.endswith(".sql")), key=lambda file: file.name)
        return [(int(file.name[:4]), file.name[5:-4], self.render(file.read_text("utf-8"))) for file in named]


def with_names(name: str, names: Mapping[str, Any]) -> str:
    """The name of a query that is about these tables and columns."""
    return f"{name}?{json.dumps(names, sort_keys=True)}"


def statement_text(dialect: str, name: str) -> str:
    """A query as it is written, with its parts in their places."""
    path, _, names = name.partition("?")
    text = _with_parts(dialect, path)
    return _filled(text, json.loads(names)) if names else text


def _with_parts(dialect: str, path: str) -> str:
    return _PART.sub(
        lambda part: _with_parts(dialect, f"parts/{part.group(1)}").rstrip(), _file(dialect, path)
    )


def _filled(text: str, names: Mapping[str, Any]) -> str:
    def repeated(match: re.Match[str]) -> str:
        entries: list[Mapping[str, Any]] = names[f"{match.group(1)}s"]
        return "".join(_filled(match.group(2), entry) for entry in entries)

    def given(match: re.Match[str]) -> str:
        value = names.get(match.group(1))
        # A field has names of its own inside a block; what stands outside is filled in afterwards.
        return match.group(0) if value is None else _safe(str(value))

    return _GIVEN.sub(given, _BLOCK.sub(repeated, text))


def _safe(name: str) -> str:
    """A name that cannot end the quotes it stands in."""
    if not _SAFE.fullmatch(name):
        raise ValueError(f"cannot write {name!r} into a statement")
    return name


def _file(dialect: str, name: str) -> str:
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
