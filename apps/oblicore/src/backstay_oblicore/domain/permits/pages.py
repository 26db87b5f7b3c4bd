"""Pages of text as a reader sees them: without running heads, page numbers and tables of contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

EDGE_LINES = 4
REPEATED_SHARE = 0.4
PAGE_NUMBER = re.compile(
    r"^(?:page\s*)?\d{1,3}(?:\s*(?:of|/)\s*\d{1,3})?$|^[-–]\s*\d{1,3}\s*[-–]$", re.IGNORECASE
)
CONTENTS_LINE = re.compile(r"(?:\.\s?){4,}\s*\d{1,3}\s*$|…{2,}\s*\d{1,3}\s*$")


@dataclass(frozen=True)
class Table:
    """A table as it stands on a page: its caption and its rows of cells, the header first."""

    page: int
    caption: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Page:
    """One page: its text lines outside of tables, and its tables."""

    number: int
    lines: tuple[str, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of running text and the page it stands on."""

    text: str
    page: int


def page_from_text(number: int, text: str, tables: Sequence[Table] = ()) -> Page:
    """Cut a page's text into tidy lines."""
    lines = (tidy(line) for line in text.splitlines())
    return Page(number, tuple(line for line in lines if line), tuple(tables))


def tidy(text: str) -> str:
    """Bring spaces, quotes, dashes and soft hyphens to one form."""
    text = text.replace("\u00ad", "").replace("\ufffe", "-").replace("\u00a0", " ")
    text = text.replace("\u2018", "'").replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"')
    text = text.replace("\ufb01", "fi").replace("\ufb02", "fl").replace("\ufb00", "ff")
    return " ".join(re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", text).split())


def mend_code(text: str) -> str:
    """Give a code at the start of a text the letters that recognition takes for others: 1C2 is IC2, w1 is W1."""
    text = re.sub(r"^[1l|](?=[CPR]-?\d{1,2}\b)", "I", text)
    return re.sub(r"^[a-z](?=\d{1,2}\b)", lambda match: match[0].upper(), text)


def running_lines(pages: Sequence[Page]) -> list[Line]:
    """Return the lines of all pages in reading order, without what repeats at the edges."""
    repeated = _repeated_edges(pages)
    found: list[Line] = []
    for page in pages:
        last = len(page.lines) - 1
        for index, text in enumerate(page.lines):
            at_edge = index < EDGE_LINES or index > last - EDGE_LINES
            if at_edge and (_shape(text) in repeated or PAGE_NUMBER.match(text)):
                continue
            if CONTENTS_LINE.search(text):
                continue
            found.append(Line(text, page.number))
    return found


def _repeated_edges(pages: Sequence[Page]) -> set[str]:
    if len(pages) < 3:
        return set()
    shapes: Counter[str] = Counter()
    for page in pages:
        edges = {*page.lines[:EDGE_LINES], *page.lines[-EDGE_LINES:]}
        shapes.update({_shape(text) for text in edges})
    least = max(3, int(REPEATED_SHARE * len(pages)))
    # A numbered condition is never a running head, however alike two of them are.
    return {
        shape for shape, n in shapes.items() if n >= least and not re.match(r"#(?:\.#)+ ", shape) and shape
    }


def _shape(text: str) -> str:
    return re.sub(r"\d+", "#", text.lower()).strip()
