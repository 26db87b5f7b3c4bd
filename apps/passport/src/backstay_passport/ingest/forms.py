"""From rows of cells to entries: tables with a heading row, and forms with a label beside each value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from backstay_passport.domain.types import Text
from backstay_passport.ingest.kinds import KINDS, KindSchema, content_of
from backstay_passport.ingest.labels import Label, Path, read_label
from backstay_passport.ingest.layout import Cell, Row
from backstay_passport.ingest.tree import finished, put
from backstay_passport.ingest.values import cell_value, decimal_mark

MIN_COLUMNS = 2
MAX_KEY_WORDS = 2
_TOTAL = re.compile(r"(sub)?total|sum|page \d+", re.IGNORECASE)


@dataclass
class _Entry:
    cells: list[tuple[Label, list[str]]] = field(default_factory=list)
    is_form: bool = False

    def tree(self, mark: str | None) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for label, texts in self.cells:
            separator = "" if texts[0].startswith(("http://", "https://")) else " "
            text = separator.join(texts)
            value = cell_value(text, label.type, label.unit, field=str(label.path[-1]), mark=mark)
            put(tree, label.path, value)
        result: dict[str, Any] = finished(tree)
        return result

    def has(self, path: Path) -> bool:
        return any(label.path == path for label, _ in self.cells)


def read_rows(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return what the rows say as the kind that fits them best, or None if they fit none."""
    title = " ".join(row.text for row in rows[:6]).lower()
    mark = decimal_mark(text for row in rows for text in _values(row))
    best: tuple[tuple[int, int], KindSchema, list[dict[str, Any]]] | None = None
    for kind in KINDS:
        entries = [entry.tree(mark) for entry in _entries(rows, kind) if entry.cells]
        if not entries:
            continue
        named = any(word in title for word in kind.title_words)
        score = (int(named), sum(len(entry) for entry in entries))
        if best is None or score > best[0]:
            best = (score, kind, entries)
    return None if best is None else content_of(best[1], best[2])


def _values(row: Row) -> list[str]:
    parts = _label_and_value(row)
    return [cell.text for cell in row.cells] + ([] if parts is None else [parts[1]])


def _entries(rows: Sequence[Row], kind: KindSchema) -> list[_Entry]:
    reader = _Reader(kind)
    for row in rows:
        reader.take(row)
    return reader.entries


