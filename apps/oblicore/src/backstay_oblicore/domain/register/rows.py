"""Checking the rows of a register, each by itself and against what is there already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from backstay_oblicore.domain import texts
from backstay_oblicore.domain.errors import FileTooLarge, TooManyRows
from backstay_oblicore.domain.words import Frequency

MOST_ROWS = 10_000
MOST_BYTES = 10_000_000
FREQUENCIES = {
    "daily": Frequency.DAILY,
    "weekly": Frequency.WEEKLY,
    "monthly": Frequency.MONTHLY,
    "quarterly": Frequency.QUARTERLY,
    "annually": Frequency.ANNUAL,
    "annual": Frequency.ANNUAL,
    "one-time": Frequency.ONE_TIME,
    "one time": Frequency.ONE_TIME,
    "one_time": Frequency.ONE_TIME,
    "continuous": Frequency.CONTINUOUS,
    "event": Frequency.EVENT_TRIGGERED,
    "event-triggered": Frequency.EVENT_TRIGGERED,
    "event_triggered": Frequency.EVENT_TRIGGERED,
}
UNDATED = (Frequency.CONTINUOUS, Frequency.EVENT_TRIGGERED)
DATE_FORMATS = (
    "%Y-%m-%d", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d/%m/%y",
    "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
)  # fmt: skip
EXCEL_EPOCH = date(1899, 12, 30)
PLAUSIBLE_SERIALS = range(20_000, 80_000)  # 1954 to 2119


@dataclass(frozen=True)
class Known:
    """What the company has already: its sites by id and by name, its obligations, the import's own site."""

    import_site: str
    sites: Mapping[str, str]  # id or lower-case name → id
    obligations: frozenset[tuple[str, str, str]] = frozenset()  # permit, title, site
    helpers: Mapping[str, str] = field(default_factory=dict)  # address or lower-case name → id
    create_missing_sites: bool = False
    skip_duplicates: bool = True


@dataclass
class Checked:
    """The outcome of a check, in the shapes that are stored."""

    valid: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    row_count: int = 0

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """The valid rows that carry a warning."""
        return [row for row in self.valid if row["warnings"]]


def check_size(size: int) -> None:
    """Refuse a file above the limit."""
    if size > MOST_BYTES:
        raise FileTooLarge(
            f"the file has {size:,} bytes; at most {MOST_BYTES:,} are taken: split the register"
        )


def check_rows(
    rows: Iterable[tuple[int, Sequence[Any]]], columns: Mapping[str, int], known: Known
) -> Checked:
    """Check numbered rows; blank ones are passed over, the rest is valid or has named faults."""
    checked = Checked()
    seen: set[tuple[str, str, str]] = set()
    for number, cells in rows:
        if all(_is_blank(cell) for cell in cells):
            continue
        checked.row_count += 1
        if checked.row_count > MOST_ROWS:
            raise TooManyRows(f"the register has more than {MOST_ROWS:,} rows: split it")
        values = {name: cells[index] if index < len(cells) else None for name, index in columns.items()}
        _check_row(number, values, known, seen, checked)
    return checked


def _check_row(
    number: int, values: Mapping[str, Any], known: Known, seen: set[tuple[str, str, str]], checked: Checked
) -> None:
    errors: list[str] = []
    warnings: list[str] = []
    data: dict[str, Any] = {name: _text(value) for name, value in values.items()}
    if not data.get("permit_number"):
        errors.append(texts.MISSING_PERMIT_NUMBER)
    if not data.get("obligation_title"):
        errors.append(texts.MISSING_OBLIGATION_TITLE)
    frequency = FREQUENCIES.get(str(data.get("frequency") or "").lower())
    due = read_date(values.get("deadline_date"))
    if due is None and not (frequency in UNDATED and _is_blank(values.get("deadline_date"))):
        errors.append(texts.INVALID_DATE)
    if frequency is None:
        errors.append(texts.INVALID_FREQUENCY)
    site = _site(data.get("site_id"), known, errors, warnings)
    helper = known.helpers.get((data.get("assigned_to") or "").lower())
    if data.get("assigned_to") and helper is None:
        warnings.append(texts.ASSIGNEE_NOT_FOUND)
    data |= {
        "assigned_id": helper,
        "frequency": frequency,
        "deadline_date": due.isoformat() if due else None,
        **site,
    }
    key = (str(data.get("permit_number")), str(data.get("obligation_title")), str(site["site_id"]))
    if not errors and known.skip_duplicates and (key in known.obligations or key in seen):
        warnings.append(texts.DUPLICATE_OBLIGATION)
    if errors:
        checked.errors.append({"row_number": number, "errors": errors})
        return
    seen.add(key)
    checked.valid.append({"row_number": number, "data": data, "warnings": warnings})


def _site(cell: str | None, known: Known, errors: list[str], warnings: list[str]) -> dict[str, str | None]:
    if not cell:
        return {"site_id": known.import_site, "site_name": None}
    found = known.sites.get(cell) or known.sites.get(cell.lower())
    if found:
        return {"site_id": found, "site_name": None}
    if known.create_missing_sites and not re.fullmatch(r"[0-9a-fA-F-]{36}", cell):
        warnings.append(texts.SITE_WILL_BE_CREATED)
        return {"site_id": None, "site_name": cell}
    errors.append(texts.SITE_NOT_FOUND)
    return {"site_id": None, "site_name": cell}


def read_date(cell: Any) -> date | None:
    """Read a date cell: a date, a spreadsheet's serial number, or text in a usual British or ISO form."""
    if isinstance(cell, datetime):
        return cell.date()
    if isinstance(cell, date):
        return cell
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return EXCEL_EPOCH + timedelta(days=int(cell)) if int(cell) in PLAUSIBLE_SERIALS else None
    text = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", _text(cell) or "")
    for pattern in DATE_FORMATS:
        try:
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 - a register's dates have no zone
        except ValueError:
            continue
    if re.fullmatch(r"\d{5}(\.0+)?", text):
        return read_date(float(text))
    return None


def _text(cell: Any) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    text = str(cell).replace("\x00", "").strip()
    return text or None


def _is_blank(cell: Any) -> bool:
    return _text(cell) is None
