"""Reading a document whatever its format: which one it is, what it says, and what kind of document it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PIL import Image
from pypdfium2 import PdfiumError  # type: ignore[import-untyped]  # it has no types

from backstay_parts.ocr import OcrFailed, read_scan
from backstay_parts.pdf import BadPdf, open_pdf
from backstay_parts.words import TextPage
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.errors import DocumentRejected, NotCanonical, ReaderUnavailable
from backstay_passport.domain.facts import DocumentKind
from backstay_passport.ingest.forms import read_rows
from backstay_passport.ingest.kinds import kind_of
from backstay_passport.ingest.layout import rows_of
from backstay_passport.ingest.pictures import BadPicture, open_picture
from backstay_passport.ingest.sheet import read_csv
from backstay_passport.ingest.xml import read_xml

MAX_BYTES = 20 * 1024 * 1024
MAX_PAGES = 60
SCAN_DPI = 300
LANGUAGES = "eng+deu"
PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*")


@dataclass(frozen=True)
class ReadDocument:
    """What a document says, in which format it came, and what it is about."""

    format: str
    kind: DocumentKind
    content: Any
    text: str = ""


def read_document(content: bytes, mime_type: str = "") -> ReadDocument:
    """Read a document; raise `DocumentRejected` if it is damaged, locked, too large or not readable."""
    if len(content) > MAX_BYTES:
        raise DocumentRejected("", f"{len(content)} bytes; a document may have {MAX_BYTES}")
    if not content.strip():
        raise DocumentRejected("", "the file is empty")
    if content.lstrip()[:5].startswith(b"%PDF-"):
        return _read_pdf(content)
    if content.startswith(PICTURES):
        return _read_picture(content)
    return _read_text(content, mime_type)


def _read_text(content: bytes, mime_type: str) -> ReadDocument:
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"[") or "json" in mime_type:
        try:
            value = parse(content)
        except NotCanonical as error:
            raise DocumentRejected(error.pointer, error.problem) from None
        return ReadDocument("json", kind_of(value), value)
    if start == b"<" or "xml" in mime_type:
        value = read_xml(content)
        return ReadDocument("xml", kind_of(value), value)
    value = read_csv(content)
    return ReadDocument("csv", kind_of(value), value)


def _read_pdf(content: bytes) -> ReadDocument:
    try:
        with open_pdf(content) as pdf:
            if pdf.page_count > MAX_PAGES:
                raise DocumentRejected("", f"{pdf.page_count} pages; a document may have {MAX_PAGES}")
            pages = [pdf.page(number) for number in range(1, pdf.page_count + 1)]
            scanned = [page.number for page in pages if not page.words]
            for number in scanned:
                pages[number - 1] = _scan(pdf.render(number, dpi=SCAN_DPI), number)
    except BadPdf as error:
        raise DocumentRejected("", str(error)) from None
    except PdfiumError as error:
        raise DocumentRejected("", f"the PDF file is damaged: {error}") from None
    return _read_pages(pages, "scanned pdf" if scanned else "text pdf")


def _read_picture(content: bytes) -> ReadDocument:
    try:
        picture = open_picture(content)
    except BadPicture as error:
        raise DocumentRejected("", str(error)) from None
    return _read_pages([_scan(picture, 1)], "picture")


def _scan(picture: Image.Image, number: int) -> TextPage:
    try:
        page, _upright = read_scan(picture, languages=LANGUAGES)
    except OcrFailed as error:
        if error.__cause__ is not None:
            # The engine did not even start: nothing is said about the document.
            raise ReaderUnavailable(str(error)) from error
        raise DocumentRejected(f"page {number}", f"no text can be read: {error}") from None
    return TextPage(number, page.width, page.height, page.words, page.turn)


def _read_pages(pages: list[TextPage], name: str) -> ReadDocument:
    value = read_rows([row for page in pages for row in rows_of(page)])
    return ReadDocument(name, kind_of(value), value, "\f".join(page.text for page in pages))
