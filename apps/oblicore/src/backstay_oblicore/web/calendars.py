"""The register as rows for a sheet, and as a calendar that can be subscribed to."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

HEAD = (
    "Reference", "Duty", "Text", "Site", "Document", "Permit number", "Category", "Frequency", "Due", "Status",
    "Evidence", "Found by",
)  # fmt: skip


def register_rows(rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Return head and rows; the writer keeps any cell from becoming a formula."""
    found: list[list[Any]] = [list(HEAD)]
    for row in rows:
        found.append(
            [
                row["condition_reference"],
                row["summary"],
                row["original_text"],
                row["site_name"],
                row["document_title"],
                row["permit_number"],
                row["category"],
                row["frequency"],
                row["deadline_date"],
                row["status"],
                row["evidence_count"],
                row["source"],
            ]
        )
    return found


def calendar_file(rows: Sequence[dict[str, Any]], *, public_url: str) -> bytes:
    """Write the dated duties as an iCalendar file; each keeps its id, so that a new copy replaces the old."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Oblicore//Register//EN", "CALSCALE:GREGORIAN"]
    for row in rows:
        due = row["deadline_date"]
        if due is None:
            continue
        lines += [
            "BEGIN:VEVENT",
            f"UID:{row['id']}@oblicore",
            "DTSTAMP:20260101T000000Z",
            f"DTSTART;VALUE=DATE:{due:%Y%m%d}",
            f"DTEND;VALUE=DATE:{due + timedelta(days=1):%Y%m%d}",
            f"SUMMARY:{_escaped(row['summary'])}",
            f"LOCATION:{_escaped(row['site_name'])}",
            f"URL:{public_url}/obligations/{row['id']}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return ("\r\n".join(_folded(line) for line in lines) + "\r\n").encode()


def _escaped(text: str) -> str:
    for mark in ("\\", ";", ","):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def _folded(line: str) -> str:
    """Break a line before it has more than 75 bytes, as the format wants it."""
    parts, current = [], ""
    for letter in line:
        if len((current + letter).encode()) > 74:
            parts.append(current)
            current = ""
        current += letter
    return "\r\n ".join([*parts, current])
