"""Which column of a file is which column of the dataset: guessed, and never below a score."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz

from backstay_aeon.domain.errors import BadRequest
from backstay_aeon.domain.imports.columns import Cell, Column, Dataset, guess_type

LEAST_SCORE = 82.0
REJECT_COLUMNS = ("_row", "_column", "_reason")


def plain(name: str) -> str:
    """A name as it is compared: small letters and digits, umlauts spelt out."""
    spelt = name.lower().translate({228: "ae", 246: "oe", 252: "ue", 223: "ss"})
    bare = unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", " ", bare).strip()


def guess(headers: Sequence[str], dataset: Dataset) -> dict[str, str]:
    """Header to column, the best pairs first; a header without a good pair is left out."""
    pairs = [
        (score(header, column), place, header, column.name)
        for place, header in enumerate(headers)
        if header not in REJECT_COLUMNS
        for column in dataset.columns
    ]
    mapping: dict[str, str] = {}
    for points, _, header, name in sorted(pairs, key=lambda pair: (-pair[0], pair[1])):
        if points >= LEAST_SCORE and header not in mapping and name not in mapping.values():
            mapping[header] = name
    return mapping


def score(header: str, column: Column) -> float:
    """How alike a header and a column are, 0 to 100."""
    asked = plain(header)
    names = [plain(column.name), *(plain(alias) for alias in column.aliases)]
    if asked in names:
        return 100.0
    return max(float(fuzz.ratio(asked, name)) for name in names) if asked else 0.0


def checked(given: Mapping[str, str], headers: Sequence[str], dataset: Dataset) -> dict[str, str]:
    """A mapping as somebody corrected it; raises BadRequest for names that do not exist."""
    names = {column.name for column in dataset.columns}
    for header, name in given.items():
        if header not in headers:
            raise BadRequest(
                f"the file has no column {header!r}; it has {', '.join(headers)}", field="mapping"
            )
        if name not in names:
            raise BadRequest(f"the dataset has no column {name!r}", field="mapping")
    if len(set(given.values())) != len(given):
        raise BadRequest("two columns of the file lead to the same column", field="mapping")
    return dict(given)


def check_options(given: Mapping[str, Any], above: str = "") -> None:
    """Refuse a mapping, a rule for errors or a size of batches that can never be used."""
    mapping = given.get("mapping") or {}
    if not isinstance(mapping, dict) or not all(isinstance(one, str) for one in mapping.values()):
        raise BadRequest(
            'the mapping is an object as {"column of the file": "column of the dataset"}',
            field=f"{above}mapping",
        )
    if given.get("on_error", "skip") not in ("skip", "fail"):
        raise BadRequest("on_error is skip or fail", field=f"{above}on_error")
    size = given.get("batch_size", 1000)
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= 10_000:
        raise BadRequest("batch_size is a whole number from 1 to 10000", field=f"{above}batch_size")


def complete(mapping: Mapping[str, str], headers: Sequence[str], dataset: Dataset) -> None:
    """Refuse a mapping without which no row could be taken."""
    mapped = set(mapping.values())
    missing = [one.name for one in dataset.columns if one.required or one.name == dataset.key]
    missing = [name for name in missing if name not in mapped]
    if missing:
        raise BadRequest(
            f"no column of the file was recognised as {', '.join(missing)}; the file has {', '.join(headers)}: "
            "say which one it is in the mapping",
            field="mapping",
        )


def infer(name: str, headers: Sequence[str], sample: Sequence[Sequence[Cell]]) -> Dataset:
    """A dataset as the file suggests it: the first column that is full and never repeats is the key."""
    columns: list[Column] = []
    key = ""
    for place, header in enumerate(headers):
        cells = [row[place] for row in sample if place < len(row)]
        words = plain(header).replace(" ", "_")
        own = words if re.match(r"[a-z]", words) else f"column_{place + 1}"
        if any(own == column.name for column in columns):
            own = f"{own}_{place + 1}"
        full = [str(cell) for cell in cells if cell not in (None, "")]
        if not key and cells and len(full) == len(cells) and len(set(full)) == len(full):
            key = own
        columns.append(Column(own[:63], guess_type(cells), aliases=(header,)))
    if not key:
        raise BadRequest(
            "no column of the file tells its rows apart: define the dataset with its key first",
            field="dataset",
        )
    return Dataset(name, key, tuple(columns))
