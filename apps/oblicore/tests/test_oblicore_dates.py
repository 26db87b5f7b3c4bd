"""Due dates: calendar and rolling, clamped months, bank holidays, explanations."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay_oblicore.domain import calendar
from backstay_oblicore.domain.due_dates import Due, NoDate, Situation, dues_until, next_due
from backstay_oblicore.domain.due_rules import (
    AfterPeriod,
    Always,
    Every,
    EveryHours,
    Offset,
    OnceOn,
    OnDate,
    OnEvent,
    RelativeTo,
    frequency_of,
    rule_for,
    rule_from_json,
    rule_to_json,
)
from backstay_oblicore.domain.errors import InvalidFacts, UnknownFrequency
from backstay_oblicore.domain.words import Frequency, Regulator

BASES = st.dates(date(1990, 1, 1), date(2060, 12, 31))


def due_day(rule, **situation) -> date:  # type: ignore[no-untyped-def]  # rules of several types
    found = next_due(rule, Situation(**situation))
    assert isinstance(found, Due)
    return found.day


@pytest.mark.parametrize(
    ("frequency", "base", "expected"),
    [
        ("DAILY", date(2026, 2, 28), date(2026, 3, 1)),
        ("WEEKLY", date(2026, 12, 28), date(2027, 1, 4)),
        ("MONTHLY", date(2026, 1, 31), date(2026, 2, 28)),
        ("MONTHLY", date(2028, 1, 31), date(2028, 2, 29)),
        ("QUARTERLY", date(2026, 11, 30), date(2027, 2, 28)),
        ("BIANNUAL", date(2026, 8, 31), date(2027, 2, 28)),
        ("ANNUAL", date(2028, 2, 29), date(2029, 2, 28)),
        ("ONE_TIME", date(2026, 5, 4), date(2026, 5, 4)),
    ],
)
def test_each_frequency_counts_from_its_base(frequency: str, base: date, expected: date) -> None:
    """OBL-006"""
    assert due_day(rule_for(frequency, base=base), base=base) == expected


def test_an_unknown_frequency_is_named() -> None:
    """OBL-006"""
    with pytest.raises(UnknownFrequency, match="Unknown frequency: FORTNIGHTLY"):
        rule_for("FORTNIGHTLY", base=date(2026, 1, 1))


@given(base=BASES, frequency=st.sampled_from(["MONTHLY", "QUARTERLY", "BIANNUAL", "ANNUAL"]))
def test_clamped_months_do_not_drift(base: date, frequency: str) -> None:
    """OBL-006"""
    rule = rule_for(frequency, base=base)

    dues = dues_until(rule, Situation(base=base), until=base + timedelta(days=5 * 366))

    assert all(due.day.day == min(base.day, calendar.month_end(due.day).day) for due in dues)
    assert [due.day for due in dues] == sorted({due.day for due in dues})


@given(base=BASES, days=st.integers(0, 400))
def test_an_early_completion_moves_no_later_date_unless_the_rule_rolls(base: date, days: int) -> None:
    fixed, rolling = Every(Offset(3, "months")), Every(Offset(3, "months"), rolling=True)
    done = base + timedelta(days=days)

    next_fixed = due_day(fixed, base=base, last_completed=done)
    next_rolling = due_day(rolling, base=base, last_completed=done)

    assert next_fixed in {calendar.add_months(base, 3 * n) for n in range(1, 10)}
    assert next_fixed > done
    assert next_rolling == calendar.add_months(done, 3)


def test_completing_a_quarter_early_leads_to_the_next_quarter() -> None:
    rule = rule_for("QUARTERLY", base=date(2025, 12, 31))

    assert due_day(rule, base=date(2025, 12, 31), last_completed=date(2026, 3, 20)) == date(2026, 6, 30)


def test_a_late_completion_answers_the_date_that_it_was_for() -> None:
    rule = rule_for("QUARTERLY", base=date(2025, 12, 31))

    found = due_day(
        rule, base=date(2025, 12, 31), last_completed=date(2026, 4, 5), completed_due=date(2026, 3, 31)
    )

    assert found == date(2026, 6, 30)


@pytest.mark.parametrize(
    ("rule", "base", "expected"),
    [
        (OnDate(1, 31), date(2026, 3, 1), date(2027, 1, 31)),
        (OnDate(1, 31), date(2026, 1, 30), date(2026, 1, 31)),
        (OnDate(2, 29), date(2026, 3, 1), date(2027, 2, 28)),
        (AfterPeriod(3, Offset(28, "days")), date(2026, 2, 10), date(2026, 4, 28)),
        (AfterPeriod(3, Offset(1, "months")), date(2026, 11, 10), date(2027, 1, 31)),
        (AfterPeriod(12, Offset(1, "months")), date(2026, 11, 10), date(2027, 1, 31)),
        (Every(Offset(4, "years")), date(2024, 2, 29), date(2028, 2, 29)),
        (OnceOn(date(2026, 9, 30)), None, date(2026, 9, 30)),
        (EveryHours(1500, or_months=60), date(2024, 6, 1), date(2029, 6, 1)),
    ],
)
def test_rules_of_real_permits(rule, base: date | None, expected: date) -> None:  # type: ignore[no-untyped-def]  # rules of several types
    assert due_day(rule, base=base) == expected


def test_a_missing_anchor_is_asked_for_and_used_when_it_comes() -> None:
    rule = RelativeTo("commissioning", Offset(6, "months"))

    assert next_due(rule, Situation()) == NoDate("waits for a date: commissioning", missing="commissioning")
    assert due_day(rule, anchors={"commissioning": date(2026, 8, 31)}) == date(2027, 2, 28)


@pytest.mark.parametrize("rule", [Always(), OnEvent("a breach", Offset(24, "days")), EveryHours(1500)])
def test_a_duty_without_a_date_says_why(rule) -> None:  # type: ignore[no-untyped-def]  # rules of several types
    found = next_due(rule, Situation(base=date(2026, 1, 1)))

    assert isinstance(found, NoDate)
    assert found.reason


def test_every_date_explains_itself() -> None:
    situation = Situation(
        base=date(2025, 12, 28), working_days_only=True, clause="4.2.2", tracked_from=date(2026, 1, 1)
    )

    found = next_due(Every(Offset(1, "years")), situation)

    assert isinstance(found, Due)
    assert found.day == date(2026, 12, 24)  # 28 December 2026 is the substitute for Boxing Day
    steps = dict(found.steps)
    assert list(steps) == ["clause", "rule", "anchor", "nominal", "shift", "due"]
    assert steps["clause"] == "4.2.2"
    assert "Boxing Day" in steps["shift"]
    assert steps["due"] == "2026-12-24"


@pytest.mark.parametrize(
    ("day", "regulator", "is_holiday"),
    [
        (date(2026, 4, 6), Regulator.EA, True),  # Easter Monday
        (date(2026, 4, 6), Regulator.SEPA, False),
        (date(2026, 1, 2), Regulator.SEPA, True),
        (date(2026, 1, 2), Regulator.EA, False),
        (date(2026, 7, 13), Regulator.NIEA, True),  # Battle of the Boyne, substitute
        (date(2026, 3, 17), Regulator.NIEA, True),
        (date(2026, 3, 17), Regulator.NRW, False),
        (date(2024, 5, 6), Regulator.EA, True),
        (date(2027, 12, 27), Regulator.EA, True),
        (date(2028, 4, 14), Regulator.NRW, True),
        (date(2030, 8, 26), Regulator.EA, True),
        (date(2030, 8, 5), Regulator.SEPA, True),
    ],
)
def test_bank_holidays_are_those_of_the_regulators_nation(
    day: date, regulator: Regulator, is_holiday: bool
) -> None:
    assert calendar.is_bank_holiday(day, regulator) is is_holiday


def test_dates_before_tracking_began_are_not_held_against_anybody() -> None:
    rule = rule_for("ANNUAL", base=date(2019, 6, 1))

    assert due_day(rule, base=date(2019, 6, 1), tracked_from=date(2026, 2, 1)) == date(2026, 6, 1)


def test_deadlines_reach_a_year_ahead_and_are_at_least_one() -> None:
    """OBL-009"""
    today = date(2026, 1, 1)
    situation = Situation(base=today)

    monthly = dues_until(rule_for("MONTHLY", base=today), situation, until=today + timedelta(days=365))
    far = dues_until(Every(Offset(10, "years")), situation, until=today + timedelta(days=365))

    assert len(monthly) == 12
    assert [due.day for due in far] == [date(2036, 1, 1)]
    assert monthly[1].period_start == monthly[0].day + timedelta(days=1)


@pytest.mark.parametrize(
    "rule",
    [
        Every(Offset(3, "months"), rolling=True),
        OnDate(1, 31, 2),
        AfterPeriod(6, Offset(10, "working_days")),
        OnceOn(date(2026, 9, 30)),
        RelativeTo("issue", Offset(4, "months"), before=True),
        OnEvent("a spill"),
        OnEvent("a change", Offset(14, "days"), before=True),
        Always(),
        EveryHours(1500, 60),
    ],
)
def test_rules_survive_being_stored(rule) -> None:  # type: ignore[no-untyped-def]  # rules of several types
    assert rule_from_json(rule_to_json(rule)) == rule
    assert isinstance(frequency_of(rule), Frequency)
    assert str(rule)


def test_what_is_no_rule_is_refused_with_its_text() -> None:
    with pytest.raises(InvalidFacts, match="not a due rule"):
        rule_from_json({"kind": "Sometimes"})
    with pytest.raises(InvalidFacts, match="unknown unit"):
        rule_from_json({"kind": "Every", "interval": {"count": 1, "unit": "moons"}})
