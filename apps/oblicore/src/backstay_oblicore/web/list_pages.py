"""Home, inbox, ledger and the simple lists."""

from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from backstay.kit import Actor, Problem, not_found, path_of
from backstay_oblicore.services import Services
from backstay_oblicore.store import packs as pack_store
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.api_bodies import file_response
from backstay_oblicore.web.shared import list_page

LISTS: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "evidence": ("Evidence", "/evidence", [
        ("file_name", "File", "text"), ("site_name", "Site", "text"), ("links", "Duties", "number"),
        ("file_size_bytes", "Size", "size"), ("upload_date", "Filed", "time")]),
    "sampling": ("Sampling", "/sampling", [
        ("parameter_type", "Parameter", "text"), ("site_name", "Site", "text"),
        ("sampling_frequency", "Frequency", "text"),
        ("limit_value", "Limit", "text"), ("recorded_value", "Last result", "text"), ("unit", "Unit", "text"),
        ("sample_date", "Sampled", "text"), ("standing", "Standing", "badge")]),
    "generators": ("Generators", "/generators", [
        ("generator_identifier", "Generator", "text"), ("site_name", "Site", "text"),
        ("current_year_hours", "Hours this limit year", "text"), ("annual_run_hour_limit", "Limit", "text"),
        ("current_month_hours", "This month", "text"), ("anniversary_date", "Year from", "text")]),
    "aer": ("Annual emissions reports", "/aer", [
        ("title", "Document", "text"), ("reporting_period_start", "From", "text"),
        ("reporting_period_end", "To", "text"),
        ("total_run_hours", "Hours", "text"), ("is_validated", "Valid", "text"), ("status", "Status", "badge")]),
    "packs": ("Packs", "/packs", [
        ("pack_type", "Pack", "text"), ("date_range_start", "From", "text"), ("date_range_end", "To", "text"),
        ("total_obligations", "Duties", "number"), ("overdue_count", "Overdue", "number"),
        ("integrity_errors_count", "Integrity errors", "number"), ("created_at", "Made", "time")]),
    "imports": ("Imports", "/imports", [
        ("file_name", "File", "text"), ("status", "Status", "badge"), ("row_count", "Rows", "number"),
        ("valid_count", "Valid", "number"), ("error_count", "Errors", "number"), ("created_at", "Started", "time")]),
    "consultant": ("Clients", "/consultant", [
        ("name", "Client", "text"), ("score", "Score", "text"), ("overdue", "Overdue", "text"),
        ("total", "Duties", "text"),
        ("updated_at", "Updated", "time")]),
}  # fmt: skip
LINKS = {
    "aer": "/aer/{id}",
    "evidence": "/evidence/{id}/download",
    "packs": "/packs/{id}",
    "imports": "/obligations/import/{id}/preview",
    "generators": "/generators/{id}",
    "sampling": "/sampling/{id}",
}

ACTIONS = {
    "imports": ("Import a register", "/imports/new"),
    "packs": ("Make a pack", "/packs/new"),
    "generators": ("Register a generator", "/generators/new"),
    "sampling": ("Add a parameter", "/sampling/new"),
    "aer": ("Draw up a report", "/aer/new"),
}


def home_pages(web: APIRouter, services: Services, access: Access, reader: Any) -> None:
    _home_pages_home(web, services, access, reader)
    _home_pages_inbox(web, services, access, reader)
    _home_pages_ledger(web, services, access, reader)


def _home_pages_home(web: APIRouter, services: Services, access: Access, reader: Any) -> None:
    @web.get("/")
    async def home(request: Request, actor: reader) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await queries.home(connection, user_of(actor), datetime.now(UTC).date())
            clients = await queries.table(connection, "consultant") if actor.may("consult") else []
        for row in found["soon"]:
            row["href"] = path_of("obligations", str(row["id"]))
        for row in found["sites"]:
            row["href"] = f"/obligations?site={row['id']}"
        return access.pages.render(
            request, "home.html", title=f"Good day, {actor.name}", home=found, clients=clients
        )


def _home_pages_inbox(web: APIRouter, services: Services, access: Access, reader: Any) -> None:
    @web.get("/inbox")
    async def inbox(request: Request, actor: reader) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            rows = await queries.inbox(connection, user_of(actor))
        for row in rows:
            row["href"] = row["action_url"]
            row["tone"] = "" if row["read_at"] else "warn"
        return access.pages.render(request, "inbox.html", title="Inbox", notes=rows)

    @web.post("/inbox/read")
    async def read(request: Request, actor: reader) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            await connection.execute(
                "UPDATE oblicore.notifications SET read_at = now(), status = 'READ'"
                " WHERE user_id = $1 AND channel = 'IN_APP' AND read_at IS NULL",
                user_of(actor),
            )
        return access.pages.redirect(request, "/inbox")


def _home_pages_ledger(web: APIRouter, services: Services, access: Access, reader: Any) -> None:
    manager = Annotated[Actor, Depends(access.auth.require("manage"))]

    @web.get("/ledger")
    async def ledger(request: Request, actor: manager, day: str = "") -> Response:
        chosen = _day(day)
        async with services.database.as_service() as connection:
            # The ledger is about other people's mail, which row security hides: the filter is this role check.
            held = await connection.fetch(
                "SELECT company_id FROM oblicore.user_roles WHERE user_id = $1 AND role IN ('OWNER', 'ADMIN')",
                user_of(actor),
            )
            companies = [row["company_id"] for row in held]
            rows = queries.plain(await connection.fetch(queries.LEDGER, companies, chosen))
            counts = await connection.fetch(queries.LEDGER_COUNTS, companies, chosen)
        return access.pages.render(
            request,
            "ledger.html",
            title="Delivery ledger",
            rows=rows,
            day=day,
            counts={row["status"]: row["messages"] for row in counts},
        )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Problem(422, "bad_day", "A day is written as 2026-05-31.") from None


def simple_pages(web: APIRouter, services: Services, access: Access, reader: Any) -> None:
    def add(name: str, title: str, path: str, spec: list[tuple[str, str, str]]) -> None:
        async def page(request: Request, actor: reader) -> Response:
            async with services.database.as_user(user_of(actor)) as connection:
                rows = await queries.table(connection, name)
            for row in rows:
                row["href"] = LINKS[name].format(id=row["id"]) if name in LINKS else None
            actions = [ACTIONS[name]] if name in ACTIONS and actor.may("write") else []
            return list_page(
                request, access, title, spec, rows, empty=f"No {title.lower()} yet.", actions=actions
            )

        web.add_api_route(path, page, methods=["GET"], name=name)

    for name, (title, path, spec) in LISTS.items():
        add(name, title, path, spec)

    @web.get("/evidence/{evidence_id}/download")
    async def evidence_file(actor: reader, evidence_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            path = await connection.fetchval(
                "SELECT storage_path FROM oblicore.evidence_items WHERE id = $1 AND deleted_at IS NULL",
                evidence_id,
            )
        if path is None:
            raise not_found()
        return await file_response(services, path)

    @web.get("/audit-packs/{pack_id}/download")
    async def pack(actor: reader, pack_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            row = await pack_store.find(connection, pack_id)
        if row is None:
            raise not_found()
        return await file_response(services, row["storage_path"])
