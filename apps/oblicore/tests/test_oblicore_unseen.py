"""Permits in other people's words: local councils, four regulators, "you must", letters before numbers."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import islice
from pathlib import Path

import pytest
from test_oblicore_extraction import Score, read_fully
from test_oblicore_independent import no_duty_is_a_definition, printed, truth_of

from backstay_oblicore.domain.due_dates import NoDate, Situation, next_due, upcoming
from backstay_oblicore.domain.due_rules import (
    Every,
    Offset,
    OnceOn,
    OnDates,
    RelativeTo,
    rule_from_json,
    rule_to_json,
)
from backstay_oblicore.domain.permits.meaning import definition_rule
from backstay_oblicore.domain.permits.pages import page_from_text
from backstay_oblicore.domain.permits.sentences import is_candidate, is_command
from backstay_oblicore.domain.permits.timing import read_timing
from backstay_oblicore.readers.documents import native_pages

PERMITS = sorted((Path(__file__).parent / "permits_unseen").glob("*.txt"))


def test_permits_of_other_houses_are_read() -> None:
    """OBL-028 OBL-030"""
    score, faults = Score(), []
    for permit in PERMITS:
        reading = read_fully(native_pages(printed(permit)))
        faults += [f"{permit.stem} {fault}" for fault in score.add(reading, truth_of(permit))]
        kept = {one.reference for one in reading.conditions}
        assert not set(no_duty_is_a_definition(reading, permit)) - kept, permit.stem

    assert len(PERMITS) == 10
    assert score.found / score.expected >= 0.95, faults
    assert score.found / score.given >= 0.95, faults
    assert score.timed / score.expected >= 0.95, faults


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("Results shall be sent by 31 July and 31 January.", "on 31 January and 31 July each year"),
        ("Send returns by the 14th of January, April, July and October.",
         "on 14 January, 14 April, 14 July and 14 October each year"),
        ("Levels shall be read in March and September.", "on 31 March and 30 September each year"),
        ("The plan shall be looked at each January.", "on 31 January each year"),
        ("Ponds must be cleaned each spring.", "on 31 May each year"),
        ("The form must reach us by the last day of February.", "on 29 February each year"),
        ("By the end of September 2026 the lagoon shall be covered.", "once, by 30 September 2026"),
        ("By March 2027 the lagoon shall be covered.", "once, by 1 March 2027"),
        ("From 1 January 2027 every crusher must have a hood.", "once, by 1 January 2027"),
        ("A survey shall be made in 2027 and every three years thereafter.",
         "every 3 years, first once, by 31 December 2027"),
        ("Tests shall be made within four months of the grant of this permit and thereafter every three years.",
         "every 3 years, first 4 months after issue of the permit"),
        ("Every fifth year an audit shall be made.", "every 5 years"),
        ("Tanks shall be tested at five-yearly intervals.", "every 5 years"),
        ("Tanks must be inspected no less often than once in ten years.", "every 10 years"),
        ("Roads shall be swept twice a day in dry weather.", "every 1 day"),
        ("Samples shall be taken on not fewer than 12 occasions a year.", "every 1 month"),
        ("Rounds shall be made three times a week.", "every 2 days"),
        ("The flare shall not be lit more than twice a year.", "at all times"),
        ("Waste shall not be moved more often than once a week.", "at all times"),
        ("Returns must be made by the last day of the month following the end of each quarter.",
         "within 1 month of the end of each quarter"),
        ("Logs are due by the 21st day of the month after each quarter.", "within 21 days of the end of each quarter"),
        ("Within the first 20 days of every quarter the log shall be sent.",
         "within 20 days of the end of each quarter"),
        ("The operator shall give the regulator one month's notice.", "within 1 month before"),
        ("The regulator shall be notified at least 14 days beforehand.", "within 14 days before"),
        ("The Council must be given prior written notification of any alteration.", "before any alteration"),
        ("Spillages must be dealt with immediately.", "without delay"),
        ("Twelve months after dosing starts, a report shall be supplied.", "12 months after dosing starts"),
        ("A plan shall be sent six months before it intends to cease operating.", "6 months before closure"),
        ("A survey is due before the end of the first year of operation.", "1 year after start of operations"),
    ],
)  # fmt: skip
def test_more_words_of_time_are_understood(words: str, rule: str) -> None:
    """OBL-006"""
    assert str(read_timing(words).rule).startswith(rule)


@pytest.mark.parametrize(
    "sentence",
    [
        "No visible emission is permitted from any part of the plant.",
        "Nothing other than clean water may be discharged.",
        "Feedstock of other kinds is not to be brought onto the site.",
        "The operator is only authorised to carry out the activities in table 1.",
        "You cannot accept bagged waste.",
        "Throughput is capped at 49,000 tonnes.",
    ],
)
def test_prohibitions_without_shall_are_accounted_for(sentence: str) -> None:
    assert is_candidate(sentence)
    assert definition_rule(sentence) is None


def test_a_command_is_told_from_a_statement() -> None:
    assert is_command("Keep all records for four years.")
    assert is_command("Do not discharge water that is warm.")
    assert not is_command("Report forms are in schedule 4.")


@pytest.mark.parametrize(
    "label", ["{0}.", "{0})", "({0})", "Condition {0}:", "Rule {0} -", "1.{0}", "1.{0}:", "A{0}.1", "B.{0}"]
)
def test_every_way_of_numbering_keeps_conditions_apart(label: str) -> None:
    lines = [f"{label.format(n)} The operator shall keep log number {n}." for n in range(1, 5)]

    reading = read_fully([page_from_text(1, "\n".join(lines))])

    assert [one.text for one in reading.conditions] == [
        f"The operator shall keep log number {n}." for n in range(1, 5)
    ]
    assert len({one.reference for one in reading.conditions}) == 4


def test_duties_without_numbers_are_kept_apart() -> None:
    text = "The company shall fence the site. It was built in 1990. The company must paint the fence every five years."

    reading = read_fully([page_from_text(1, text)])

    assert [one.text for one in reading.conditions] == [
        "The company shall fence the site.",
        "The company must paint the fence every five years.",
    ]
    assert [str(one.frequency) for one in reading.conditions] == ["CONTINUOUS", "N_YEARLY"]


def test_several_dates_a_year_come_round_one_by_one() -> None:
    """OBL-006 OBL-009"""
    rule = OnDates(((1, 31), (2, 29), (7, 31)))
    days = [due.day for due in islice(upcoming(rule, Situation(base=date(2026, 2, 1))), 5)]

    assert days == [
        date(2026, 2, 28),
        date(2026, 7, 31),
        date(2027, 1, 31),
        date(2027, 2, 28),
        date(2027, 7, 31),
    ]
    assert rule_from_json(rule_to_json(rule)) == rule


def test_a_series_starts_where_its_clause_says() -> None:
    """OBL-006"""
    fixed = Every(Offset(2, "years"), first=OnceOn(date(2026, 11, 30)))
    waiting = Every(Offset(1, "years"), first=RelativeTo("commissioning", Offset(3, "months")))
    issued = Situation(base=date(2026, 1, 5))

    assert [due.day for due in islice(upcoming(fixed, issued), 2)] == [date(2026, 11, 30), date(2028, 11, 30)]
    assert next_due(waiting, issued) == NoDate("waits for a date: commissioning", missing="commissioning")
    known = Situation(base=date(2026, 1, 5), anchors={"commissioning": date(2026, 1, 31)})
    found = [due.day for due in islice(upcoming(waiting, known), 2)]
    assert found == [date(2026, 4, 30), date(2027, 4, 30)]
    assert found[0] - known.anchors["commissioning"] == timedelta(days=89)
    assert rule_from_json(rule_to_json(waiting)) == waiting
