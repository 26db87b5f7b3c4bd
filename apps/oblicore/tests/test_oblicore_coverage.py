"""The proof that nothing of a permit is passed over: cells of tables, lines above them, duties beside definitions."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle
from test_oblicore_extraction import RULES, read_fully

from backstay_oblicore.domain.permits.conditions import Reading, read_pages
from backstay_oblicore.domain.permits.meaning import definition_rule
from backstay_oblicore.domain.permits.pages import Page, page_from_text
from backstay_oblicore.domain.permits.pages import Table as ReadTable
from backstay_oblicore.readers.documents import native_pages


def reading_of(*rows: tuple[str, ...], caption: str = "Table S1.4 Site rules") -> Reading:
    return read_pages([Page(1, (), (ReadTable(1, caption, rows),))], RULES)


def accounted(reading: Reading) -> dict[str, str]:
    return {one.text: one.filed for one in reading.sentences}


@pytest.mark.parametrize(
    ("rows", "duty"),
    [
        (
            (("Condition", "What you must do"), ("Storage", "Keep drums under cover.")),
            "Storage: Keep drums under cover.",
        ),
        (
            (("Waste type", "Restrictions"), ("Batteries", "Under cover only, 5 tonnes at most.")),
            "Batteries: Under cover only, 5 tonnes at most.",
        ),
        (
            (("Area", "Remarks"), ("Filling point", "The driver shall not leave the vehicle.")),
            "Filling point: The driver shall not leave the vehicle.",
        ),
        (
            (("Area", "Remarks"), ("Leaks", "must be repaired within 24 hours")),
            "Leaks must be repaired within 24 hours.",
        ),
        (
            (("Emission point", "Parameter", "Limit"), ("W1", "Oil", "None visible at the surface")),
            "Oil: None visible at the surface.",
        ),
        (
            (("No.", "Duty", "Interval"), ("5.1", "Calibrate the detector", "monthly")),
            "Calibrate the detector, monthly.",
        ),
    ],
)
def test_a_row_that_binds_is_accounted_for_whatever_its_headings_are(
    rows: Sequence[tuple[str, ...]], duty: str
) -> None:
    reading = read_fully([Page(1, (), (ReadTable(1, "Table S1.4 Site rules", tuple(rows)),))])

    assert accounted(reading) == {duty: "obligation"}


def test_a_duty_in_a_column_of_notes_is_kept_beside_the_limit() -> None:
    reading = reading_of(
        ("Emission point", "Parameter", "Limit", "Frequency", "Notes"),
        ("W1", "Ammonia", "20 mg/l", "Weekly", "Samples shall be taken before nine o'clock."),
    )

    assert accounted(reading) == {
        "Ammonia at W1 shall not exceed 20 mg/l, monitored Weekly.": "obligation",
        "Samples shall be taken before nine o'clock.": "obligation",
    }


def test_a_short_requirement_stays_open_for_a_person() -> None:
    reading = reading_of(("Ref", "Requirement"), ("A", "Hoods on"))

    assert list(accounted(reading).values()) == ["open"]


def test_rows_that_bind_nobody_are_no_duties() -> None:
    reading = reading_of(
        ("Parameter", "Limit", "Frequency"), ("Oil", "No limit set", "-"), caption="Table S3.1 Emissions"
    )
    described = reading_of(("Application", "Date"), ("Duly made", "3 June 2025"), caption="Status log")

    assert accounted(reading) == accounted(described) == {}


def test_headings_at_the_foot_of_a_page_belong_to_the_rows_on_the_next() -> None:
    first = Page(1, (), (ReadTable(1, "5.3 Protocols", (("Matter", "The holder must"),)),))
    second = Page(2, (), (ReadTable(2, "", (("Lighting", "Show the lights of the rules."),)),))

    [condition] = read_pages([first, second], RULES).conditions

    assert (condition.reference, condition.page) == ("5.3 Lighting", 2)


def test_a_condition_close_above_a_table_is_read() -> None:
    body = getSampleStyleSheet()["BodyText"].clone("close", spaceBefore=0, spaceAfter=0, leading=10)
    rows = [[Paragraph(cell, body) for cell in row] for row in (("Area", "Use"), ("Yard", "Parking"))]
    ruled = Table(rows, colWidths=[200, 200], style=TableStyle([("GRID", (0, 0), (-1, -1), 1, colors.black)]))
    buffer = io.BytesIO()
    words = "1.1 The operator shall keep the yard clean."
    SimpleDocTemplate(buffer, pagesize=A4).build([Paragraph(words, body), ruled])

    pages = native_pages(buffer.getvalue())

    assert pages[0].tables
    assert [one.text for one in read_pages(pages, RULES).conditions] == [words[4:]]


@pytest.mark.parametrize(
    "sentence",
    [
        "This permit shall remain in force until surrendered and the operator shall keep a copy of it.",
        "Nothing in this permit shall relieve the operator of other law and the operator must keep records.",
        "This consent shall take effect on 1 May 2026; the trader shall pay the charges.",
    ],
)
def test_a_duty_beside_words_of_effect_is_no_definition(sentence: str) -> None:
    assert definition_rule(sentence) is None


def test_a_sentence_about_a_word_of_duty_uses_none() -> None:
    assert definition_rule('The word "must" in a note has no force of its own.') == "meaning"


@pytest.mark.parametrize(
    "clause",
    [
        "No dredging between 1 April and 15 June of any year.",
        "Fire extinguishers: a check every two years.",
        "Surveys are required before and after each campaign.",
        "At night only one dredger may work at a time.",
    ],
)
def test_a_numbered_rule_without_shall_is_accounted_for(clause: str) -> None:
    reading = read_pages([page_from_text(1, f"5.2.4 {clause}")], RULES)

    assert list(accounted(reading)) == [clause]


def test_text_below_a_numbered_title_has_its_number() -> None:
    text = (
        "5.1.2 Agents and contractors\nA copy of this licence must be given to every agent.\n"
        "5.1.3 Spills\nAny spill must be reported."
    )

    assert [one.reference for one in read_fully([page_from_text(1, text)]).conditions] == ["5.1.2", "5.1.3"]
