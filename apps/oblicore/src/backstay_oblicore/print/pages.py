"""The common look of everything that is printed: headings with bookmarks, tables, a foot on every page."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from pypdf import PdfReader, PdfWriter
from pypdf.errors import PdfReadError
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle
from reportlab.platypus.doctemplate import LayoutError

STYLES = getSampleStyleSheet()
BODY = ParagraphStyle("print-body", parent=STYLES["BodyText"], fontSize=9.5, leading=12.5)
SMALL = ParagraphStyle("print-small", parent=BODY, fontSize=8, leading=10)
HEADING = ParagraphStyle(
    "print-heading", parent=STYLES["Heading1"], fontSize=15, spaceBefore=10, spaceAfter=6
)
TITLE = ParagraphStyle("print-title", parent=STYLES["Title"], fontSize=24, spaceAfter=18)
WIDTH = A4[0] - 40 * mm


def heading(text: str) -> Paragraph:
    """A heading that is also a bookmark."""
    return Paragraph(escape(text), HEADING)


def paragraph(text: str) -> Paragraph:
    """A paragraph; whatever is in the text is text."""
    return Paragraph(escape(text), BODY)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], *, shares: Sequence[float]) -> Table:
    """A table whose columns share the page's width, with its head on every page."""
    cells = [[Paragraph(escape(cell), SMALL) for cell in head]] if head else []
    cells += [[Paragraph(escape("" if cell is None else str(cell)), SMALL) for cell in row] for row in rows]
    whole = sum(shares)
    # A clause may be longer than a page: its row goes on overleaf.
    grid = Table(
        cells, colWidths=[WIDTH * share / whole for share in shares], repeatRows=bool(head), splitInRow=1
    )
    shaded = ((0, 0), (-1, 0)) if head else ((0, 0), (0, -1))
    grid.setStyle(
        TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.4, colors.grey),
                ("BACKGROUND", *shaded, colors.HexColor("#e8eef2")),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
    )
    return grid


def facts(pairs: Sequence[tuple[str, object]]) -> Table:
    """Labels and values, one a line."""
    return table((), pairs, shares=(1, 3))


def lay_out(title: str, story: Sequence[Any]) -> bytes:
    """Lay a story out on A4 pages with bookmarks; the same story gives the same bytes.

    Raises ValueError for what does not fit on paper.
    """
    buffer = io.BytesIO()
    document = _Template(
        buffer,
        pagesize=A4,
        leftMargin=20 * mm,
        rightMargin=20 * mm,
        topMargin=20 * mm,
        bottomMargin=22 * mm,
        title=title,
        author="Oblicore",
        invariant=1,
    )
    try:
        document.build(list(story))
    except LayoutError as error:
        raise ValueError(f"it does not fit on a page: {error}") from error
    return buffer.getvalue()


class _Template(SimpleDocTemplate):
    def afterFlowable(self, flowable: Any) -> None:
        """Turn headings into bookmarks."""
        if isinstance(flowable, Paragraph) and flowable.style is HEADING:
            text = flowable.getPlainText()
            key = f"{text}-{self.page}"
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(text, key, level=0, closed=False)


def bind(parts: Sequence[bytes], *, foot: str, attachments: Mapping[str, bytes], subject: str) -> bytes:
    """Bind parts into one file: "Page x of y" and the foot on every page, files attached by name."""
    writer = PdfWriter()
    for part in parts:
        writer.append(io.BytesIO(part))
    count = len(writer.pages)
    for number, page in enumerate(writer.pages, start=1):
        overlay = _foot(float(page.mediabox.width), foot, number, count)
        page.merge_page(PdfReader(io.BytesIO(overlay)).pages[0])
    for name, content in attachments.items():
        writer.add_attachment(name, content)
    writer.add_metadata({"/Subject": subject})
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def page_count(content: bytes) -> int | None:
    """Count the pages of a PDF; none if it is none."""
    try:
        return len(PdfReader(io.BytesIO(content)).pages)
    except (PdfReadError, ValueError, KeyError, OSError):
        return None


def attachments(content: bytes) -> dict[str, bytes]:
    """Return the files that a PDF carries."""
    reader = PdfReader(io.BytesIO(content))
    return {name: files[0] for name, files in reader.attachments.items() if files}


def _foot(width: float, foot: str, number: int, count: int) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(width, 60), invariant=1)
    canvas.setFont("Helvetica", 8)
    canvas.drawString(20 * mm, 28, foot)
    canvas.drawRightString(width - 20 * mm, 28, f"Page {number} of {count}")
    canvas.save()
    return buffer.getvalue()


__all__ = [
    "PageBreak",
    "Spacer",
    "attachments",
    "bind",
    "facts",
    "heading",
    "lay_out",
    "page_count",
    "paragraph",
    "table",
]
