"""Registers: headers that are spelt many ways, rows with faults, dates of every kind."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from backstay_oblicore.domain.errors import FileTooLarge, MissingColumns, TooManyRows
from backstay_oblicore.domain.register.headers import map_headers
from backstay_oblicore.domain.register.rows import Known, check_rows, check_size, read_date

HEADERS = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site ID"]
SITE = "00000000-0000-4000-8000-000000000001"
KNOWN = Known(import_site=SITE, sites={SITE: SITE, "north yard": SITE})


def check(*rows: list[Any], known: Known = KNOWN):  # type: ignore[no-untyped-def]  # rules of several types
    return check_rows(enumerate(rows, start=2), map_headers(HEADERS).columns, known)


def test_misspelt_and_reordered_headers_are_understood() -> None:
    """OBL-038"""
    found = map_headers(["Site", "frequancy", "DEADLINE  date", "Obligaton title", "Permit No."])

    assert found.columns == {
        "site_id": 0,
        "frequency": 1,
        "deadline_date": 2,
        "obligation_title": 3,
        "permit_number": 4,
    }


@pytest.mark.parametrize("stranger", ["Site contact", "Permit Date", "Frequenz der Prüfung", "Standort"])
def test_headers_that_only_look_alike_are_refused(stranger: str) -> None:
    """OBL-038"""
    missing = "permit_number" if "Permit" in stranger else "site_id"
    replaced = {"permit_number": "Permit Number", "site_id": "Site ID"}[missing]
    headers = [stranger if header == replaced else header for header in HEADERS]

    with pytest.raises(MissingColumns, match=f"Missing required column: {missing}"):
        map_headers(headers)


def test_of_two_equal_columns_neither_is_taken() -> None:
    """OBL-038"""
    with pytest.raises(MissingColumns, match="frequency"):
        map_headers([*HEADERS, "Frequency"])


def test_a_custom_mapping_wins() -> None:
    """OBL-038"""
    headers = ["Genehmigung", *HEADERS[1:]]

    assert map_headers(headers, custom={"Genehmigung": "permit_number"}).columns["permit_number"] == 0
    with pytest.raises(MissingColumns, match="not in the file"):
        map_headers(headers, custom={"Nirgends": "permit_number"})


def test_each_fault_is_named_with_its_row() -> None:
    """OBL-039"""
    found = check(
        ["P1", "Report", "monthly", "2026-05-01", ""],
        [None, "Report", "monthly", "2026-05-01", ""],
        ["P1", "  ", "monthly", "2026-05-01", ""],
        ["P1", "A", "monthly", "31/02/2026", ""],
        ["P1", "B", "sometimes", "2026-05-01", ""],
        ["P1", "C", "monthly", "2026-05-01", "South Yard"],
        ["P1", "Report", "Annually", "2026-05-01", "North Yard"],
        [None, None, "x", "", "y"],
    )

    assert found.errors == [
        {"row_number": 3, "errors": ["Missing permit_number"]},
        {"row_number": 4, "errors": ["Missing obligation_title"]},
        {"row_number": 5, "errors": ["Invalid date format"]},
        {"row_number": 6, "errors": ["Invalid frequency value"]},
        {"row_number": 7, "errors": ["Site not found"]},
        {
            "row_number": 9,
            "errors": [
                "Missing permit_number",
                "Missing obligation_title",
                "Invalid date format",
                "Invalid frequency value",
                "Site not found",
            ],
        },
    ]
    assert [(row["row_number"], row["warnings"]) for row in found.valid] == [
        (2, []),
        (8, ["Duplicate obligation"]),
    ]
    assert [row["row_number"] for row in found.warnings] == [8]
    assert found.valid[0]["data"]["site_id"] == SITE


def test_a_missing_site_may_be_created_by_name_but_not_by_a_foreign_id() -> None:
    """OBL-039"""
    known = Known(import_site=SITE, sites={SITE: SITE}, create_missing_sites=True)
    foreign = "00000000-0000-4000-8000-00000000dead"

    found = check(
        ["P1", "A", "daily", "2026-05-01", "South"], ["P1", "B", "daily", "2026-05-01", foreign], known=known
    )

    assert found.valid[0]["warnings"] == ["Site will be created"]
    assert found.valid[0]["data"]["site_name"] == "South"
    assert found.errors == [{"row_number": 3, "errors": ["Site not found"]}]


def test_duplicates_of_what_exists_are_warned_of_only_if_they_are_skipped() -> None:
    """OBL-039"""
    there = frozenset({("P1", "A", SITE)})
    row = ["P1", "A", "daily", "2026-05-01", ""]

    skipping = check(row, known=Known(import_site=SITE, sites={}, obligations=there))
    keeping = check(row, known=Known(import_site=SITE, sites={}, obligations=there, skip_duplicates=False))

    assert [one["warnings"] for one in skipping.valid + keeping.valid] == [["Duplicate obligation"], []]


def test_a_continuous_duty_needs_no_date() -> None:
    assert len(check(["P1", "A", "continuous", None, ""]).valid) == 1
    assert check(["P1", "A", "monthly", None, ""]).errors[0]["errors"] == ["Invalid date format"]


def test_ten_thousand_rows_are_taken_and_one_more_is_not() -> None:
    """OBL-037"""
    row = ["P1", "A", "daily", "2026-05-01", ""]

    assert check(*[row] * 10_000, [None] * 5).row_count == 10_000
    with pytest.raises(TooManyRows, match="10,000"):
        check(*[row] * 10_001)


def test_the_size_has_a_sharp_edge() -> None:
    """OBL-037"""
    check_size(10_000_000)
    with pytest.raises(FileTooLarge, match="10,000,001"):
        check_size(10_000_001)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2026-05-01", date(2026, 5, 1)),
        ("01/05/2026", date(2026, 5, 1)),
        ("1st May 2026", date(2026, 5, 1)),
        ("1 May 2026", date(2026, 5, 1)),
        (46143, date(2026, 5, 1)),
        (46143.0, date(2026, 5, 1)),
        ("46143", date(2026, 5, 1)),
        (datetime(2026, 5, 1, 13, 0, tzinfo=UTC), date(2026, 5, 1)),
        (date(2026, 5, 1), date(2026, 5, 1)),
        (7, None),
        (True, None),
        ("May", None),
        ("05/31/2026", None),
        (None, None),
    ],
)
def test_dates_are_read_as_people_write_them(cell: Any, expected: date | None) -> None:
    """OBL-039"""
    assert read_date(cell) == expected
