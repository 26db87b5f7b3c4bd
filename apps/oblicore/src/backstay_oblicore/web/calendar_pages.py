"""The calendar: a month at a time, and an address that calendar programs subscribe to."""

import calendar as months
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from backstay.kit import Actor, Problem, SigningKeys, not_found, path_of
from backstay_oblicore.domain import calendar
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.calendars import calendar_file

PURPOSE = "oblicore calendar"
SHOWN_A_DAY = 4
DUE = """
    SELECT due.due_date, duty.id, duty.summary, site.name AS site_name, due.status
    FROM oblicore.deadlines AS due
    JOIN oblicore.obligations AS duty ON duty.id = due.obligation_id
    JOIN oblicore.sites AS site ON site.id = due.site_id
    WHERE duty.deleted_at IS NULL AND duty.review_status <> 'REJECTED' AND due.status <> 'NOT_APPLICABLE'
      AND due.due_date BETWEEN $1 AND $2
    ORDER BY due.due_date, due.status = 'COMPLETED', duty.summary, duty.id
"""


def calendar_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the page and the subscription."""
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    keys = SigningKeys(services.settings.secret)

    @web.get("/calendar")
    async def shown(request: Request, actor: reader, month: str = "") -> Response:
        today = datetime.now(UTC).date()
        first = _first_of(month, today)
        weeks = months.Calendar().monthdatescalendar(first.year, first.month)
        async with services.database.as_user(user_of(actor)) as connection:
            rows = queries.plain(await connection.fetch(DUE, weeks[0][0], weeks[-1][-1]))
        by_day = _by_day(rows)
        return access.pages.render(
            request,
            "calendar.html",
            title=f"{first:%B %Y}",
            weeks=[[_day(one, first, today, by_day) for one in week] for week in weeks],
            before=f"{first - timedelta(days=1):%Y-%m}",
            after=f"{calendar.add_months(first, 1):%Y-%m}",
            count=sum(first <= row["due_date"] <= calendar.period_end(first, 1) for row in rows),
            subscription=f"{services.settings.public_url}/calendars/{keys.seal(PURPOSE, actor.id.encode())}.ics",
        )

    @web.get("/calendars/{sealed}.ics")
    async def subscribed(sealed: str) -> Response:
        # A calendar program has no session: the address itself says whose calendar it is, and is sealed.
        named = keys.open(PURPOSE, sealed)
        if named is None:
            raise not_found()
        async with services.database.as_user(UUID(named.decode())) as connection:
            rows = await queries.register(connection)
        content = calendar_file(rows, public_url=services.settings.public_url)
        return Response(content, media_type="text/calendar; charset=utf-8")


def _first_of(month: str, today: date) -> date:
    if not month:
        return today.replace(day=1)
    try:
        found = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC).date()
    except ValueError:
        raise Problem(422, "bad_month", "A month is written as 2026-05.") from None
    if not 1990 <= found.year <= 2100:
        raise Problem(422, "bad_month", "The calendar goes from 1990 to 2100.")
    return found


def _by_day(rows: list[dict[str, Any]]) -> dict[date, list[dict[str, Any]]]:
    found: dict[date, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        row["href"] = path_of("obligations", str(row["id"]))
        found[row["due_date"]].append(row)
    return found


def _day(day: date, first: date, today: date, rows: dict[date, list[dict[str, Any]]]) -> dict[str, Any]:
    due = rows.get(day, [])
    return {
        "day": day,
        "is_other": day.month != first.month,
        "is_today": day == today,
        "due": due[:SHOWN_A_DAY],
        "more": max(len(due) - SHOWN_A_DAY, 0),
    }
