"""The words of a document, and how a piece of text is found among them again."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels of the upright page picture."""

_LABEL_WORDS = 3
_CELL_WORDS = 6
_STRIPPED = ".,;:()[]{}'\"“”‘’!?*•·-–—|"


@dataclass(frozen=True, slots=True)
class PageWord:
    """A word as it was read: where it stands and how sure the reading is."""

    page: int
    text: str
    box: Box
    confidence: float
    line: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of words and its text; `starts` holds where each word begins in it."""

    page: int
    words: tuple[PageWord, ...]
    text: str
    starts: tuple[int, ...]

    def words_between(self, start: int, end: int) -> tuple[PageWord, ...]:
        """The words that a piece of the line's text touches."""
        touched = zip(self.words, self.starts, strict=True)
        return tuple(word for word, at in touched if at < end and at + len(word.text) > start)

    @property
    def top(self) -> float:
        """The upper edge of its highest word."""
        return min(word.box[1] for word in self.words)

    @property
    def height(self) -> float:
        """The height of its tallest word."""
        return max(word.box[3] - word.box[1] for word in self.words)


@dataclass(frozen=True, slots=True)
class DocumentText:
    """All words of a document in reading order."""

    words: tuple[PageWord, ...]
    lines: tuple[Line, ...] = field(init=False)

    def __post_init__(self) -> None:
        grouped = groupby(self.words, key=lambda word: (word.page, word.line))
        rows = _rows([tuple(words) for _, words in grouped])
        object.__setattr__(self, "lines", tuple(_line(row) for row in rows))
        object.__setattr__(self, "words", tuple(word for row in rows for word in row))

    @property
    def pages(self) -> list[int]:
        """The numbers of the pages that have words."""
        return sorted({word.page for word in self.words})

    def page_text(self, page: int) -> str:
        """The lines of one page."""
        return "\n".join(line.text for line in self.lines if line.page == page)

    def flow(self, page: int) -> Line:
        """A whole page as one long line; its line ends stand as line breaks in the text."""
        words, starts, pieces, at = [], [], [], 0
        for line in self.lines:
            if line.page != page:
                continue
            for position, word in enumerate(line.words):
                words.append(word)
                starts.append(at)
                is_last = position == len(line.words) - 1
                pieces.append(word.text + ("\n" if is_last else " "))
                at += len(word.text) + 1
        return Line(page, tuple(words), "".join(pieces), tuple(starts))

    @property
    def text(self) -> str:
        """The lines of all pages."""
        return "\n".join(line.text for line in self.lines)

    def find(self, quote: str, *, page: int | None = None) -> list[tuple[PageWord, ...]]:
        """Every place where the quote's words stand one after another, also over the end of a line."""
        wanted = [bare(word) for word in quote.split() if bare(word)]
        if not wanted:
            return []
        found = []
        for number in [page] if page is not None else self.pages:
            words = [word for word in self.words if word.page == number and bare(word.text)]
            texts = [bare(word.text) for word in words]
            for start in range(len(words) - len(wanted) + 1):
                if texts[start : start + len(wanted)] == wanted:
                    found.append(tuple(words[start : start + len(wanted)]))
        return found


def bare(word: str) -> str:
    """The word as it is compared: lower case, without the signs around it."""
    return word.lower().strip(_STRIPPED)


def boxes_of(words: Iterable[PageWord]) -> list[dict[str, object]]:
    """One box a line of the words, as it is stored and drawn."""
    boxes: list[dict[str, object]] = []
    for (page, _), group in groupby(words, key=lambda word: (word.page, word.line)):
        members = list(group)
        boxes.append(
            {
                "page": page,
                "left": min(word.box[0] for word in members),
                "top": min(word.box[1] for word in members),
                "right": max(word.box[2] for word in members),
                "bottom": max(word.box[3] for word in members),
            }
        )
    return boxes


def lowest_confidence(words: Sequence[PageWord]) -> float:
    """How sure the least sure of the words is; 0 for none."""
    return min((word.confidence for word in words), default=0.0)


def has_digit(text: str) -> bool:
    """True if a digit stands in the text."""
    return re.search(r"\d", text) is not None


def _rows(lines: Sequence[tuple[PageWord, ...]]) -> list[tuple[PageWord, ...]]:
    """The lines, each cell of a form or table put before what stands beside it.

    Readers of scans take the cells of a table for columns of their own and give one after the other.
    """
    rows: list[tuple[PageWord, ...]] = []
    joined: set[int] = set()
    for place, line in enumerate(lines):
        if place in joined:
            continue
        row, last = line, place
        while (beside := _beside(lines, last, joined)) is not None:
            joined.add(beside)
            row, last = row + lines[beside], beside
        rows.append(row)
    pages = {lines[place][0].page for place in joined}
    # The rest of the right column stands between the rows it belongs to.
    return sorted(rows, key=lambda row: (row[0].page, row[0].box[1] if row[0].page in pages else 0.0))


def _beside(lines: Sequence[tuple[PageWord, ...]], place: int, taken: set[int]) -> int | None:
    """The nearest line that stands to the right at the same height, and is a cell as this one is; None for none."""
    line = lines[place]
    found = [
        index
        for index, other in enumerate(lines)
        if index > place
        and index not in taken
        and other[0].page == line[-1].page
        and _are_cells(line, other)
        and _is_level(line[-1], other[0])
    ]
    return min(found, key=lambda index: lines[index][0].box[0], default=None)


def _are_cells(left: Sequence[PageWord], right: Sequence[PageWord]) -> bool:
    """True for a label and what it labels, or for two short pieces; columns of running text are neither."""
    return len(left) <= _LABEL_WORDS or max(len(left), len(right)) <= _CELL_WORDS


def _is_level(left: PageWord, right: PageWord) -> bool:
    shared = min(left.box[3], right.box[3]) - max(left.box[1], right.box[1])
    height = min(left.box[3] - left.box[1], right.box[3] - right.box[1])
    return left.box[2] <= right.box[0] and shared > height / 2


def _line(words: tuple[PageWord, ...]) -> Line:
    starts, at = [], 0
    for word in words:
        starts.append(at)
        at += len(word.text) + 1
    return Line(words[0].page, words, " ".join(word.text for word in words), tuple(starts))
