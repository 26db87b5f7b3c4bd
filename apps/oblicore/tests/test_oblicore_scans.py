"""Scanned documents: tables with their cells, pages askew, scans too poor to trust."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

import pypdf
import pytest
from PIL import Image
from test_oblicore_extraction import Score, read_fully

from backstay_oblicore.demo.permit_maker import MadeDocument, as_scan, make_consent, make_permit
from backstay_oblicore.domain.permits.pages import page_from_text
from backstay_oblicore.readers import ruled_scans
from backstay_oblicore.readers.documents import scan_page
from backstay_parts.pdf import open_pdf
from backstay_parts.scans import Damage, damaged
from backstay_parts.words import Box, Word

ISSUED = date(2026, 1, 5)


def last_page(content: bytes) -> bytes:
    """Cut the page with the table of limits out of a permit."""
    writer = pypdf.PdfWriter()
    writer.add_page(pypdf.PdfReader(io.BytesIO(content)).pages[-1])
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def pictures(content: bytes, damage: Damage, *, dpi: int = 200) -> list[Image.Image]:
    with open_pdf(content) as pdf:
        return [
            damaged(pdf.render(page, dpi=dpi), damage, seed=page).convert("L")
            for page in range(1, pdf.page_count + 1)
        ]


def bound(pages: list[Image.Image], *, dpi: int = 200) -> bytes:
    buffer = io.BytesIO()
    pages[0].save(buffer, "PDF", save_all=True, append_images=pages[1:], resolution=dpi)
    return buffer.getvalue()


def test_a_scanned_table_keeps_its_rows_and_columns() -> None:
    """OBL-027"""
    made = make_permit(1001, issued=ISSUED)

    page = scan_page(as_scan(last_page(made.content), seed=3), 1)

    [table] = page.tables
    limits = [one for one in made.conditions if one.reference.startswith("Table S3.1")]
    assert table.caption.startswith("Table S3.1")
    assert table.rows[0] == ("Emission point", "Parameter", "Limit", "Monitoring frequency")
    assert [f"Table S3.1 {row[0]} {row[1]}" for row in table.rows[1:]] == [one.reference for one in limits]
    assert [row[3].upper() for row in table.rows[1:]] == [one.frequency for one in limits]
    assert "Oxides" not in page.text


@pytest.mark.parametrize("skew", [-1.2, -0.3, 0.0, 0.9])
def test_a_page_askew_is_levelled_and_its_rulings_are_found(skew: float) -> None:
    """OBL-027"""
    made = make_permit(1001, issued=ISSUED)
    [picture] = pictures(last_page(made.content), Damage(skew_degrees=skew, noise=8, jpeg_quality=75))

    bands = ruled_scans.find_bands(ruled_scans.straighten(picture))

    assert [len(band.columns) for band in bands] == [5] * 5


def test_text_without_rulings_has_no_table() -> None:
    """OBL-027"""
    [picture] = pictures(make_consent(1005, issued=ISSUED).content, Damage(noise=8, skew_degrees=0.4))

    assert ruled_scans.find_bands(ruled_scans.straighten(picture)) == []


async def test_a_scan_too_poor_becomes_a_question_and_is_never_complete(world: Any) -> None:
    """OBL-027"""
    made = make_consent(1005, issued=ISSUED)
    poor = bound(pictures(made.content, Damage(noise=55, blur=1.2, scale=0.5)), dpi=100)
    document = await world.document(issue_date=ISSUED)
    path = f"documents/{world.company}/{world.site}/{document}/original.pdf"
    await world.services.storage.put(path, poor, content_type="application/pdf")

    await world.run("DOCUMENT_PROCESSING", document_id=document, requested_by=world.staff)

    [paper] = await world.rows("SELECT extraction_status, ocr_confidence FROM oblicore.documents")
    asked = await world.rows("SELECT review_type, is_blocking FROM oblicore.review_queue_items")
    assert paper["ocr_confidence"] < 0.8
    assert paper["extraction_status"] in ("REVIEW_REQUIRED", "ZERO_OBLIGATIONS")
    assert ("OCR_QUALITY", True) in {(row["review_type"], row["is_blocking"]) for row in asked}


def read_scanned(made: MadeDocument, *, seed: int) -> tuple[int, Any]:
    scan = as_scan(made.content, seed=seed)
    with open_pdf(scan) as pdf:
        count = pdf.page_count
    pages = [scan_page(scan, number) for number in range(1, count + 1)]
    return count, read_fully([page_from_text(one.number, one.text, one.tables) for one in pages])


@pytest.mark.prove
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1001, 1002, 1003])
def test_scans_of_twelve_pages_are_read_nearly_without_fault(seed: int) -> None:
    """OBL-027"""
    made = make_permit(seed, issued=ISSUED, fewest=36, spread=170)
    score = Score()

    count, reading = read_scanned(made, seed=seed)
    faults = score.add(reading, [(one.reference, one.frequency, one.rule) for one in made.conditions])

    assert count >= 12
    assert score.found / score.expected >= 0.95, faults
    assert score.found / score.given >= 0.95, faults
    assert score.timed / score.expected >= 0.95, faults


def test_words_in_a_frame_of_one_row_stay_in_the_running_text() -> None:
    frame = ruled_scans.Band(100, 160, (50, 400, 800))
    words = [
        Word(text, Box(60 + 90 * n, 120, 140 + 90 * n, 140), 0.9, 1) for n, text in enumerate(("1.1", "The"))
    ]

    tables, outside = ruled_scans.sort_into_tables(words, [frame], page=1)

    assert tables == []
    assert [word.text for word in outside] == ["1.1", "The"]
