"""Scans are read upright with boxes; PDFs give the same words; written PDFs read back."""

import io

import pypdf
import pytest
import zxingcpp
from PIL import Image
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph

from backstay_parts.ocr import read_scan
from backstay_parts.pdf import BadPdf, PageFrame, attach, merge, open_pdf, qr_code, write_pdf
from backstay_parts.scans import Damage, damaged
from backstay_parts.words import Box, TextPage, around

LETTER = """Harbour Street Medical Centre
12 March 2024
Dear Dr Patel,
Thank you for seeing this patient, who was admitted to the hospital
with pneumonia. The dose of metformin is 500 mg twice a day.
There is no allergy to penicillin.
Yours sincerely"""


def _letter_pdf(text: str = LETTER) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    canvas.setFont("Times-Roman", 12)
    for row, line in enumerate(text.splitlines()):
        canvas.drawString(72, 770 - 22 * row, line)
    canvas.save()
    return buffer.getvalue()


def _picture(dpi: int = 200) -> Image.Image:
    with open_pdf(_letter_pdf()) as pdf:
        return pdf.render(1, dpi=dpi)


def _box_of(page: TextPage, text: str) -> Box:
    return around(word.box for word in page.words if word.text.strip(".,") in text.split())


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_scan_is_read_however_it_lay_on_the_glass(turn: int) -> None:
    scan = damaged(_picture(), Damage(turn=turn, skew_degrees=0.8, noise=12, jpeg_quality=70), seed=3)

    page, upright = read_scan(scan)

    assert page.turn == (360 - turn) % 360
    assert (upright.width, upright.height) == (page.width, page.height)
    assert "metformin is 500 mg twice a day" in page.text
    assert page.mean_confidence > 0.8


def test_a_scan_and_its_pdf_agree_on_where_a_word_stands() -> None:
    with open_pdf(_letter_pdf()) as pdf:
        truth = pdf.page(1)

    page, _ = read_scan(_picture())

    read, known = _box_of(page, "metformin"), _box_of(truth, "metformin").scaled(200 / 72)
    assert read.overlap(known) > 0.5


def test_an_empty_page_has_no_words() -> None:
    page, _ = read_scan(Image.new("RGB", (800, 1100), "white"))

    assert page.words == ()
    assert page.mean_confidence == 0.0


def test_text_of_a_pdf_keeps_its_lines() -> None:
    with open_pdf(_letter_pdf()) as pdf:
        assert pdf.page_count == 1
        assert pdf.text().splitlines() == LETTER.splitlines()


def test_a_broken_or_locked_pdf_is_refused_with_advice() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_letter_pdf()))
    writer.encrypt("secret")
    locked = io.BytesIO()
    writer.write(locked)

    with pytest.raises(BadPdf, match="damaged"):
        open_pdf(b"%PDF-1.4 nothing else")
    with pytest.raises(BadPdf, match="password"):
        open_pdf(locked.getvalue())


def test_the_frame_numbers_its_pages_and_carries_a_code() -> None:
    style = getSampleStyleSheet()["Normal"]
    frame = PageFrame(title="Annual pack", foot="Site 7", qr_text="https://example.org/p/7")
    story = [Paragraph("One", style), PageBreak(), Paragraph("Two", style)]

    content = write_pdf(frame, story)

    with open_pdf(content) as pdf:
        assert [page.text.splitlines()[-1] for page in pdf.pages()] == [
            "Site 7 Page 1 of 2",
            "Site 7 Page 2 of 2",
        ]
        assert [code.text for code in zxingcpp.read_barcodes(pdf.render(1))] == ["https://example.org/p/7"]


def test_the_same_input_gives_the_same_bytes() -> None:
    style = getSampleStyleSheet()["Normal"]

    first, second = (write_pdf(PageFrame(title="x"), [Paragraph("One", style)]) for _ in range(2))

    assert first == second


def test_merged_and_attached_files_read_back() -> None:
    whole = attach(merge([_letter_pdf(), _letter_pdf("Appendix")]), {"list.csv": b"a,b"})

    reader = pypdf.PdfReader(io.BytesIO(whole))
    assert len(reader.pages) == 2
    assert reader.attachments["list.csv"] == [b"a,b"]


def test_a_code_reads_back_after_scaling_and_turning() -> None:
    picture = Image.open(io.BytesIO(qr_code("BAT-000017"))).convert("L")

    turned = picture.resize((picture.width // 2, picture.height // 2)).rotate(90)

    assert [code.text for code in zxingcpp.read_barcodes(turned)] == ["BAT-000017"]
