"""Making permits and consents as PDFs, with what a reader should find in them beside."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from datetime import date
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, Spacer, Table, TableStyle

from backstay_oblicore.demo.permit_wording import (
    CONSENT,
    DEFINITIONS,
    IMPROVEMENTS,
    LIMITS,
    NEUTRAL,
    PERMIT,
    Wording,
)
from backstay_parts.pdf import PageFrame, write_pdf

SITES = (
    "Brindle Factory",
    "Hollow Lane Works",
    "Marsh Gate Depot",
    "Ashby Data Hall",
    "Quarry Road Transfer Station",
)
OPERATORS = (
    "Brindle Foods Limited",
    "Hartwell Packaging Ltd",
    "Selby & Crane plc",
    "Northmoor Energy Limited",
)


@dataclass(frozen=True)
class Truth:
    """One condition as it was put into the document."""

    reference: str
    text: str
    frequency: str
    rule: str


@dataclass(frozen=True)
class MadeDocument:
    """A document and everything that is true of it."""

    title: str
    number: str
    issued: date
    content: bytes
    conditions: tuple[Truth, ...]
    page_texts: tuple[str, ...] = ()


def make_permit(seed: int, *, issued: date, fewest: int = 24, spread: float = 5) -> MadeDocument:
    """Make an environmental permit: introductory note, decimal conditions, tables, definitions.

    `spread` is the space behind each paragraph in points: more of it makes more pages of the same words.
    """
    chance = random.Random(seed)  # noqa: S311 - documents for show and for tests, nothing secret
    number = f"EPR/{_letters(chance, 2)}{chance.randrange(1000, 9999)}{_letters(chance, 2)}"
    site, operator = chance.choice(SITES), chance.choice(OPERATORS)
    writer = _Writer(chance, spread)
    writer.title(f"Permit with introductory note: {number}")
    writer.paragraph(f"{operator}, {site}. Issued {issued:%-d %B %Y}.")
    writer.heading("Introductory note")
    writer.paragraph("This introductory note does not form a part of the permit. " + chance.choice(NEUTRAL))
    writer.paragraph(chance.choice(NEUTRAL) + " The operator will be charged a subsistence fee.")
    writer.heading("Conditions")
    chosen = _drawn(PERMIT, chance, fewest)
    writer.numbered(chosen)
    writer.improvements(chance, issued)
    writer.limits(chance)
    writer.heading("Schedule 6 - Interpretation")
    for sentence in chance.sample(DEFINITIONS, k=3):
        writer.paragraph(sentence)
    content = write_pdf(
        PageFrame(f"Permit {number}", head=f"Permit number {number}", foot=operator), writer.story
    )
    return MadeDocument(f"{site} permit", number, issued, content, tuple(writer.truth))


def make_consent(seed: int, *, issued: date) -> MadeDocument:
    """Make a trade effluent consent: numbered clauses in one run."""
    chance = random.Random(seed)  # noqa: S311 - documents for show and for tests, nothing secret
    number = f"TE/{chance.randrange(10000, 99999)}"
    trader = chance.choice(OPERATORS)
    writer = _Writer(chance)
    writer.title("Consent to discharge trade effluent to the public sewer")
    writer.paragraph(f"Consent {number} granted to {trader} (the trader) on {issued:%-d %B %Y}.")
    writer.paragraph(chance.choice(NEUTRAL))
    writer.clauses(_drawn(CONSENT, chance, len(CONSENT)))
    content = write_pdf(PageFrame(f"Consent {number}", head=f"Consent {number}", foot=trader), writer.story)
    return MadeDocument(f"{trader} consent", number, issued, content, tuple(writer.truth))


def as_scan(content: bytes, *, seed: int, dpi: int = 200) -> bytes:
    """Turn a PDF into pictures of its pages, damaged as scans are, and bind them into a PDF again."""
    from backstay_parts.pdf import open_pdf
    from backstay_parts.scans import Damage, damaged

    pictures: list[Any] = []
    with open_pdf(content) as pdf:
        for page in range(1, pdf.page_count + 1):
            picture = pdf.render(page, dpi=dpi)
            harm = Damage(noise=8, skew_degrees=0.4, jpeg_quality=75)
            pictures.append(damaged(picture, harm, seed=seed + page).convert("L"))
    buffer = io.BytesIO()
    pictures[0].save(buffer, "PDF", save_all=True, append_images=pictures[1:], resolution=dpi)
    return buffer.getvalue()


class _Writer:
    def __init__(self, chance: random.Random, spread: float = 5) -> None:
        self._chance = chance
        styles = getSampleStyleSheet()
        size = chance.choice((9.5, 10, 11))
        self._body = ParagraphStyle(
            "body", parent=styles["BodyText"], fontSize=size, leading=size * 1.3, spaceAfter=spread
        )
        self._heading = ParagraphStyle("heading", parent=styles["Heading2"], fontSize=size + 2)
        self._title = styles["Title"]
        self.story: list[Any] = []
        self.truth: list[Truth] = []

    def title(self, text: str) -> None:
        self.story += [Paragraph(escape(text), self._title), Spacer(1, 12)]

    def heading(self, text: str) -> None:
        self.story.append(Paragraph(escape(text), self._heading))

    def paragraph(self, text: str) -> None:
        self.story.append(Paragraph(escape(text), self._body))

    def numbered(self, chosen: list[Wording]) -> None:
        """Number by section: 2.3 as a heading, 2.3.1 as a condition."""
        section, chapter, part, item = "", 1, 0, 0
        for wording in chosen:
            if wording.section != section:
                section, part, item = wording.section, part + 1, 0
                if part > 4:
                    chapter, part = chapter + 1, 1
                self.heading(f"{chapter}.{part} {section}")
            item += 1
            reference = f"{chapter}.{part}.{item}"
            self._condition(reference, f"{reference} ", wording)

    def clauses(self, chosen: list[Wording]) -> None:
        for index, wording in enumerate(chosen, start=1):
            self._condition(str(index), f"{index}. ", wording)

    def _condition(self, reference: str, prefix: str, wording: Wording) -> None:
        text = self._chance.choice(wording.forms)
        self.paragraph(prefix + text)
        self.truth.append(Truth(reference, text, wording.frequency, wording.rule))

    def improvements(self, chance: random.Random, issued: date) -> None:
        years = {"year": issued.year + 1, "next": issued.year + 2}
        rows = chance.sample(IMPROVEMENTS, k=3)
        self.heading("Schedule 1 - Improvement programme")
        cells = [["Reference", "Requirement", "Date"]]
        for index, (text, when, rule) in enumerate(rows, start=1):
            cells.append([f"IC{index}", text, when.format(**years)])
            self.truth.append(Truth(f"IC{index}", text, "ONE_TIME", rule.format(**years)))
        self._table("Table S1.3 Improvement programme requirements", cells, widths=(60, 300, 110))

    def limits(self, chance: random.Random) -> None:
        self.story.append(PageBreak())
        self.heading("Schedule 3 - Emissions and monitoring")
        cells = [["Emission point", "Parameter", "Limit", "Monitoring frequency"]]
        rules = {
            "Annual": "every 1 year",
            "Quarterly": "every 3 months",
            "Monthly": "every 1 month",
            "Weekly": "every 1 week",
        }
        for point, parameter, limit, frequency in chance.sample(LIMITS, k=4):
            cells.append([point, parameter, limit, frequency])
            self.truth.append(
                Truth(
                    f"Table S3.1 {point} {parameter}",
                    f"{parameter} {limit}",
                    frequency.upper(),
                    rules[frequency],
                )
            )
        self._table(
            "Table S3.1 Point source emissions: limits and monitoring", cells, widths=(80, 150, 100, 140)
        )

    def _table(self, caption: str, cells: list[list[str]], *, widths: tuple[int, ...]) -> None:
        self.paragraph(caption)
        rows = [[Paragraph(escape(cell), self._body) for cell in row] for row in cells]
        table = Table(rows, colWidths=list(widths), repeatRows=1)
        table.setStyle(
            TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")])
        )
        self.story += [table, Spacer(1, 12)]


def _drawn(wordings: tuple[Wording, ...], chance: random.Random, fewest: int) -> list[Wording]:
    count = min(len(wordings), max(fewest, chance.randrange(fewest, len(wordings) + 1)))
    kept = sorted(chance.sample(range(len(wordings)), k=count))
    return [wordings[index] for index in kept]


def _letters(chance: random.Random, count: int) -> str:
    return "".join(chance.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))
