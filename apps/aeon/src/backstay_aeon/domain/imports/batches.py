"""What becomes of rows: checked against the dataset, compared with what is stored, and counted."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from backstay_aeon.domain.imports.columns import BadCell, Cell, Column, Dataset, read_cell


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a row was refused: which column of the file, a word for counting, and a sentence."""

    column: str
    code: str
    message: str

    def as_json(self) -> dict[str, str]:
        """As it is stored."""
        return {"column": self.column, "code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number below the head, its cells as they came, and what was made of them."""

    number: int
    cells: list[Cell]
    key: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as it is now."""

    data: dict[str, Any]
    import_id: str
    row_number: int


@dataclass(slots=True)
class BatchPlan:
    """What one batch does."""

    first_row: int
    last_row: int
    inserts: list[Row] = field(default_factory=list)
    updates: list[Row] = field(default_factory=list)
    unchanged: list[Row] = field(default_factory=list)
    refused: list[Row] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """How many rows went which way."""
        return {
            "inserted": len(self.inserts),
            "updated": len(self.updates),
            "unchanged": len(self.unchanged),
            "refused": len(self.refused),
        }

    def reasons(self) -> Counter[str]:
        """How often each first reason was met."""
        return Counter(row.problems[0].code for row in self.refused)

    def sha256(self) -> str:
        """The hash of the rows taken, in the order of the file."""
        taken = sorted([*self.inserts, *self.updates, *self.unchanged], key=lambda row: row.number)
        digest = hashlib.sha256()
        for row in taken:
            digest.update(canonical([row.key, row.data]))
        return digest.hexdigest()


class Checker:
    """Checks rows against a dataset by a mapping."""

    def __init__(self, dataset: Dataset, headers: Sequence[str], mapping: Mapping[str, str]) -> None:
        self._headers = list(headers)
        self._places: list[tuple[int, str, Column]] = [
            (place, header, dataset.column(mapping[header]))
            for place, header in enumerate(headers)
            if header in mapping
        ]
        self._key = dataset.key
        self._key_header = next(header for header, name in mapping.items() if name == dataset.key)

    def check(self, number: int, cells: list[Cell]) -> Row:
        """What is made of one row; a row with problems keeps its cells, to be corrected."""
        problems: list[Problem] = []
        if len(cells) != len(self._headers):
            told = f"the row has {len(cells)} cells and the head {len(self._headers)}"
            return self.ragged(number, cells, told)
        data: dict[str, Any] = {}
        for place, header, column in self._places:
            try:
                value = read_cell(column, cells[place])
            except BadCell as error:
                problems.append(Problem(header, error.code, str(error)))
                continue
            if value is not None:
                data[column.name] = value
        key = data.get(self._key)
        if key is None and not any(one.column == self._key_header for one in problems):
            problems.append(Problem(self._key_header, "key", f"{self._key} is empty: it tells records apart"))
        return Row(number, cells, str(key or ""), data, tuple(problems))

    def ragged(self, number: int, cells: list[Cell], told: str) -> Row:
        """A row that is not as long as the head: nobody knows which cell belongs where."""
        return Row(number, cells, problems=(Problem("", "ragged", told),))

    def repeated(self, row: Row) -> Row:
        """The row, refused because its key came before."""
        told = f"{self._key} {row.key} stands in an earlier row of this import"
        return Row(row.number, row.cells, row.key, row.data, (Problem(self._key_header, "duplicate", told),))


class Seen:
    """The keys that came so far; sixteen bytes each, so that a million rows fit into memory."""

    def __init__(self) -> None:
        self._digests: set[bytes] = set()

    def is_new(self, key: str) -> bool:
        """Whether the key comes for the first time; it has come then."""
        digest = hashlib.blake2b(key.encode(), digest_size=16).digest()
        before = len(self._digests)
        self._digests.add(digest)
        return len(self._digests) > before


def checked_rows(checker: Checker, rows: Iterable[list[Cell]], seen: Seen) -> Iterator[Row]:
    """Every row with what was made of it, numbered from 1; the second row of a key is refused."""
    for number, cells in enumerate(rows, 1):
        row = checker.check(number, cells)
        if not row.problems and not seen.is_new(row.key):
            row = checker.repeated(row)
        yield row


def in_batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Rows in portions of `size`, the last one shorter."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


def plan_batch(rows: Sequence[Row], stored: Mapping[str, Stored]) -> BatchPlan:
    """Compare rows with what is stored under their keys."""
    plan = BatchPlan(rows[0].number, rows[-1].number)
    for row in rows:
        if row.problems:
            plan.refused.append(row)
        elif (found := stored.get(row.key)) is None:
            plan.inserts.append(row)
        elif found.data == row.data:
            plan.unchanged.append(row)
        else:
            plan.updates.append(row)
    return plan


def chained(hashes: Iterable[str]) -> str:
    """One hash over those of all batches, in order."""
    digest = hashlib.sha256()
    for one in hashes:
        digest.update(bytes.fromhex(one))
    return digest.hexdigest()


def canonical(value: Any) -> bytes:
    """One byte string for each value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str).encode()
