"""The register as rows for a sheet, and as a calendar that can be subscribed to."""

from collections.abc import Sequence
from typing import Any

from backstay_oblicore.domain.icalendar import Event, calendar_of

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
    return calendar_of(
        Event(
            uid=str(row["id"]),
            day=row["deadline_date"],
            summary=row["summary"],
            url=f"{public_url}/obligations/{row['id']}",
            location=row["site_name"],
        )
        for row in rows
        if row["deadline_date"] is not None
    )
