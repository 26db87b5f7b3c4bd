"""Permits whose truth names the words of each duty and its first date, so that more than numbers is compared."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle
from test_oblicore_extraction import read_fully

from backstay_oblicore.domain.due_dates import Due, Situation, next_due
from backstay_oblicore.domain.permits.conditions import Condition, Reading, read_pages
from backstay_oblicore.domain.permits.rules import BUILT_IN, for_module
from backstay_oblicore.readers.documents import native_pages

PERMITS = sorted((Path(__file__).parent / "permits_held_out").glob("*.txt"))
ISSUED = date(2026, 1, 5)


@dataclass(frozen=True)
class Truth:
    """A duty of a permit: where it stands, how often it is due, words that are its own, its first date."""

    reference: str
    frequency: str
    rule: str
    words: str
    first_due: str


@dataclass
class Score:
    expected: int = 0
    given: int = 0
    found: int = 0
    numbered: int = 0
    timed: int = 0
    dated: int = 0


def truth_of(permit: Path) -> list[Truth]:
    lines = permit.with_suffix(".truth").read_text().splitlines()
    return [Truth(*(part.strip() for part in line.split(" | "))) for line in lines]


def printed_with_tables(permit: Path) -> bytes:
    """Set the text as paragraphs, and lines between bars as a ruled table."""
    body = getSampleStyleSheet()["BodyText"]
    ruled = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    story: list[Any] = []
    lines = [line for line in permit.read_text().splitlines() if line.strip()]
    for in_table, group in groupby(lines, key=lambda line: line.startswith("|")):
        if not in_table:
            story += [Paragraph(escape(line), body) for line in group]
            continue
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in group]
        cells = [[Paragraph(escape(cell), body) for cell in row] for row in rows]
        story.append(Table(cells, colWidths=[440 / len(rows[0])] * len(rows[0]), style=ruled))
    buffer = io.BytesIO()
    SimpleDocTemplate(buffer, pagesize=A4).build(story)
    return buffer.getvalue()


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).lower()


def first_due(condition: Condition) -> str:
    due = next_due(condition.due_rule, Situation(base=ISSUED, anchors={"issue of the permit": ISSUED}))
    return due.day.isoformat() if isinstance(due, Due) else "-"


def compare(score: Score, reading: Reading, truth: list[Truth]) -> Iterator[str]:
    """Count what agrees, and yield what does not, one line a fault."""
    left = list(reading.conditions)
    score.given += len(left)
    score.expected += len(truth)
    for duty in truth:
        found = next((one for one in left if duty.words.lower() in squeezed(one.text)), None)
        if found is None:
            filed = [one.filed for one in reading.sentences if duty.words.lower() in squeezed(one.text)]
            yield f"missing {duty.reference} ({duty.words}): {filed}"
            continue
        left.remove(found)
        says = str(found.due_rule)
        score.found += 1
        score.numbered += found.reference == duty.reference
        timed = found.frequency == duty.frequency and (duty.rule == "on event" or says.startswith(duty.rule))
        score.timed += timed
        score.dated += first_due(found) == duty.first_due
        if found.reference != duty.reference:
            yield f"number {found.reference!r}, not {duty.reference!r}"
        if not timed or first_due(found) != duty.first_due:
            yield f"{duty.reference}: {found.frequency} {says} {first_due(found)}, not {duty}"
    yield from (f"invented {one.reference}: {one.text}" for one in left)


def test_permits_with_other_tables_are_read() -> None:
    """OBL-028 OBL-030"""
    score, faults = Score(), []
    for permit in PERMITS:
        reading = read_fully(native_pages(printed_with_tables(permit)))
        faults += [f"{permit.stem} {fault}" for fault in compare(score, reading, truth_of(permit))]

    shown = "\n".join([str(score), *faults])
    assert len(PERMITS) == 3
    assert score.found / score.expected >= 0.95, shown
    assert score.found / score.given >= 0.95, shown
    assert score.numbered / score.expected >= 0.95, shown
    assert score.timed / score.expected >= 0.90, shown
    assert score.dated / score.expected >= 0.90, shown


@pytest.mark.parametrize("permit", PERMITS, ids=[permit.stem for permit in PERMITS])
def test_every_duty_is_accounted_for_even_before_anybody_is_asked(permit: Path) -> None:
    """OBL-028"""
    reading = read_pages(native_pages(printed_with_tables(permit)), for_module(BUILT_IN, "MODULE_1"))
    filed = [(squeezed(one.text), one.filed) for one in reading.sentences]

    for duty in truth_of(permit):
        places = {how for text, how in filed if duty.words.lower() in text}
        assert places & {"obligation", "open"}, duty
