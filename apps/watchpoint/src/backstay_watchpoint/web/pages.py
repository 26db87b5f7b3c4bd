"""The operations pages: the day strip, tasks and runs, forecasts, quality, billing, retention."""

from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from backstay.kit import (
    Actor,
    Authentication,
    Login,
    NavItem,
    Pages,
    Passwords,
    Roles,
    Sessions,
    SigningKeys,
    StripCell,
    StripRow,
    Tone,
    hash_password,
    not_found,
    path_of,
)
from backstay_watchpoint.domain.audit_archive import BadArchive
from backstay_watchpoint.domain.catalogue import EARLIEST, LATEST
from backstay_watchpoint.domain.day_strip import Cell
from backstay_watchpoint.domain.day_strip import StripCell as DayCell
from backstay_watchpoint.health_report import read_health
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.services import calibration
from backstay_watchpoint.services.audit import restore_audit_logs
from backstay_watchpoint.services.outside import StorageError
from backstay_watchpoint.services.security import SecurityEvent, note_attempt
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.web import board
from backstay_watchpoint.web.task_pages import add_task_pages
from backstay_watchpoint.web.work_page import add_work_page

TONES: dict[str, Tone] = {
    "done": "good",
    "success": "good",
    "complete": "good",
    "ok": "good",
    "as expected": "good",
    "promoted": "good",
    "skipped": "muted",
    "rejected": "muted",
    "deleted": "muted",
    "back-filled": "info",
    "running": "accent",
    "waiting": "accent",
    "braked": "warn",
    "pending": "warn",
    "failed": "bad",
    "failing": "bad",
    "missing": "bad",
    "wrong": "bad",
    "critical": "bad",
}
QUIET = (Cell.IDLE, Cell.DUE)
"""Shown empty: what is still to come must not draw the eye."""
NAV = [
    NavItem("Day", "/ops", key="g d"),
    NavItem("Work", "/ops/work", key="g w"),
    NavItem("Forecasts", "/ops/forecasts", key="g f"),
    NavItem("Quality", "/ops/quality", key="g q"),
    NavItem("Billing", "/ops/billing", key="g b"),
    NavItem("Retention", "/ops/retention", key="g r"),
]


def install_pages(app: FastAPI, jobs: Jobs) -> None:
    """Add the login and the pages to an application."""
    settings = jobs.platform.settings
    keys = SigningKeys(settings.secret)
    roles = Roles({"operator": ["ops.*"]})
    sessions = Sessions(keys, roles)
    templates = Path(__file__).parent / "templates"
    pages = Pages(
        "Watchpoint operations",
        keys,
        nav=NAV,
        templates=templates,
        sessions=sessions,
        home="/ops",
        tones=TONES,
    )
    auth = Authentication(sessions=sessions, csrf=pages.csrf)
    stored = hash_password(settings.ops_password) if settings.ops_password else None
    checker = Passwords()

    async def authenticate(name: str, password: str) -> Actor | None:
        known = stored if name == settings.ops_user else None
        if await checker.match(password, known):
            return roles.actor(name, ["operator"])
        await note_attempt(jobs.platform.database, SecurityEvent.LOGIN_FAILED, jobs.platform.clock())
        return None

    pages.install(app)
    app.include_router(Login(pages, authenticate).router())
    web = pages.router()
    operator = Annotated[Actor, Depends(auth.require("ops.use"))]
    _day_routes(web, pages, jobs, operator)
    add_task_pages(web, pages, jobs, operator)
    add_work_page(web, pages, jobs, operator)
    _look_routes(web, pages, jobs, operator)
    _decision_routes(web, pages, jobs, operator)
    app.include_router(web)