class _Reader:
    """Reads rows from top to bottom: rows of the table that was begun last, or fields of the form that was.

    A form above a table may say what is the same for all its rows, the product's number above all; the table then has
    no column for it, and each row becomes an entry with the form's fields.
    """

    def __init__(self, kind: KindSchema) -> None:
        self.kind = kind
        self.entries: list[_Entry] = []
        self._columns: list[tuple[Label, Cell]] = []
        self._above: list[tuple[Label, list[str]]] = []

    def take(self, row: Row) -> None:
        """Read the next row."""
        columns = self._heading(row)
        if columns:
            self._columns = columns
            self._above = self._fields_above(columns)
        elif not (self._columns and self._table_row(row)):
            self._columns = []
            self._form_row(row)

    def _heading(self, row: Row) -> list[tuple[Label, Cell]]:
        """Return the columns that a row begins, none if it is not a heading."""
        labels = [read_label(cell.text, self.kind.schema) for cell in row.cells]
        names = [label.path for label in labels if label is not None]
        if len(names) < MIN_COLUMNS or len(set(names)) < len(names):
            return []
        if (self.kind.key,) not in names and not self._form_names_key():
            return []
        # A row of labels only: a form's row has a value beside its label.
        if len(names) * 2 <= len(row.cells):
            return []
        # A column that nobody knows is kept under its own heading: its cells belong to no other column.
        return [
            (Label((cell.text,), Text(), "") if label is None else label, cell)
            for label, cell in zip(labels, row.cells, strict=True)
        ]

    def _form_names_key(self) -> bool:
        if not self.kind.rows_share_key:
            return False
        form = bool(self.entries) and self.entries[-1].is_form and self.entries[-1].has((self.kind.key,))
        return form or any(label.path == (self.kind.key,) for label, _ in self._above)

    def _fields_above(self, columns: list[tuple[Label, Cell]]) -> list[tuple[Label, list[str]]]:
        """Return what the form above a table says of all its rows; that form is no entry of its own then."""
        if any(label.path == (self.kind.key,) for label, _ in columns):
            return []
        named = {label.path for label, _ in columns}
        cells = self.entries.pop().cells if self.entries and self.entries[-1].is_form else self._above
        return [(label, texts) for label, texts in cells if label.path not in named]

    def _table_row(self, row: Row) -> bool:
        """Read a row of the table; False if it is none, and the table is over."""
        if _TOTAL.match(row.cells[0].text):
            return True
        placed: dict[int, list[str]] = {}
        for cell in row.cells:
            placed.setdefault(_column(cell, self._columns), []).append(cell.text)
        if self._continues(placed):
            _continue(self.entries[-1], self._columns, placed)
            return True
        if len(placed) == 1 and (self._above or not self._names_key(placed) or _is_sentence(row)):
            return False
        cells = [(self._columns[number][0], texts) for number, texts in sorted(placed.items())]
        self.entries.append(_Entry([*self._above, *cells]))
        return True

    def _names_key(self, placed: dict[int, list[str]]) -> bool:
        return any(self._columns[number][0].path == (self.kind.key,) for number in placed)

    def _continues(self, placed: dict[int, list[str]]) -> bool:
        """True if the cells are the second line of the row before.

        Such a line has texts only and no number of its own. A row with all columns but that one is whole, and lacks it:
        it becomes an entry, which is refused where it stands. A table whose number stands above it has no such rows.
        """
        if self._above or not self.entries or self._names_key(placed):
            return False
        is_whole = len(placed) == len(self._columns) - 1 and len(self._columns) > MIN_COLUMNS
        return not is_whole and all(isinstance(self._columns[number][0].type, Text) for number in placed)

    def _form_row(self, row: Row) -> None:
        parts = _label_and_value(row)
        label = None if parts is None else read_label(parts[0], self.kind.schema)
        if parts is None or label is None:
            return
        # What stands below a table says nothing of its last row.
        begins = not self.entries or not self.entries[-1].is_form
        if label.path == (self.kind.key,) or begins:
            self.entries.append(_Entry(is_form=True))
        self.entries[-1].cells.append((label, [parts[1]]))


def _is_sentence(row: Row) -> bool:
    """True if a row is a remark below a table, and not the number of an entry of which nothing else is said."""
    return ":" in row.text or len(row.text.split()) > MAX_KEY_WORDS


def _continue(entry: _Entry, columns: list[tuple[Label, Cell]], placed: dict[int, list[str]]) -> None:
    """Add the second line of a cell to the first."""
    for number, texts in placed.items():
        label = columns[number][0]
        for known, parts in entry.cells:
            if known.path == label.path:
                parts.extend(texts)
                break
        else:
            entry.cells.append((label, texts))


def _column(cell: Cell, columns: list[tuple[Label, Cell]]) -> int:
    def distance(number: int) -> float:
        heading = columns[number][1]
        overlap = min(cell.right, heading.right) - max(cell.left, heading.left)
        return (
            -overlap if overlap > 0 else min(abs(cell.left - heading.left), abs(cell.right - heading.right))
        )

    return min(range(len(columns)), key=distance)


def _label_and_value(row: Row) -> tuple[str, str] | None:
    if len(row.cells) >= 2:
        return row.cells[0].text, " ".join(cell.text for cell in row.cells[1:])
    found = re.fullmatch(r"([^:]{2,60}):\s+(\S.*)", row.text)
    return (found[1], found[2]) if found else None
