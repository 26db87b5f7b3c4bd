"""The figures of an annual emissions report: one reckoning for page, PDF, CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from backstay_oblicore.domain import calendar
from backstay_oblicore.domain.run_hours import Run, total
from backstay_oblicore.domain.words import Severity

SECTIONS = (
    "Generator Details",
    "Reporting Period",
    "Run-Hours Summary",
    "Fuel Consumption",
    "Emissions Data",
    "Stack Test Results",
    "Incidents/Breakdowns",
)
POLLUTANTS = ("nox", "so2", "co", "particulates")
TEST_INTERVAL = timedelta(days=5 * 365 + 1)
CENT = Decimal("0.01")


@dataclass(frozen=True)
class StackTest:
    """One measurement at the stack: kilograms an hour."""

    day: date
    rates: dict[str, Decimal | None]
    compliance_status: str = "PENDING"


@dataclass(frozen=True)
class Generator:
    """A generator with everything that the report counts."""

    id: str
    identifier: str
    type: str
    capacity_mw: Decimal | None
    fuel_type: str
    annual_limit: Decimal | None
    runs: Sequence[Run] = ()
    tests: Sequence[StackTest] = ()
    fuel: Sequence[tuple[date, Decimal]] = ()


@dataclass(frozen=True)
class Finding:
    """Something that the report's reader must know."""

    field: str
    error: str
    severity: Severity

    def as_json(self) -> dict[str, str]:
        """Write the finding in the agreed shape."""
        return {"field": self.field, "error": self.error, "severity": self.severity.value}


@dataclass(frozen=True)
class Line:
    """What the report says about one generator."""

    generator: Generator
    hours: Decimal
    record_count: int
    first_record: date | None
    last_record: date | None
    fuel: Decimal
    emissions: dict[str, Decimal]
    latest_test: StackTest | None


@dataclass(frozen=True)
class Report:
    """A whole annual report, ready to be printed in any form."""

    document_id: str
    company_id: str
    start: date
    end: date
    lines: tuple[Line, ...]
    incidents: tuple[dict[str, Any], ...]
    findings: tuple[Finding, ...]

    @property
    def year(self) -> int:
        """The year in which the period ends."""
        return self.end.year

    @property
    def total_hours(self) -> Decimal:
        """Hours of all generators."""
        return sum((line.hours for line in self.lines), Decimal(0))

    @property
    def is_validated(self) -> bool:
        """No error was found; warnings may stand."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def submission_deadline(self) -> date:
        """31 January after the period's end."""
        return date(self.end.year + 1, 1, 31)

    def as_json(self) -> dict[str, Any]:
        """Write the report in the agreed shape; numbers as numbers with two decimals."""
        return {
            "document_id": self.document_id,
            "company_id": self.company_id,
            "reporting_period": {"start": self.start.isoformat(), "end": self.end.isoformat()},
            "generators": [_line_json(line) for line in self.lines],
            "incidents": list(self.incidents),
            "validation_errors": [finding.as_json() for finding in self.findings],
        }

    def emissions_json(self) -> list[dict[str, Any]]:
        """Write the totals of each generator under the agreed names."""
        return [
            {
                "generator_id": line.generator.id,
                **{f"{pollutant}_total": float(line.emissions[pollutant]) for pollutant in POLLUTANTS},
            }
            for line in self.lines
        ]


def reckon(
    generators: Sequence[Generator],
    *,
    document_id: str,
    company_id: str,
    start: date,
    end: date,
    incidents: Sequence[dict[str, Any]] = (),
) -> Report:
    """Reckon a report over a period; what is missing becomes a finding, never a stop."""
    lines = tuple(_line(generator, start, end) for generator in generators)
    findings = [finding for line in lines for finding in _check_line(line, end)]
    if not generators:
        findings.append(Finding("generators", "No active generators", Severity.ERROR))
    if not is_twelve_months(start, end):
        findings.append(Finding("reporting_period", "Reporting period must be 12 months", Severity.ERROR))
    return Report(document_id, company_id, start, end, lines, tuple(incidents), tuple(findings))


def is_twelve_months(start: date, end: date) -> bool:
    """Say whether the period is a year to the day, leap years included."""
    following = calendar.add_months(start, 12)
    # A year from 29 February ends on 28 February: clamping has already moved the following start there.
    return end == (following if following.day < start.day else following - timedelta(days=1))


def _line(generator: Generator, start: date, end: date) -> Line:
    runs = [run for run in generator.runs if start <= run.day <= end]
    hours = total(runs, since=start, until=end)
    test = max((test for test in generator.tests if test.day <= end), key=lambda t: t.day, default=None)
    emissions = {
        pollutant: _round(hours * ((test.rates.get(pollutant) if test else None) or Decimal(0)))
        for pollutant in POLLUTANTS
    }
    days = sorted(run.day for run in runs)
    fuel = sum((amount for day, amount in generator.fuel if start <= day <= end), Decimal(0))
    return Line(
        generator,
        _round(hours),
        len(runs),
        days[0] if days else None,
        days[-1] if days else None,
        _round(fuel),
        emissions,
        test,
    )


def _check_line(line: Line, end: date) -> list[Finding]:
    name = line.generator.identifier
    found = []
    if not line.record_count:
        found.append(Finding("run_hours", f"Missing data: {name} has no run-hour records", Severity.ERROR))
    if line.latest_test is None:
        found.append(Finding("stack_tests", f"Missing data: {name} has no stack test", Severity.ERROR))
    elif end - line.latest_test.day > TEST_INTERVAL:
        found.append(
            Finding(
                "stack_tests",
                f"The latest stack test of {name} ({line.latest_test.day}) is older than five years",
                Severity.WARNING,
            )
        )
    limit = line.generator.annual_limit
    if limit is not None and line.hours > limit:
        found.append(
            Finding("run_hours", f"{name} ran {line.hours} h, above its limit of {limit} h", Severity.WARNING)
        )
    found += [
        Finding("emissions", f"{name}: {pollutant} is negative", Severity.ERROR)
        for pollutant, amount in line.emissions.items()
        if amount < 0
    ]
    return found


def _line_json(line: Line) -> dict[str, Any]:
    generator = line.generator
    tests = [] if line.latest_test is None else [line.latest_test]
    return {
        "id": generator.id,
        "identifier": generator.identifier,
        "type": generator.type,
        "capacity_mw": None if generator.capacity_mw is None else float(generator.capacity_mw),
        "total_run_hours": float(line.hours),
        "fuel_type": generator.fuel_type,
        "fuel_consumption": float(line.fuel),
        "emissions": {pollutant: float(amount) for pollutant, amount in line.emissions.items()},
        "stack_tests": [
            {
                "test_date": test.day.isoformat(),
                "results": {name: float(rate) for name, rate in test.rates.items() if rate is not None},
                "compliance_status": test.compliance_status,
            }
            for test in tests
        ],
    }


def _round(number: Decimal) -> Decimal:
    return number.quantize(CENT, rounding=ROUND_HALF_UP)
