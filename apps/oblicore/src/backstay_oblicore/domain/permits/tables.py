"""Duties that stand in tables: limits, monitoring, reporting, improvements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from backstay_oblicore.domain.permits.pages import Line, Table, mend_code, tidy

I = re.IGNORECASE  # noqa: E741 - as everywhere in patterns
_COLUMNS: tuple[tuple[str, str], ...] = (
    ("limit", r"\blimits?\b|\bmaximum\b|\belv\b|\bnot\s+to\s+exceed"),
    ("unit", r"^units?\b"),
    ("frequency", r"frequency|how\s+often|reporting\s+period|interval"),
    ("date", r"\bdate\b|deadline|due|completion|by\s+when|timescale"),
    ("requirement", r"requirement|improvement|measure\b|action|pre-?operational"),
    ("reference", r"^ref|^no\.?$|^number$|^item$|^code$|condition"),
    ("parameter", r"parameter|substance|pollutant|determinand|emission$|constituent"),
    ("point", r"emission\s+point|location|source|\bpoint\b|outlet|release"),
    ("period", r"period\s+begins|reference\s+period"),
    ("method", r"method|standard|technique"),
)


@dataclass(frozen=True)
class TableDuty:
    """One row that binds somebody, put into a sentence."""

    reference: str
    text: str
    page: int
    kind: str  # LIMIT | MONITORING | REPORTING | IMPROVEMENT
    parameter: str | None = None
    limit: Decimal | None = None
    minimum: Decimal | None = None
    unit: str | None = None


def duties_in(tables: Sequence[Table]) -> list[TableDuty]:
    """Return the binding rows of all tables; tables that only describe give none."""
    found: list[TableDuty] = []
    header: tuple[str, ...] = ()
    caption = ""
    for table in tables:
        rows = [tuple(mend_code(tidy(cell or "")) for cell in row) for row in table.rows]
        if not rows:
            continue
        if _columns(rows[0]):
            header, rows, caption = rows[0], rows[1:], table.caption
        elif len(rows[0]) != len(header):
            # A table that goes on after a page break has no header of its own; anything else is no table of duties.
            header = ()
        columns = _columns(header)
        for row in rows:
            duty = _duty(row, columns, caption=caption or table.caption, page=table.page)
            if duty:
                found.append(duty)
    return found


LIMIT_LINE = re.compile(
    r"^(?P<point>[A-Z]{1,2}\s?\d{1,2}[a-z]?)[\s|]+(?P<parameter>[A-Z][A-Za-z0-9\s(),-]+?)[\s|]+"
    r"(?P<limit>[<≤]?\s?\d[\d.,]*(?:\s*(?:-|–|to)\s*\d[\d.,]*)?)\s*"
    r"(?P<unit>(?:mg|µg|ug|ng|g|kg|m3|m³|l)/\S+|°C|%|dB\S*|pH(?:\s+units)?)[\s|]*(?P<frequency>.*)$"
)


def duties_in_lines(lines: Sequence[Line]) -> tuple[list[TableDuty], list[Line]]:
    """Take rows of limits out of running text, as recognised pages have them; return them and the other lines."""
    found: list[TableDuty] = []
    rest: list[Line] = []
    label = ""
    for line in lines:
        label = _label(line.text) or label
        match = LIMIT_LINE.match(line.text)
        if match is None:
            rest.append(line)
            continue
        cells = {**match.groupdict(), "limit": match["limit"].strip()}
        reference = f"{label} {match['point']} {match['parameter']}".strip()[:120]
        found.append(_limit(cells, match["parameter"], reference, line.page))
    return found, rest


def _columns(header: Sequence[str]) -> dict[str, int]:
    columns: dict[str, int] = {}
    for index, cell in enumerate(header):
        for name, pattern in _COLUMNS:
            if name not in columns and re.search(pattern, cell.strip(), I):
                columns[name] = index
                break
    binding = {"limit", "requirement", "frequency"} & set(columns)
    subject = {"parameter", "reference", "point", "requirement"} & set(columns)
    return columns if binding and subject else {}


def _duty(row: Sequence[str], columns: dict[str, int], *, caption: str, page: int) -> TableDuty | None:
    cells = {name: row[index].strip() for name, index in columns.items() if index < len(row)}
    if not any(cells.values()):
        return None
    if re.fullmatch(r"[A-Z]{1,3}\s?-?\d{1,3}[a-z]?", row[0].strip()):
        cells.setdefault("code", row[0].strip())
    label = _label(caption)
    if cells.get("requirement"):
        return _improvement(cells, label, page)
    subject = cells.get("parameter") or cells.get("point") or ""
    if not subject:
        return None
    point = cells.get("point") or cells.get("reference") or ""
    reference = " ".join(part for part in (label, point if point != subject else "", subject) if part)[:120]
    limit = cells.get("limit", "")
    if re.search(r"\d", limit):
        return _limit(cells, subject, reference, page)
    if cells.get("frequency") and re.search(r"report", f"{caption} {' '.join(cells)}", I):
        text = f"{subject} at {point} shall be reported: {cells['frequency']}."
        return TableDuty(reference, text, page, "REPORTING", parameter=subject)
    if cells.get("frequency"):
        where = f" at {point}" if point and point != subject else ""
        return TableDuty(
            reference,
            f"{subject}{where} shall be monitored {cells['frequency']}.",
            page,
            "MONITORING",
            subject,
        )
    return None


def _improvement(cells: dict[str, str], label: str, page: int) -> TableDuty | None:
    requirement = cells["requirement"]
    if len(requirement.split()) < 4:
        return None
    when = cells.get("date", "")
    if when and not re.match(r"(?:by|within|before|no|not|on|prior|at|complete)", when, I):
        when = f"by {when}" if re.match(r"\d", when) else when
    when = f"{when[0].lower()}{when[1:]}" if when else ""  # it goes on with the sentence
    text = requirement.rstrip(".") + (f", {when.rstrip('.')}." if when else ".")
    reference = cells.get("reference") or cells.get("code") or label or "improvement"
    return TableDuty(reference, text, page, "IMPROVEMENT")


def _limit(cells: dict[str, str], subject: str, reference: str, page: int) -> TableDuty:
    written = cells["limit"]
    unit = cells.get("unit") or re.sub(r"^[^A-Za-z°%µ]*", "", written).strip() or None
    numbers = [_number(text) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", re.sub(r"m3|m³|Nm3", "", written))]
    known = [number for number in numbers if number is not None]
    is_range = len(known) == 2 and bool(re.search(r"\d\s*(?:-|–|to|and)\s*\d", written))
    shown = written if not cells.get("unit") else f"{written} {cells['unit']}"
    verb = "shall lie within" if is_range else "shall not exceed"
    how_often = f", monitored {cells['frequency']}" if cells.get("frequency") else ""
    where = f" at {cells['point']}" if cells.get("point") and cells["point"] != subject else ""
    return TableDuty(
        reference,
        f"{subject}{where} {verb} {shown}{how_often}.",
        page,
        "LIMIT",
        parameter=subject,
        limit=max(known) if known else None,
        minimum=min(known) if is_range else None,
        unit=unit,
    )


def _label(caption: str) -> str:
    match = re.match(r"(table\s+[\w.]+)", caption, I)
    return match[1] if match else ""


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
