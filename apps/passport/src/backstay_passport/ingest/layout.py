"""From words on a page to rows of cells, straightened if the page was scanned askew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from backstay_parts.words import TextPage, Word

CELL_GAP = 0.8
"""Widths of a gap between two cells, in heights of a line."""


LINES = " |¦_—–-·~=«»‘’"
"""What a reader of pictures makes of the lines of a table."""


@dataclass(frozen=True)
class Cell:
    """Words that stand close together in a row."""

    text: str
    left: float
    right: float


@dataclass(frozen=True)
class Row:
    """Cells on one height of a page."""

    page: int
    top: float
    height: float
    cells: tuple[Cell, ...]

    @property
    def text(self) -> str:
        """The row as one text."""
        return " ".join(cell.text for cell in self.cells)


def rows_of(page: TextPage) -> list[Row]:
    """Return the rows of a page from top to bottom."""
    words = [word for word in page.words if word.text.strip(LINES) or word.text == "-"]
    if not words:
        return []
    slope = _slope(page)
    height = median(word.box.bottom - word.box.top for word in words)

    def middle(word: Word) -> float:
        return (word.box.top + word.box.bottom) / 2 - slope * word.box.left

    rows: list[list[Word]] = []
    for word in sorted(words, key=middle):
        if rows and middle(word) - median(middle(one) for one in rows[-1]) < 0.55 * height:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [Row(page.number, middle(row[0]), height, _cells(row, height)) for row in rows]


def _cells(words: Sequence[Word], height: float) -> tuple[Cell, ...]:
    ordered = sorted(words, key=lambda word: word.box.left)
    groups: list[list[Word]] = [[ordered[0]]]
    for word in ordered[1:]:
        if word.box.left - groups[-1][-1].box.right > CELL_GAP * height:
            groups.append([word])
        else:
            groups[-1].append(word)
    return tuple(
        Cell(" ".join(word.text for word in group), group[0].box.left, max(word.box.right for word in group))
        for group in groups
    )


def _slope(page: TextPage) -> float:
    """Return by how much the lines of the page rise or fall from left to right."""
    slopes = []
    for line in page.lines:
        first, last = line[0], line[-1]
        width = last.box.left - first.box.left
        if len(line) >= 3 and width > page.width / 4:
            slopes.append((_middle(last) - _middle(first)) / width)
    return median(slopes) if slopes else 0.0


def _middle(word: Word) -> float:
    return (word.box.top + word.box.bottom) / 2
