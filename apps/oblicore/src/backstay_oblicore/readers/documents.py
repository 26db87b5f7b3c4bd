"""Pages out of a PDF: native text as it stands, tables where lines are drawn, scans by recognition."""

from __future__ import annotations

import importlib
import io
from dataclasses import dataclass, replace
from typing import Any

from backstay_oblicore.domain.errors import FileTooLarge, FileUnreadable
from backstay_oblicore.domain.permits.pages import Page, Table, page_from_text
from backstay_oblicore.readers import ruled_scans
from backstay_parts.ocr import find_turn, read_scan, turn_clockwise
from backstay_parts.pdf import BadPdf, open_pdf
from backstay_parts.words import Word

LEAST_CHARACTERS = 25  # a page with fewer is a picture
MOST_STAMPED = 400  # characters that a scanner or a sender prints over a picture
PICTURE_SHARE = 0.5  # of a page that a scan covers at least
LEAST_RULINGS = 4
MOST_PAGES = 200
MOST_BYTES = 50_000_000
DPI = 200


@dataclass(frozen=True)
class Outline:
    """What a PDF is, before anything is read: how many pages, and which of them are pictures."""

    page_count: int
    scanned: tuple[int, ...]

    @property
    def is_native(self) -> bool:
        """Every page has text of its own."""
        return not self.scanned


PlacedWord = tuple[str, float, float, float, float]
"""A word with left, top, right and bottom in points, as the page's picture has it."""


@dataclass(frozen=True)
class ScannedPage:
    """What recognition made of one page."""

    number: int
    text: str  # outside of tables
    confidence: float
    tables: tuple[Table, ...] = ()
    words: tuple[PlacedWord, ...] = ()


def outline(content: bytes) -> Outline:
    """Look a PDF over; raise FileUnreadable or FileTooLarge with what to do about it."""
    if len(content) > MOST_BYTES:
        raise FileTooLarge(f"the document has {len(content):,} bytes; at most {MOST_BYTES:,} are taken")
    try:
        with open_pdf(content) as pdf:
            if pdf.page_count > MOST_PAGES:
                raise FileTooLarge(f"the document has {pdf.page_count} pages; at most {MOST_PAGES} are taken")
            lengths = {page.number: len(page.text.strip()) for page in pdf.pages()}
            pictures = _pages_with_pictures(
                content, [n for n, length in lengths.items() if length <= MOST_STAMPED]
            )
            scanned = tuple(n for n, length in lengths.items() if length < LEAST_CHARACTERS or n in pictures)
            return Outline(pdf.page_count, scanned)
    except BadPdf as error:
        raise FileUnreadable(str(error)) from error


def native_pages(content: bytes) -> list[Page]:
    """Read every page that has text, with the tables that have lines drawn around them."""
    try:
        with open_pdf(content) as pdf:
            texts = [page.text for page in pdf.pages()]
    except BadPdf as error:
        raise FileUnreadable(str(error)) from error
    ruled = _pages_with_rulings(content)
    found = _tables(content, ruled) if ruled else {}
    pages = []
    for number, text in enumerate(texts, start=1):
        if number in found:
            outside, tables = found[number]
            pages.append(page_from_text(number, outside, tables))
        else:
            pages.append(page_from_text(number, text))
    return pages


def scan_page(content: bytes, number: int) -> ScannedPage:
    """Recognise one page and its ruled tables; seconds of CPU."""
    with open_pdf(content) as pdf:
        picture = pdf.render(number, dpi=DPI).convert("L")
    level = ruled_scans.straighten(turn_clockwise(picture, find_turn(picture, languages="eng", dpi=DPI)))
    bands = ruled_scans.find_bands(level)
    found, _ = read_scan(ruled_scans.without_rulings(level, bands), languages="eng", dpi=DPI, turn=0)
    tables, outside = ruled_scans.sort_into_tables(found.words, bands, page=number)
    text = replace(found, words=tuple(outside)).text
    placed = tuple(_placed(word) for word in found.words)
    return ScannedPage(number, text, round(float(found.mean_confidence), 4), tuple(tables), placed)


def _placed(word: Word) -> PlacedWord:
    box = word.box.scaled(72 / DPI)
    return word.text, round(box.left, 1), round(box.top, 1), round(box.right, 1), round(box.bottom, 1)


def _pages_with_pictures(content: bytes, numbers: list[int]) -> set[int]:
    """Return the pages that are one picture with at most a stamp printed over it."""
    pdfium: Any = importlib.import_module("pypdfium2")
    raw: Any = importlib.import_module("pypdfium2.raw")
    found = set()
    document = pdfium.PdfDocument(content)
    try:
        for number in numbers:
            page = document[number - 1]
            width, height = page.get_size()
            boxes = [one.get_bounds() for one in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE])]
            page.close()
            covered = sum((right - left) * (top - bottom) for left, bottom, right, top in boxes)
            if covered >= PICTURE_SHARE * width * height:
                found.add(number)
    finally:
        document.close()
    return found


def _pages_with_rulings(content: bytes) -> list[int]:
    """Return the pages on which enough lines are drawn to make a table; cheap, unlike looking for the tables."""
    pdfium: Any = importlib.import_module("pypdfium2")
    raw: Any = importlib.import_module("pypdfium2.raw")
    found = []
    document = pdfium.PdfDocument(content)
    try:
        for index in range(len(document)):
            page = document[index]
            paths = sum(1 for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH]))
            page.close()
            if paths >= LEAST_RULINGS:
                found.append(index + 1)
    finally:
        document.close()
    return found


def _tables(content: bytes, numbers: list[int]) -> dict[int, tuple[str, list[Table]]]:
    import pdfplumber

    found: dict[int, tuple[str, list[Table]]] = {}
    with pdfplumber.open(io.BytesIO(content), pages=numbers) as pdf:
        for page in pdf.pages:
            # One row is a table, too: headings whose rows stand on the next page.
            grids = [grid for grid in page.find_tables() if len(grid.rows[0].cells) >= 2]
            if not grids:
                continue
            outside = page.filter(_Outside([grid.bbox for grid in grids]))
            found[page.page_number] = (outside.extract_text() or "", [_table(page, grid) for grid in grids])
    return found


@dataclass(frozen=True)
class _Outside:
    """Tells characters outside of all tables by their middles: a line close above a table only touches it."""

    boxes: list[tuple[float, float, float, float]]

    def __call__(self, thing: dict[str, Any]) -> bool:
        across, down = (thing["x0"] + thing["x1"]) / 2, (thing["top"] + thing["bottom"]) / 2
        return not any(
            left <= across <= right and top <= down <= bottom for left, top, right, bottom in self.boxes
        )


def _table(page: Any, grid: Any) -> Table:
    rows = tuple(tuple(" ".join((cell or "").split()) for cell in row) for row in grid.extract())
    top = grid.bbox[1]
    above = page.crop((0, max(0, top - 120), page.width, top), strict=False).extract_text() or ""
    near = page.crop((0, max(0, top - 40), page.width, top), strict=False).extract_text() or ""
    named = [line for line in above.strip().splitlines()[-3:] if line.lower().startswith("table")]
    nearest = near.strip().splitlines()[-1:]
    return Table(page.page_number, (named or nearest or [""])[-1], rows)
