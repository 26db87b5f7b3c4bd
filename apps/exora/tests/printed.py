"""Sets a hand-written letter, prints it, scans it and reads the scan, as a practice's scanner would."""

import io
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from exora_words import document_from
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from backstay_exora.domain.clinical import Accepted, accept
from backstay_exora.domain.identity import Agreement, MarkerKind, Patient, compare, find_markers
from backstay_exora.domain.text import DocumentText
from backstay_exora.handlers.parts import divided, proposals
from backstay_parts.ocr import read_scan
from backstay_parts.pdf import open_pdf
from backstay_parts.scans import Damage, damaged
from exora_reader.facts import read_facts

MARGIN = 60.0
BOLD = {"Times-Roman": "Times-Bold", "Helvetica": "Helvetica-Bold", "Courier": "Courier-Bold"}
TRUTH = {
    MarkerKind.NAME: "name",
    MarkerKind.DATE_OF_BIRTH: "born",
    MarkerKind.GENDER: "gender",
    MarkerKind.ADDRESS: "address",
    MarkerKind.RECORD_NUMBER: "record_number",
    MarkerKind.IHI: "ihi",
}


def _letters(name: str) -> list[dict[str, Any]]:
    letters: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "letters" / name).read_text())[
        "letter"
    ]
    return letters


LETTERS, FURTHER = _letters("scanned.toml"), _letters("further.toml")
HELD_OUT = _letters("held_out.toml")


@dataclass(frozen=True)
class Reading:
    """What was read of a scanned letter, beside what stands in it."""

    letter: dict[str, Any]
    document: DocumentText
    accepted: Accepted

    @property
    def identifiers(self) -> dict[str, Agreement]:
        """For each identifier that the letter names, how its reading agrees with it."""
        found = compare(patient_of(self.letter), find_markers(self.document, latest_year=2026))
        return {TRUTH[item.kind]: item.agreement for item in found if TRUTH.get(item.kind, "") in self.letter}

    @property
    def medications(self) -> set[tuple[str, str]]:
        """Name and dose of what was stored as a medication."""
        stored = [fact for fact in self.accepted.stored if fact.kind == "medication"]
        return {(fact.name.lower(), fact.dose) for fact in stored if fact.dose}

    def names(self, kind: str) -> set[str]:
        """The names of what was stored as this kind of fact."""
        return {fact.name.lower() for fact in self.accepted.stored if fact.kind == kind}


def read(letter: dict[str, Any]) -> Reading:
    """Print, scan and read a letter, and accept what a model proposes of it."""
    page, _ = read_scan(scan(letter))
    return _reading(letter, document_from([page]))


def read_unscanned(letter: dict[str, Any]) -> Reading:
    """Read the text of the printed page itself."""
    with open_pdf(printed(letter)) as pdf:
        return _reading(letter, document_from(list(pdf.pages())))


def _reading(letter: dict[str, Any], document: DocumentText) -> Reading:
    return Reading(letter, document, accept(proposals([read_facts(divided(document, 1)[0])]), document))


def scan(letter: dict[str, Any]) -> Any:
    """The letter as a picture, with the damage it asks for."""
    with open_pdf(printed(letter)) as pdf:
        return damaged(pdf.render(1, dpi=200), Damage(**letter.get("damage", {})), seed=len(letter["text"]))


def printed(letter: dict[str, Any]) -> bytes:
    """The letter as a PDF page in its own font and with its own tab stops."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1)
    font, size = letter["font"], letter["size"]
    height = A4[1] - MARGIN
    for line in letter["text"].strip("\n").split("\n"):
        if line == "---":
            canvas.line(MARGIN, height + size * 0.4, A4[0] - MARGIN, height + size * 0.4)
        else:
            _set(canvas, line, height, font=font, size=size, tabs=[0, *letter.get("tabs", [])])
        height -= size * 1.4
    canvas.save()
    return buffer.getvalue()


def _set(canvas: Canvas, line: str, height: float, *, font: str, size: float, tabs: list[float]) -> None:
    for cell, tab in zip(line.split(" | "), [*tabs, *[tabs[-1]] * 9], strict=False):
        is_bold = cell.startswith("# ")
        canvas.setFont(BOLD[font] if is_bold else font, size)
        canvas.drawString(MARGIN + tab, height, cell.removeprefix("# "))


def patient_of(letter: dict[str, Any]) -> Patient:
    """The patient as the practice would have them on record."""
    given, _, family = letter["name"].partition("|")
    return Patient(
        "1",
        given,
        family,
        date.fromisoformat(letter["born"]),
        letter.get("gender"),
        letter.get("address"),
        letter.get("record_number"),
        letter.get("ihi"),
    )
