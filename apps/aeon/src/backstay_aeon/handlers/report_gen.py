"""report_gen: the figures of a team and a period, as PDF, workbook or CSV."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_aeon import services
from backstay_aeon.domain.errors import BadRequest
from backstay_aeon.job_types import Envelope, JobType, add
from backstay_aeon.store import reports
from backstay_parts.pdf import PageFrame, write_pdf
from backstay_parts.sheets import write_csv, write_xlsx

FORMATS = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
LONGEST = timedelta(days=366)


class ReportGen(JobType):
    """Make a report."""

    name = "report_gen"
    queue = "reports"
    title = "Make a report"

    def validate(self, payload: dict[str, Any]) -> None:
        """A report, a format and a period that there are."""
        if payload.get("report") not in tuple(reports.FIGURES):
            raise BadRequest(f"the report is one of {', '.join(reports.FIGURES)}", field="payload/report")
        if payload.get("format", "pdf") not in tuple(FORMATS):
            raise BadRequest(f"the format is one of {', '.join(FORMATS)}", field="payload/format")
        period_of(payload, datetime(2026, 1, 1, tzinfo=UTC))

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        """Reckon, print, store; a repetition replaces the file of the same job."""
        here, form = services.here(), payload.get("format", "pdf")
        first, last = period_of(payload, ctx.now)
        team_id = UUID(envelope.team_id)
        figures = await reports.figures(here.database, payload["report"], team_id, first, last)
        content = await asyncio.to_thread(printed, payload["report"], form, figures, first, last)
        key = f"teams/{team_id}/reports/{ctx.job_id}.{form}"
        digest = await here.files.put(key, content, FORMATS[form])
        await reports.save(
            here.database,
            ctx.job_id,
            team_id,
            payload["report"],
            form,
            (first, last),
            key,
            content,
            digest,
            figures,
        )
        return {
            "report_id": str(ctx.job_id),
            "path": key,
            "size": len(content),
            "input": payload.get("input"),
        }


def period_of(payload: dict[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """The period that is meant: two moments, or so many days up to now."""
    given = payload.get("period") or {"days": 30}
    try:
        if "days" in given:
            first, last = now - timedelta(days=int(given["days"])), now
        else:
            first, last = (datetime.fromisoformat(given[name]).astimezone(UTC) for name in ("from", "to"))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadRequest(
            'the period is {"days": 30} or {"from": …, "to": …}', field="payload/period"
        ) from None
    if not timedelta(0) < last - first <= LONGEST:
        raise BadRequest("a period ends after its beginning and is at most a year", field="payload/period")
    return first, last


def printed(title: str, form: str, figures: list[dict[str, Any]], first: datetime, last: datetime) -> bytes:
    """The figures in one of the formats; no cell of it becomes a formula."""
    head = list(figures[0]) if figures else ["nothing in this period"]
    rows = [head, *([_cell(row[name]) for name in head] for row in figures)]
    if form == "csv":
        return write_csv(rows)
    if form == "xlsx":
        return write_xlsx({title: rows})
    return _pdf(title.replace("_", " ").capitalize(), rows, f"{first:%Y-%m-%d} to {last:%Y-%m-%d}")


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float | str) or value is None else str(value)


def _pdf(title: str, rows: list[list[Any]], period: str) -> bytes:
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, Spacer, Table, TableStyle

    look = getSampleStyleSheet()
    table = Table([["" if cell is None else str(cell)[:40] for cell in row] for row in rows], repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#E8ECF1")),
                ("FONTSIZE", (0, 0), (-1, -1), 8),
                ("LINEBELOW", (0, 0), (-1, -1), 0.25, colors.HexColor("#C7CED6")),
            ]
        )
    )
    return write_pdf(
        PageFrame(title, head=title, foot=period), [Paragraph(title, look["Title"]), Spacer(1, 12), table]
    )


add(ReportGen())
