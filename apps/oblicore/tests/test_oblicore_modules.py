"""Sampling, running hours, annual reports, keywords, scores: the figures."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from backstay_oblicore.domain import health, keywords, registry, run_hours, scores
from backstay_oblicore.domain.emissions import Generator, StackTest, is_twelve_months, reckon
from backstay_oblicore.domain.errors import InvalidFacts
from backstay_oblicore.domain.registry import JOB_TYPES
from backstay_oblicore.domain.run_hours import Period, Purpose, Run
from backstay_oblicore.domain.sampling import (
    Limit,
    LimitKind,
    default_frequency,
    next_sample,
    reminder_severity,
    standing,
    trend_per_month,
)
from backstay_oblicore.profile import kind_options

D = Decimal


@pytest.mark.parametrize(
    ("frequency", "last", "expected"),
    [
        ("DAILY", date(2026, 5, 1), date(2026, 5, 5)),  # Friday; Monday is a bank holiday
        ("DAILY", date(2026, 5, 8), date(2026, 5, 11)),
        ("WEEKLY", date(2026, 5, 11), date(2026, 5, 18)),
        ("WEEKLY", date(2026, 5, 13), date(2026, 5, 18)),
        ("MONTHLY", date(2026, 12, 31), date(2027, 1, 1)),
        ("QUARTERLY", date(2026, 11, 2), date(2027, 1, 1)),
        ("ANNUAL", date(2026, 5, 20), date(2027, 5, 13)),
    ],
)
def test_the_next_sample_follows_its_frequency(frequency: str, last: date, expected: date) -> None:
    """OBL-045"""
    assert next_sample(frequency, last=last, created=date(2025, 5, 13)).date == expected


def test_an_unknown_sampling_frequency_is_taken_as_weekly_and_said_so() -> None:
    """OBL-045"""
    found = next_sample("WHENEVER", last=None, created=date(2026, 5, 1))

    assert (found.date, found.assumed) == (date(2026, 5, 8), True)


def test_the_sampling_day_of_the_week_can_be_chosen() -> None:
    """OBL-045"""
    found = next_sample("WEEKLY", last=date(2026, 5, 11), created=date(2026, 1, 1), weekday=3)

    assert found.date == date(2026, 5, 14)


@pytest.mark.parametrize(
    ("late", "expected"), [(-1, None), (0, "INFO"), (1, "WARNING"), (7, "WARNING"), (8, "ERROR")]
)
def test_a_sample_reminder_grows_louder(late: int, expected: str | None) -> None:
    """OBL-046"""
    today = date(2026, 5, 20)

    assert reminder_severity(today - timedelta(days=late), today=today) == expected


@pytest.mark.parametrize(
    ("value", "limit", "expected"),
    [
        ("400.01", Limit(LimitKind.MAXIMUM, maximum=D(400)), "EXCEEDED"),
        ("400", Limit(LimitKind.MAXIMUM, maximum=D(400)), "NEAR"),
        ("320", Limit(LimitKind.MAXIMUM, maximum=D(400)), "NEAR"),
        ("319.99", Limit(LimitKind.MAXIMUM, maximum=D(400)), "WITHIN"),
        ("5.9", Limit(LimitKind.RANGE, maximum=D(10), minimum=D(6)), "EXCEEDED"),
        ("10.1", Limit(LimitKind.RANGE, maximum=D(10), minimum=D(6)), "EXCEEDED"),
        ("9.9", Limit(LimitKind.RANGE, maximum=D(10), minimum=D(6)), "WITHIN"),
        ("3.9", Limit(LimitKind.MINIMUM, minimum=D(4)), "EXCEEDED"),
        ("3.9", Limit(LimitKind.MAXIMUM), "NO_LIMIT"),
    ],
)
def test_a_result_stands_against_its_limit(value: str, limit: Limit, expected: str) -> None:
    assert standing(D(value), limit) == expected


def test_a_trend_needs_three_results_and_is_a_straight_line() -> None:
    days = [date(2026, 1, 1) + timedelta(days=10 * n) for n in range(5)]
    rising = [(day, D(n)) for n, day in enumerate(days)]

    assert trend_per_month(rising[:2]) is None
    assert trend_per_month(rising) == D("3.044")


def test_parameters_have_a_usual_frequency() -> None:
    assert [default_frequency(name) for name in ("pH", "COD", "Zinc")] == ["DAILY", "WEEKLY", "MONTHLY"]


@pytest.mark.parametrize(
    ("hours", "level"),
    [("399.9", None), ("400", 80), ("449.9", 80), ("450", 90), ("499.9", 90), ("500", 100), ("9999", 100)],
)
def test_levels_are_told_at_80_90_and_100(hours: str, level: int | None) -> None:
    """OBL-050"""
    found = run_hours.breach(
        D(hours), D(500), period=Period.ANNUAL, period_start=date(2026, 4, 1), told=set()
    )

    assert (found.level if found else None) == level


def test_a_level_is_told_once_in_its_limit_period_and_again_in_the_next() -> None:
    """OBL-052"""

    def look(start: date, told: set[str]) -> run_hours.Breach | None:
        return run_hours.breach(D(450), D(500), period=Period.ANNUAL, period_start=start, told=told)

    first = look(date(2026, 4, 1), set())
    assert first
    assert look(date(2026, 4, 1), {first.key}) is None
    assert look(date(2027, 4, 1), {first.key}) is not None


def test_the_message_names_percentage_threshold_limit_and_fresh_hours() -> None:
    """OBL-051"""
    found = run_hours.breach(
        D("452.50"), D(500), period=Period.ANNUAL, period_start=date(2026, 4, 1), told=set()
    )

    assert found
    assert found.title == "Run-Hour Limit 90% Reached"
    assert found.message("GEN-3") == (
        "Generator GEN-3 has reached 90.5% (90% threshold) of its annual 500 hour limit. "
        "Year-to-date: 452.5 hours."
    )


@pytest.mark.parametrize("limit", [None, D(0)])
def test_no_limit_no_percentage(limit: Decimal | None) -> None:
    """OBL-049"""
    assert run_hours.percentage(D(10), limit) is None


def test_the_percentage_is_capped_and_never_rounded_up_to_a_level() -> None:
    """OBL-049"""
    assert run_hours.percentage(D(100_000), D(10)) == D("999.9")
    assert run_hours.percentage(D("39.99"), D(50)) == D("79.9")


@pytest.mark.parametrize(
    ("anniversary", "today", "start"),
    [
        (date(2020, 4, 1), date(2026, 3, 31), date(2025, 4, 1)),
        (date(2020, 4, 1), date(2026, 4, 1), date(2026, 4, 1)),
        (date(2024, 2, 29), date(2026, 2, 28), date(2026, 2, 28)),
        (date(2024, 2, 29), date(2028, 2, 28), date(2027, 2, 28)),
    ],
)
def test_the_limit_year_starts_at_the_latest_anniversary(anniversary: date, today: date, start: date) -> None:
    """OBL-049"""
    assert run_hours.limit_year_start(anniversary, today) == start


def test_testing_is_counted_apart_and_hours_are_forecast() -> None:
    since, today = date(2026, 1, 1), date(2026, 1, 10)
    runs = [Run(since, D(2), Purpose.TESTING), Run(today, D(8), Purpose.EMERGENCY)]

    assert run_hours.total(runs, since=since, until=today, purpose=Purpose.TESTING) == 2
    assert run_hours.forecast(runs, since=since, today=today, limit=D(50)) == date(2026, 2, 19)
    assert run_hours.forecast(runs, since=since, today=today, limit=D(10)) == today
    assert run_hours.forecast([], since=since, today=today, limit=D(50)) is None
    assert run_hours.rolling_average(runs, today=today, years=5) == D("2.00")


def test_negative_hours_are_bad_facts() -> None:
    with pytest.raises(InvalidFacts, match="negative"):
        run_hours.total([Run(date(2026, 1, 1), D(-1))], since=date(2026, 1, 1), until=date(2026, 1, 2))


def generator(**changes: object) -> Generator:
    facts: dict[str, object] = {
        "id": "g1",
        "identifier": "GEN-1",
        "type": "diesel",
        "capacity_mw": D("1.2"),
        "fuel_type": "gas oil",
        "annual_limit": D(500),
        "runs": [Run(date(2025, 2, 1), D("100.5")), Run(date(2025, 11, 1), D("20.25"))],
        "tests": [
            StackTest(
                date(2024, 6, 1),
                {"nox": D("1.115"), "so2": D("0.1"), "co": D("0.2"), "particulates": D("0.01")},
                "PASS",
            )
        ],
        "fuel": [(date(2025, 3, 1), D("1200.456"))],
    }
    return Generator(**(facts | changes))  # type: ignore[arg-type]  # facts of several types


def report(*generators: Generator, start: date = date(2025, 1, 1), end: date = date(2025, 12, 31)):  # type: ignore[no-untyped-def]  # rules of several types
    return reckon(generators, document_id="d", company_id="c", start=start, end=end)


def test_totals_are_hours_times_rate_rounded_to_the_cent() -> None:
    """OBL-055 OBL-091"""
    found = report(generator())

    assert found.total_hours == D("120.75")
    assert found.emissions_json() == [
        {
            "generator_id": "g1",
            "nox_total": 134.64,
            "so2_total": 12.08,
            "co_total": 24.15,
            "particulates_total": 1.21,
        }
    ]
    assert found.is_validated
    assert found.findings == ()


def test_the_newest_test_up_to_the_periods_end_counts() -> None:
    """OBL-055"""
    rates = {"nox": D(9), "so2": D(9), "co": D(9), "particulates": D(9)}
    later = StackTest(date(2026, 1, 5), rates)

    found = report(generator(tests=[*generator().tests, later]))

    assert found.lines[0].latest_test == generator().tests[0]


@pytest.mark.parametrize(
    ("changes", "field", "severity"),
    [
        ({"runs": []}, "run_hours", "ERROR"),
        ({"tests": []}, "stack_tests", "ERROR"),
        ({"tests": [StackTest(date(2019, 1, 1), {})]}, "stack_tests", "WARNING"),
        ({"annual_limit": D(100)}, "run_hours", "WARNING"),
        ({"tests": [StackTest(date(2025, 1, 1), {"nox": D(-1)})]}, "emissions", "ERROR"),
    ],
)
def test_each_rule_of_validation_finds_its_fault(
    changes: dict[str, object], field: str, severity: str
) -> None:
    """OBL-056"""
    found = report(generator(**changes))

    assert [(one.field, one.severity) for one in found.findings] == [(field, severity)]
    assert found.is_validated is (severity == "WARNING")


@pytest.mark.parametrize(
    ("start", "end", "fits"),
    [
        (date(2025, 1, 1), date(2025, 12, 31), True),
        (date(2024, 2, 29), date(2025, 2, 28), True),
        (date(2023, 3, 1), date(2024, 2, 29), True),
        (date(2023, 3, 1), date(2024, 2, 28), False),
        (date(2025, 1, 1), date(2025, 12, 30), False),
        (date(2025, 1, 1), date(2026, 12, 31), False),
    ],
)
def test_twelve_months_are_twelve_months(start: date, end: date, fits: bool) -> None:
    """OBL-056"""
    assert is_twelve_months(start, end) is fits


def test_the_report_has_the_agreed_shape() -> None:
    """OBL-059"""
    shape = report(generator()).as_json()

    assert set(shape) == {
        "document_id",
        "company_id",
        "reporting_period",
        "generators",
        "incidents",
        "validation_errors",
    }
    assert set(shape["generators"][0]) == {
        "id",
        "identifier",
        "type",
        "capacity_mw",
        "total_run_hours",
        "fuel_type",
        "fuel_consumption",
        "emissions",
        "stack_tests",
    }
    assert shape["generators"][0]["fuel_consumption"] == 1200.46


def test_keywords_are_whole_words_and_counted_once() -> None:
    """OBL-065"""
    found = keywords.detect("Trade   effluent goes to the SEWER.", keywords.MODULE_2_KEYWORDS)

    assert found.keywords == ("trade effluent", "sewer")
    assert found.confidence == pytest.approx(0.4)
    assert found.density > 0
    assert keywords.detect("achpa sewerage", keywords.MODULE_3_KEYWORDS).keywords == ()
    assert keywords.detect("two back up generators", keywords.MODULE_3_KEYWORDS).keywords == (
        "back-up generator",
    )


def test_the_score_is_the_share_that_is_not_late() -> None:
    """OBL-083"""
    found = scores.compliance({"COMPLETED": 3, "OVERDUE": 1, "PENDING": 4, "NOT_APPLICABLE": 9})

    assert (found.total, found.pending, found.score) == (8, 4, 87.5)
    assert scores.compliance({}).score == 100


@pytest.mark.parametrize(
    ("stale", "letters", "failures", "expected"),
    [
        (0, 10, 20, "healthy"),
        (1, 0, 0, "degraded"),
        (0, 11, 0, "degraded"),
        (0, 0, 21, "degraded"),
        (10, 50, 0, "degraded"),
        (11, 0, 0, "unhealthy"),
        (0, 51, 0, "unhealthy"),
    ],
)
def test_health_has_sharp_edges(stale: int, letters: int, failures: int, expected: str) -> None:
    assert health.status(stale=stale, unresolved=letters, failures=failures) == expected


@pytest.mark.parametrize(
    ("pages", "size", "large"),
    [(49, 9_999_999, False), (50, 1, True), (1, 10_000_000, True)],
)
def test_large_documents_get_more_time(pages: int, size: int, large: bool) -> None:
    """OBL-025"""
    assert registry.is_large(pages=pages, size=size) is large
    assert registry.model_seconds(pages=pages, size=size) == (300 if large else 30)


def test_every_number_of_the_thirteen_types_is_as_agreed() -> None:
    agreed = {
        "MONITORING_SCHEDULE": ("monitoring-schedule", 5, "0 * * * *", "300s", 3, "60s"),
        "DEADLINE_ALERT": ("deadline-alerts", 2, "0 */6 * * *", "120s", 3, "60s"),
        "EVIDENCE_REMINDER": ("evidence-reminders", 2, "0 9 * * *", "120s", 3, "60s"),
        "DOCUMENT_PROCESSING": ("document-processing", 5, None, "300s", 3, "60s"),
        "EXCEL_IMPORT_PROCESSING": ("document-processing", 5, None, "300s", 3, "30s"),
        "SAMPLING_SCHEDULE": ("module-2-sampling", 5, "0 6 * * *", "300s", 3, "60s"),
        "RUN_HOUR_MONITORING": ("module-3-run-hours", 5, "0 7 * * *", "300s", 3, "60s"),
        "AER_GENERATION": ("aer-generation", 5, "0 8 15 1 *", "600s", 3, "60s"),
        "PERMIT_RENEWAL_REMINDER": ("deadline-alerts", 5, "0 8 * * *", "300s", 3, "60s"),
        "CROSS_SELL_TRIGGER_DETECTION": ("cross-sell-triggers", 8, "0 */6 * * *", "300s", 3, "60s"),
        "AUDIT_PACK_GENERATION": ("audit-pack-generation", 5, None, "600s", 3, "60s"),
        "PACK_DISTRIBUTION": ("pack-distribution", 5, None, "300s", 3, "60s"),
        "CONSULTANT_CLIENT_SYNC": ("consultant-sync", 8, "0 2 * * *", "600s", 2, "60s"),
    }
    found = {}
    for name, job in JOB_TYPES.items():
        options = kind_options(name)
        numbers = (options["timeout"], options["max_attempts"], options["renew_every"])
        found[name] = (options["queue"], options["priority"], job.cron, *numbers)
    assert found == agreed


def test_the_rules_run_without_the_engine_and_without_a_driver() -> None:
    code = (
        "import sys, importlib, pkgutil\n"
        "sys.modules.update({name: None for name in ('backstay', 'asyncpg', 'backstay_parts', 'httpx')})\n"
        "import backstay_oblicore.domain as rules\n"
        "found = [one.name for one in pkgutil.walk_packages(rules.__path__, rules.__name__ + '.')]\n"
        "assert len([importlib.import_module(name) for name in found]) > 25\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-600:]


def test_the_acceptance_page_names_tests_that_exist() -> None:
    folder = Path(__file__).parent
    page = (folder.parent / "docs" / "acceptance.md").read_text()
    known = {
        name for file in folder.glob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())
    }

    assert set(re.findall(r"\btest_\w+", page)) - known == set()
