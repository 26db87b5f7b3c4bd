"""Six permits that were written by hand in the regulators' own style, before the extractor was tuned on them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Paragraph, SimpleDocTemplate
from test_oblicore_extraction import Score, read_fully

from backstay_oblicore.demo.permit_maker import as_scan
from backstay_oblicore.domain.permits.conditions import Reading
from backstay_oblicore.domain.permits.pages import page_from_text
from backstay_oblicore.readers.documents import native_pages, outline, scan_page

PERMITS = sorted((Path(__file__).parent / "permits_independent").glob("*.txt"))
SCANNED = ("dairy_installation", "landfill", "trade_effluent_consent")
PAGES = 12


def truth_of(permit: Path) -> list[tuple[str, str, str]]:
    lines = permit.with_suffix(".truth").read_text().splitlines()
    rows = [[part.strip() for part in line.split("|")] for line in lines]
    return [(reference, frequency, rule) for reference, frequency, rule in rows]


def page_count(content: bytes) -> int:
    return outline(content).page_count


def printed(permit: Path, *, size: float = 10, gap: int = 1) -> bytes:
    """Set the text in a plain style with a running head, as a regulator's word processor would."""
    style = ParagraphStyle(
        "permit",
        fontName="Times-Roman",
        fontSize=size,
        leading=size * (1 + 0.3 * gap),
        spaceAfter=size * gap / 2,
    )
    story = [Paragraph(escape(line), style) for line in permit.read_text().splitlines() if line.strip()]
    buffer = io.BytesIO()

    def decorate(canvas: Any, document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(60, 810, "Permit as issued, uncontrolled when printed")
        canvas.drawRightString(530, 30, f"Page {document.page}")

    SimpleDocTemplate(buffer, pagesize=A4).build(story, onFirstPage=decorate, onLaterPages=decorate)
    return buffer.getvalue()


def check(score: Score, faults: list[str]) -> None:
    assert score.found / score.expected >= 0.95, faults
    assert score.found / score.given >= 0.95, faults
    assert score.timed / score.expected >= 0.95, faults


def no_duty_is_a_definition(reading: Reading, permit: Path) -> list[str]:
    filed = [one.reference for one in reading.sentences if one.filed == "definition" and one.reference]
    bound = {reference for reference, _, _ in truth_of(permit)}
    return [reference for reference in filed if reference in bound]


def test_permits_in_other_words_are_read() -> None:
    """OBL-028 OBL-030"""
    score, faults = Score(), []
    for permit in PERMITS:
        reading = read_fully(native_pages(printed(permit)))
        faults += [f"{permit.stem} {fault}" for fault in score.add(reading, truth_of(permit))]
        assert not reading.open_sentences
        assert not no_duty_is_a_definition(reading, permit)

    assert len(PERMITS) == 6
    check(score, faults)


@pytest.mark.prove
@pytest.mark.parametrize("name", SCANNED)
def test_scans_of_permits_in_other_words_are_read(name: str) -> None:
    """OBL-027"""
    [permit] = [one for one in PERMITS if one.stem == name]
    # Wide lines, as draughts have them, spread the text over as many pages as a scan of the acceptance has.
    content = next(
        made for gap in range(1, 40) if page_count(made := printed(permit, size=12, gap=gap)) >= PAGES
    )
    scan = as_scan(content, seed=len(name))
    pages = [scan_page(scan, number) for number in range(1, page_count(scan) + 1)]

    score = Score()
    faults = score.add(
        read_fully([page_from_text(page.number, page.text) for page in pages]), truth_of(permit)
    )

    assert outline(scan).scanned
    check(score, faults)
