"""What stands in a PDF, where, and what does a page look like?"""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from backstay_parts.optional import need
from backstay_parts.words import Box, TextPage, Word, around

if TYPE_CHECKING:
    from PIL.Image import Image

POINTS_PER_INCH = 72
_PDFIUM = threading.RLock()  # PDFium must not be called by two threads at once


class BadPdf(ValueError):
    """The bytes are not a PDF that can be read: damaged, empty, or locked by a password."""


def open_pdf(content: bytes | Path, *, password: str | None = None) -> "PdfFile":
    """Open a PDF from bytes or a file; raises `BadPdf`. Use the result as a context manager."""
    pdfium = need("pypdfium2", extra="pdf")
    with _PDFIUM:
        try:
            document = pdfium.PdfDocument(content, password=password)
        except pdfium.PdfiumError as error:
            raise BadPdf(_reason(str(error))) from error
        if len(document) == 0:
            document.close()
            raise BadPdf("the PDF has no pages")
    return PdfFile(document)


class PdfFile:
    """An open PDF; pages are counted from 1, boxes are in points from the upper left corner."""

    def __init__(self, document: Any) -> None:
        self._document = document

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return len(self._document)

    def page(self, number: int) -> TextPage:
        """The words of a page that are text; a scanned page has none."""
        with _PDFIUM:
            page = self._page(number)
            try:
                width, height = page.get_size()
                return TextPage(number, width, height, tuple(_words(page, height)))
            finally:
                page.close()

    def pages(self) -> Iterator[TextPage]:
        """The words of each page."""
        return (self.page(number) for number in range(1, self.page_count + 1))

    def text(self) -> str:
        """The text of all pages; pages are separated by a form feed."""
        return "\f".join(page.text for page in self.pages())

    def render(self, number: int, *, dpi: int = 200) -> "Image":
        """The picture of a page."""
        with _PDFIUM:
            page = self._page(number)
            try:
                picture: Image = page.render(scale=dpi / POINTS_PER_INCH).to_pil()
                return picture
            finally:
                page.close()

    def close(self) -> None:
        """Free the file."""
        with _PDFIUM:
            self._document.close()

    def _page(self, number: int) -> Any:
        if not 1 <= number <= self.page_count:
            raise ValueError(f"there is no page {number}; the PDF has {self.page_count}")
        return self._document[number - 1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _words(page: Any, height: float) -> Iterator[Word]:
    text_page = page.get_textpage()
    try:
        count = text_page.count_chars()
        text = text_page.get_text_range(0, count) if count else ""
        # PDFium's text and its boxes are counted alike only while each character is one; else ask one by one.
        letters = list(text) if len(text) == count else [text_page.get_text_range(i, 1) for i in range(count)]
        gathered: list[tuple[str, Box]] = []
        line = 0
        for index, letter in enumerate(letters):
            if letter.isspace() or letter in "\x00\ufffe":
                if gathered:
                    yield _word(gathered, line)
                    gathered = []
                line += letter == "\n"
                continue
            left, bottom, right, top = text_page.get_charbox(index)
            gathered.append((letter, Box(left, height - top, right, height - bottom)))
        if gathered:
            yield _word(gathered, line)
    finally:
        text_page.close()


def _word(letters: list[tuple[str, Box]], line: int) -> Word:
    return Word("".join(letter for letter, _ in letters), around(box for _, box in letters), 1.0, line)


def _reason(message: str) -> str:
    if "password" in message.lower():
        return "the PDF is locked by a password; save it without one and send it again"
    return "the file is not a readable PDF; it may be damaged or cut off"
