"""A printable sheet of labels: for each battery its code, which opens its page, and its numbers in plain."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from backstay_passport.domain.qr import qr_png

COLUMNS = 3
ROWS = 7
LABEL_WIDTH = 62 * mm
LABEL_HEIGHT = 38 * mm
CODE_SIZE = 28 * mm


@dataclass(frozen=True)
class Label:
    """What stands on one label."""

    url: str
    model: str
    gtin: str
    serial: str


def label_sheet(labels: Sequence[Label]) -> bytes:
    """Return A4 pages of labels as PDF; the same labels give the same bytes."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=A4, invariant=1)
    canvas.setTitle("Battery labels")
    for number, label in enumerate(labels):
        place = number % (COLUMNS * ROWS)
        if number and place == 0:
            canvas.showPage()
        _draw(canvas, label, place % COLUMNS, place // COLUMNS)
    canvas.save()
    return target.getvalue()


def _draw(canvas: Canvas, label: Label, column: int, row: int) -> None:
    left = 12 * mm + column * LABEL_WIDTH
    top = A4[1] - 14 * mm - row * LABEL_HEIGHT
    picture = ImageReader(io.BytesIO(qr_png(label.url, scale=8)))
    canvas.drawImage(picture, left, top - CODE_SIZE, CODE_SIZE, CODE_SIZE)
    text = canvas.beginText(left + CODE_SIZE + 1 * mm, top - 6 * mm)
    for size, line in (
        (9, label.model),
        (7, f"GTIN {label.gtin}"),
        (7, f"SN {label.serial}"),
        (6, "Battery passport"),
    ):
        text.setFont("Helvetica", size, leading=size + 3)
        text.textLine(line[:34])
    canvas.drawText(text)
