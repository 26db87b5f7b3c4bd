"""From rows of cells to entries: tables with a heading row, and forms with a label beside each value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from backstay_passport.domain.types import Text
from backstay_passport.ingest.kinds import KINDS, KindSchema
from backstay_passport.ingest.labels import Label, read_label
from backstay_passport.ingest.layout import Cell, Row
from backstay_passport.ingest.tree import finished, put
from backstay_passport.ingest.values import cell_value

MIN_COLUMNS = 2
_TOTAL = re.compile(r"(sub)?total|sum|page \d+", re.IGNORECASE)


@dataclass
class _Entry:
    cells: list[tuple[Label, list[str]]] = field(default_factory=list)

    def tree(self) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for label, texts in self.cells:
            separator = "" if texts[0].startswith(("http://", "https://")) else " "
            text = separator.join(texts)
            put(tree, label.path, cell_value(text, label.type, label.unit, field=str(label.path[-1])))
        result: dict[str, Any] = finished(tree)
        return result

    def last_label(self) -> Label | None:
        return self.cells[-1][0] if self.cells else None


def read_rows(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return what the rows say as the kind that fits them best, or None if they fit none."""
    title = " ".join(row.text for row in rows[:6]).lower()
    best: tuple[tuple[int, int], KindSchema, list[dict[str, Any]]] | None = None
    for kind in KINDS:
        entries = [entry.tree() for entry in _entries(rows, kind) if entry.cells]
        if not entries:
            continue
        named = any(word in title for word in kind.title_words)
        score = (int(named), sum(len(entry) for entry in entries))
        if best is None or score > best[0]:
            best = (score, kind, entries)
    return None if best is None else {best[1].list_name: best[2]}


def _entries(rows: Sequence[Row], kind: KindSchema) -> list[_Entry]:
    entries: list[_Entry] = []
    columns: list[tuple[Label, Cell]] = []
    for row in rows:
        heading = _heading(row, kind)
        if heading:
            columns = heading
        elif columns and len(row.cells) >= 1 and _table_row(row, columns, kind, entries):
            continue
        elif not heading:
            columns = []
            _form_row(row, kind, entries)
    return entries


def _heading(row: Row, kind: KindSchema) -> list[tuple[Label, Cell]]:
    labels = [read_label(cell.text, kind.schema) for cell in row.cells]
    names = [label.path for label in labels if label is not None]
    if len(names) < MIN_COLUMNS or (kind.key,) not in names or len(set(names)) < len(names):
        return []
    # A row of labels only: a form's row has a value beside its label.
    if len(names) * 2 <= len(row.cells):
        return []
    # A column that nobody knows is kept under its own heading: its cells belong to no other column.
    return [
        (Label((cell.text,), Text(), "") if label is None else label, cell)
        for label, cell in zip(labels, row.cells, strict=True)
    ]


def _table_row(row: Row, columns: list[tuple[Label, Cell]], kind: KindSchema, entries: list[_Entry]) -> bool:
    if _TOTAL.match(row.cells[0].text):
        return True
    placed: dict[int, list[str]] = {}
    for cell in row.cells:
        column = _column(cell, columns)
        if column is None:
            return False
        placed.setdefault(column, []).append(cell.text)
    key = next(number for number, (label, _) in enumerate(columns) if label.path == (kind.key,))
    only_text = all(isinstance(columns[number][0].type, Text) for number in placed)
    # The second line of a long text has not all columns; a row that has them lacks its number.
    is_whole = len(placed) == len(columns) - 1 and len(columns) > 2
    if key not in placed and entries and only_text and not is_whole:
        _continue(entries[-1], columns, placed)
        return True
    if len(placed) == 1 and key not in placed:
        return False
    entries.append(_Entry([(columns[number][0], texts) for number, texts in sorted(placed.items())]))
    return True


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


def _column(cell: Cell, columns: list[tuple[Label, Cell]]) -> int | None:
    def distance(number: int) -> float:
        heading = columns[number][1]
        overlap = min(cell.right, heading.right) - max(cell.left, heading.left)
        return (
            -overlap if overlap > 0 else min(abs(cell.left - heading.left), abs(cell.right - heading.right))
        )

    return min(range(len(columns)), key=distance)


def _form_row(row: Row, kind: KindSchema, entries: list[_Entry]) -> None:
    parts = _label_and_value(row)
    if parts is None:
        return
    label = read_label(parts[0], kind.schema)
    if label is None:
        return
    if label.path == (kind.key,) or not entries:
        entries.append(_Entry())
    entries[-1].cells.append((label, [parts[1]]))


def _label_and_value(row: Row) -> tuple[str, str] | None:
    if len(row.cells) >= 2:
        return row.cells[0].text, " ".join(cell.text for cell in row.cells[1:])
    found = re.fullmatch(r"([^:]{2,60}):\s+(\S.*)", row.text)
    return (found[1], found[2]) if found else None
