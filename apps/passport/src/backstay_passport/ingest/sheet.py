"""CSV documents: a heading row of labels or paths, an entry in each row below."""

from __future__ import annotations

import csv
import io
from typing import Any

from backstay_passport.domain.errors import DocumentRejected
from backstay_passport.domain.types import Text
from backstay_passport.ingest.kinds import KINDS, KindSchema, content_of
from backstay_passport.ingest.labels import Label, read_label
from backstay_passport.ingest.tree import finished, put
from backstay_passport.ingest.values import cell_value, decimal_mark

DELIMITERS = ",;\t|"


def read_csv(content: bytes) -> Any:
    """Return what a CSV document says; the kind is the one whose fields the heading names most."""
    rows = _rows(content)
    if len(rows) < 2:
        return None
    best = max(KINDS, key=lambda kind: _score(rows[0], kind))
    if _score(rows[0], best) == 0:
        return None
    labels = [read_label(cell, best.schema) or _unknown(cell) for cell in rows[0]]
    mark = decimal_mark(cell for row in rows[1:] for cell in row)
    return content_of(best, [_entry(row, labels, number, mark) for number, row in enumerate(rows[1:])])


def _rows(content: bytes) -> list[list[str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentRejected("", f"byte {error.start} is not UTF-8; save the file as UTF-8") from None
    if "\x00" in text:
        raise DocumentRejected("", "not a text file")
    first = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DocumentRejected("", f"not CSV: {error}") from None
    return [row for row in rows if any(cell.strip() for cell in row)]


def _score(heading: list[str], kind: KindSchema) -> int:
    labels = [read_label(cell, kind.schema) for cell in heading]
    paths = [label.path for label in labels if label is not None]
    return len(paths) if (kind.key,) in paths else 0


def _unknown(cell: str) -> Label:
    return Label((cell.strip() or "unnamed",), Text(), "")


def _entry(row: list[str], labels: list[Label], number: int, mark: str | None) -> dict[str, Any]:
    if len(row) > len(labels):
        raise DocumentRejected(f"row {number + 2}", f"{len(row)} cells under {len(labels)} headings")
    tree: dict[str, Any] = {}
    for label, text in zip(labels, row, strict=False):
        if text.strip():
            put(
                tree,
                label.path,
                cell_value(text, label.type, label.unit, field=str(label.path[-1]), mark=mark),
            )
    result: dict[str, Any] = finished(tree)
    return result
