"""How is a PDF made: pages in a frame, merged files, attachments, a QR code?"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_parts.optional import need


@dataclass(frozen=True, slots=True)
class PageFrame:
    """What every page carries: the head, the foot, and "Page x of y"."""

    title: str
    head: str = ""
    foot: str = ""
    author: str = ""
    qr_text: str | None = None
    """Drawn as a QR code in the upper right corner of the first page."""


def write_pdf(frame: PageFrame, flowables: Sequence[Any], *, is_repeatable: bool = True) -> bytes:
    """Lay ReportLab's flowables out on A4 pages inside the frame.

    A repeatable file has no times or random ids in it: the same input gives the same bytes.
    """
    need("reportlab", extra="pdf")
    units, platypus = need("reportlab.lib.units", extra="pdf"), need("reportlab.platypus", extra="pdf")
    sizes = need("reportlab.lib.pagesizes", extra="pdf")
    buffer = io.BytesIO()
    document = platypus.SimpleDocTemplate(
        buffer,
        pagesize=sizes.A4,
        leftMargin=20 * units.mm,
        rightMargin=20 * units.mm,
        topMargin=24 * units.mm,
        bottomMargin=20 * units.mm,
        title=frame.title,
        author=frame.author,
        invariant=1 if is_repeatable else 0,
    )
    document.build(list(flowables), canvasmaker=_counting_canvas(frame))
    return buffer.getvalue()


def qr_code(text: str, *, scale: int = 8) -> bytes:
    """A QR code as PNG."""
    buffer = io.BytesIO()
    need("segno", extra="pdf").make(text, error="m").save(buffer, kind="png", scale=scale, border=4)
    return buffer.getvalue()


def merge(files: Sequence[bytes]) -> bytes:
    """One PDF with the pages of all."""
    pypdf = need("pypdf", extra="pdf")
    writer = pypdf.PdfWriter()
    for content in files:
        writer.append(io.BytesIO(content))
    return _bytes(writer)


def attach(content: bytes, files: Mapping[str, bytes]) -> bytes:
    """The PDF with files attached by name."""
    pypdf = need("pypdf", extra="pdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content))
    for name, data in files.items():
        writer.add_attachment(name, data)
    return _bytes(writer)


def _bytes(writer: Any) -> bytes:
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def _counting_canvas(frame: PageFrame) -> Callable[..., Any]:
    """A canvas that keeps its pages until the last, because only then it knows their number."""
    canvas_class: Any = need("reportlab.pdfgen.canvas", extra="pdf").Canvas

    class CountingCanvas(canvas_class):  # type: ignore[misc]  # the base comes from an optional library
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._kept: list[dict[str, Any]] = []

        def showPage(self) -> None:
            self._kept.append(dict(self.__dict__))
            self._startPage()

        def save(self) -> None:
            kept = self._kept
            for number, state in enumerate(kept, start=1):
                self.__dict__.update(state)
                _draw_frame(self, frame, number, len(kept))
                super().showPage()
            super().save()

    return CountingCanvas


def _draw_frame(canvas: Any, frame: PageFrame, number: int, count: int) -> None:
    width, height = canvas._pagesize
    margin = 57
    canvas.saveState()
    canvas.setFont("Helvetica", 8)
    canvas.drawString(margin, height - 40, frame.head or frame.title)
    canvas.line(margin, height - 46, width - margin, height - 46)
    canvas.drawString(margin, 34, frame.foot)
    canvas.drawRightString(width - margin, 34, f"Page {number} of {count}")
    if frame.qr_text is not None and number == 1:
        reader = need("reportlab.lib.utils", extra="pdf").ImageReader(io.BytesIO(qr_code(frame.qr_text)))
        canvas.drawImage(reader, width - margin - 62, height - 118, 62, 62)
    canvas.restoreState()