def _day_routes(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    platform = jobs.platform

    @web.get("/ops")
    async def day(request: Request, actor: operator, day: date | None = None) -> Response:
        now = platform.clock()
        shown = day or now.date()
        if not EARLIEST.date() < shown < LATEST.date():
            raise not_found()
        async with platform.database.reading() as transaction:
            strip = await board.strip_of(transaction, platform.tasks, shown, now)
            counts = await board.counts_of_day(transaction, shown)
            braked = await board.braked_runs(transaction)
            alerts = await board.recent_alerts(transaction, 8)
        rows = [
            StripRow(
                row.task,
                [
                    StripCell(
                        "" if cell.cell in QUIET else cell.cell,
                        _told(row.task, hour, cell),
                        path_of("ops", "tasks", row.task),
                    )
                    for hour, cell in enumerate(row.cells)
                ],
                path_of("ops", "tasks", row.task),
            )
            for row in strip
        ]
        late = [line for line in await read_health(platform) if line.is_late]
        return pages.render(
            request,
            "day.html",
            title=f"{shown:%A %d %B %Y}",
            rows=rows,
            counts=counts,
            braked=braked,
            alerts=alerts,
            late=late,
            earlier=(shown - timedelta(days=1)).isoformat(),
            later=(shown + timedelta(days=1)).isoformat(),
        )


def _told(task: str, hour: int, cell: DayCell) -> str:
    return f"{task} {hour:02d}:00: {cell.cell}, {cell.runs} runs of {cell.expected}, {cell.items} items"


def _look_routes(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    platform = jobs.platform
    by_source = platform.settings.forecast.upstream_mirrors.values()
    order = list(dict.fromkeys(mirror.name for mirrors in by_source for mirror in mirrors))

    @web.get("/ops/forecasts")
    async def forecasts(request: Request, actor: operator) -> Response:
        async with platform.database.reading() as transaction:
            found = await board.forecast_board(transaction, order)
        return pages.render(request, "forecasts.html", title="Forecasts", **found)

    @web.get("/ops/quality")
    async def quality(request: Request, actor: operator) -> Response:
        async with platform.database.reading() as transaction:
            found = await board.quality(transaction)
            alerts = await board.recent_alerts(transaction)
        return pages.render(request, "quality.html", title="Quality", alerts=alerts, **found)

    @web.get("/ops/billing")
    async def billing(request: Request, actor: operator) -> Response:
        async with platform.database.reading() as transaction:
            drifts = await board.drifts(transaction)
            at_risk = await board.organizations_at_risk(transaction)
        return pages.render(request, "billing.html", title="Billing", drifts=drifts, at_risk=at_risk)

    @web.get("/ops/retention")
    async def retention(request: Request, actor: operator) -> Response:
        async with platform.database.reading() as transaction:
            report = await board.retention_report(transaction, platform.clock())
        for row in report:
            row["href"] = path_of("ops", "tasks", str(row["task"]))
        archived, problem = await _archived(jobs)
        return pages.render(
            request, "retention.html", title="Retention", report=report, archived=archived, problem=problem
        )


def _decision_routes(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    platform = jobs.platform

    @web.post("/ops/candidates/{candidate_id}/{decision}")
    async def decide(request: Request, actor: operator, candidate_id: str, decision: str) -> Response:
        decide_it = {"approve": calibration.approve, "reject": calibration.reject}.get(decision)
        if decide_it is None:
            raise not_found()
        try:
            async with platform.database.transaction() as transaction:
                tile = await decide_it(transaction, candidate_id, by=actor.name, now=platform.clock())
        except calibration.NoCandidate:
            raise not_found() from None
        word = "promoted" if decision == "approve" else "rejected"
        return pages.redirect(request, "/ops/quality", flash=f"Tile {tile}: {word}.", tone="good")

    @web.post("/ops/restore")
    async def restore(request: Request, actor: operator) -> Response:
        form = await request.form()
        key = str(form.get("key", ""))
        work = Work(platform.database, platform.clock(), jobs.publisher)
        try:
            bucket = platform.settings.archive_bucket
            count = await restore_audit_logs(work, platform.objects, bucket, key, by=actor.name)
        except (StorageError, BadArchive) as error:
            return pages.redirect(request, "/ops/retention", flash=f"Not restored: {error}", tone="bad")
        return pages.redirect(request, "/ops/retention", flash=f"{count} records restored.", tone="good")


async def _archived(jobs: Jobs) -> tuple[list[dict[str, Any]], str | None]:
    """List archived audit objects; an object store that does not answer is a note on the page, not its end."""
    platform = jobs.platform
    found: list[dict[str, Any]] = []
    try:
        async for stored in platform.objects.listing(platform.settings.archive_bucket, "audit/"):
            found.append({"key": stored.key, "size": stored.size})
            if len(found) == 50:
                break
    except StorageError as error:
        return found, str(error)
    return found, None
