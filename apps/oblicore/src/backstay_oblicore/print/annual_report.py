"""The annual emissions report as PDF and CSV, from the same figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from backstay_oblicore.domain import texts
from backstay_oblicore.domain.emissions import POLLUTANTS, SECTIONS, Report
from backstay_oblicore.print.pages import bind, facts, heading, lay_out, paragraph, table
from backstay_parts.sheets import write_csv

CSV_HEAD = (
    "generator_id", "identifier", "type", "capacity_mw", "fuel_type", "total_run_hours", "record_count",
    "fuel_consumption", *(f"{name}_total_kg" for name in POLLUTANTS), "latest_stack_test", "compliance_status",
)  # fmt: skip


def report_csv(report: Report) -> bytes:
    """Write the figures as a table that any sheet program opens."""
    return write_csv([CSV_HEAD, *(_csv_row(line) for line in report.lines)])


def report_pdf(report: Report, *, title: str, permit_number: str | None, generated: str) -> bytes:
    """Print the report with its seven sections."""
    story: list[Any] = [
        heading(f"Annual Emissions Report {report.year}"),
        facts([("Document", title), ("Permit number", permit_number or "-"), ("Status", "DRAFT")]),
    ]
    for number, section in enumerate(SECTIONS, start=1):
        story.append(heading(f"Section {number}: {section}"))
        story += _SECTIONS[section](report)
    if report.findings:
        story.append(heading("Validation"))
        rows = [(one.severity.value, one.field, one.error) for one in report.findings]
        story.append(table(("Severity", "Field", "Finding"), rows, shares=(1, 1, 4)))
    body = lay_out(f"AER {report.year}", story)
    foot = texts.PACK_FOOTER.format(date=generated)
    return bind([body], foot=foot, attachments={}, subject=f"Annual report {report.year}")


def _details(report: Report) -> Iterator[Any]:
    rows = [
        (line.generator.identifier, line.generator.type, line.generator.capacity_mw, line.generator.fuel_type)
        for line in report.lines
    ]
    yield table(("Generator", "Type", "Capacity (MW)", "Fuel"), rows, shares=(2, 2, 1, 2))


def _period(report: Report) -> Iterator[Any]:
    yield facts(
        [("From", report.start), ("To", report.end), ("To be submitted by", report.submission_deadline)]
    )


def _hours(report: Report) -> Iterator[Any]:
    rows = [
        (line.generator.identifier, line.hours, line.record_count, line.first_record, line.last_record)
        for line in report.lines
    ]
    yield table(("Generator", "Hours", "Records", "First", "Last"), rows, shares=(2, 1, 1, 1, 1))
    yield paragraph(f"Total run hours: {report.total_hours}")


def _fuel(report: Report) -> Iterator[Any]:
    rows = [(line.generator.identifier, line.generator.fuel_type, line.fuel) for line in report.lines]
    yield table(("Generator", "Fuel", "Quantity"), rows, shares=(2, 2, 1))


def _emissions(report: Report) -> Iterator[Any]:
    rows = [
        (line.generator.identifier, *(line.emissions[name] for name in POLLUTANTS)) for line in report.lines
    ]
    yield table(
        ("Generator", "NOx (kg)", "SO2 (kg)", "CO (kg)", "Particulates (kg)"), rows, shares=(2, 1, 1, 1, 1)
    )


def _tests(report: Report) -> Iterator[Any]:
    rows: list[Sequence[object]] = []
    for line in report.lines:
        test = line.latest_test
        rates = [test.rates.get(name) if test else None for name in POLLUTANTS]
        rows.append(
            (
                line.generator.identifier,
                test.day if test else "none",
                *rates,
                test.compliance_status if test else "",
            )
        )
    head = ("Generator", "Test", "NOx (kg/h)", "SO2 (kg/h)", "CO (kg/h)", "Particulates (kg/h)", "Status")
    yield table(head, rows, shares=(2, 1, 1, 1, 1, 1, 1))


def _incidents(report: Report) -> Iterator[Any]:
    if not report.incidents:
        yield paragraph("None recorded.")
        return
    names = {line.generator.id: line.generator.identifier for line in report.lines}
    rows = [(one["date"], names.get(one["generator_id"], ""), one["description"]) for one in report.incidents]
    yield table(("Date", "Generator", "What happened"), rows, shares=(1, 1, 4))


_SECTIONS = dict(
    zip(SECTIONS, (_details, _period, _hours, _fuel, _emissions, _tests, _incidents), strict=True)
)


def _csv_row(line: Any) -> list[Any]:
    generator, test = line.generator, line.latest_test
    return [
        generator.id,
        generator.identifier,
        generator.type,
        None if generator.capacity_mw is None else str(generator.capacity_mw),
        generator.fuel_type,
        str(line.hours),
        line.record_count,
        str(line.fuel),
        *(str(line.emissions[name]) for name in POLLUTANTS),
        test.day if test else None,
        test.compliance_status if test else None,
    ]
