"""The console's pages of models and batteries: what they are, what their passports say, and what can be done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from sqlalchemy import Connection, RowMapping

from backstay.kit import Crumb, Entry, PageLinks, Pages, path_of
from backstay_passport.actions import batteries as battery_actions
from backstay_passport.actions import passports as actions
from backstay_passport.domain.battery import read_status
from backstay_passport.domain.errors import PassportError
from backstay_passport.services import Services
from backstay_passport.store import batteries, events, passports
from backstay_passport.web.lookup import Shown, shown
from backstay_passport.web.routing import Offset
from backstay_passport.web.views import Change, Section, difference, sections

PAGE = 100
Text = Annotated[str, Form(max_length=500)]


@dataclass(frozen=True)
class PassportView:
    """What a page of a battery or model shows of its passport."""

    versions: Sequence[dict[str, Any]]
    newest: Shown | None
    compared: RowMapping | None
    changes: Sequence[Change]
    history: Sequence[Entry]

    def sections(self) -> list[Section]:
        """Return all fields of the newest version."""
        if self.newest is None:
            return []
        return sections(
            self.newest.payload,
            self.newest.proof,
            actions.ALL_TIERS,
            rules_source=self.newest.rules_source,
            documents=self.newest.documents,
        )


def passport_view(
    connection: Connection, tenant_id: str, passport: RowMapping | None, compared_id: str
) -> PassportView:
    """Read a passport's versions, and compare the newest with the one before or with the one that is asked for."""
    rows = [] if passport is None else passports.versions_of(connection, tenant_id, passport["id"])
    if not rows:
        return PassportView([], None, None, [], [])
    newest = shown(connection, rows[0])
    compared = next((row for row in rows[1:] if row["id"] == compared_id), rows[1] if len(rows) > 1 else None)
    changes = [] if compared is None else difference(shown(connection, compared), newest)
    told = events.history(connection, tenant_id, newest.row["id"])
    return PassportView(
        versions=[
            {**row, "short": row["id"][:8], "issued": datetime.fromisoformat(row["issued_at"])}
            for row in rows
        ],
        newest=newest,
        compared=compared,
        changes=changes,
        history=[Entry(one.event_type, datetime.fromisoformat(one.occurred_at)) for one in told],
    )


def install(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    """Add the pages of batteries."""
    _lists(web, services, pages, reader)
    _single(web, services, pages, reader)
    _versions(web, services, pages, writer)
    _lives(web, services, pages, writer)


def _lists(web: APIRouter, services: Services, pages: Pages, reader: Any) -> None:
    @web.get("/batteries", response_model=None)
    def listed(request: Request, actor: reader, offset: Offset = 0) -> Response:
        with services.database.read() as connection:
            models = batteries.products(connection, actor.tenant)
            # One more than is shown says whether there is another page.
            found = batteries.page_of_units(connection, actor.tenant, limit=PAGE + 1, offset=offset)
        rows = [{**row, "href": path_of("console", "batteries", row["id"])} for row in found[:PAGE]]
        return pages.render(
            request,
            "batteries.html",
            title="Batteries",
            rows=rows,
            models=[{**row, "href": path_of("console", "models", row["id"])} for row in models],
            links=_links(offset, more=len(found) > PAGE, shown_rows=len(rows)),
        )


def _links(offset: int, *, more: bool, shown_rows: int) -> PageLinks:
    return PageLinks(
        next=str(offset + PAGE) if more else None,
        previous=str(max(0, offset - PAGE)) if offset else None,
        shown=shown_rows,
        parameter="offset",
    )


def _single(web: APIRouter, services: Services, pages: Pages, reader: Any) -> None:
    @web.get("/models/{product_id}", response_model=None)
    def model(request: Request, actor: reader, product_id: str, compare: str = "") -> Response:
        with services.database.read() as connection:
            row = batteries.product(connection, actor.tenant, product_id)
            found = passports.of_model(connection, product_id)
            view = passport_view(connection, actor.tenant, found, compare)
        return pages.render(
            request,
            "model.html",
            title=f"Model {row['sku']}",
            crumbs=[Crumb("Batteries", "/console/batteries"), Crumb(row["sku"])],
            model=row,
            view=view,
        )

    @web.get("/batteries/{unit_id}", response_model=None)
    def one(request: Request, actor: reader, unit_id: str, compare: str = "") -> Response:
        with services.database.read() as connection:
            unit = batteries.unit(connection, actor.tenant, unit_id)
            found = passports.of_unit(connection, unit_id)
            view = passport_view(connection, actor.tenant, found, compare)
            lineage = batteries.lineage(connection, actor.tenant, unit_id)
            successor = batteries.successor(connection, actor.tenant, unit_id)
        return pages.render(
            request,
            "battery.html",
            title=f"Battery {unit['serial']}",
            crumbs=[Crumb("Batteries", "/console/batteries"), Crumb(unit["serial"])],
            unit=unit,
            view=view,
            lineage=lineage,
            successor=successor,
        )


def _versions(web: APIRouter, services: Services, pages: Pages, writer: Any) -> None:
    @web.post("/batteries/{unit_id}/compile", response_model=None)
    def compile_unit(request: Request, actor: writer, unit_id: str) -> Response:
        back = path_of("console", "batteries", unit_id)
        try:
            inputs = actions.inputs(services, actor.tenant, None, None)
            with services.database.read() as connection:
                product_id = batteries.unit(connection, actor.tenant, unit_id)["product_id"]
            passport_id = actions.create(services, actor.tenant, product_id, unit_id, actor.name)
            actions.compile_version(services, actor.tenant, passport_id, *inputs)
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash="A version is being made.")

    @web.post("/models/{product_id}/compile", response_model=None)
    def compile_model(request: Request, actor: writer, product_id: str, batteries_too: Text = "") -> Response:
        back = path_of("console", "models", product_id)
        try:
            inputs = actions.inputs(services, actor.tenant, None, None)
            asked = actions.compile_model(
                services,
                actor.tenant,
                product_id,
                snapshot_id=inputs[0],
                rules_id=inputs[1],
                batteries_too=bool(batteries_too),
                actor=actor.name,
            )
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash=f"Versions are being made: {len(asked)}.")

    @web.post("/versions/{version_id}/activate", response_model=None)
    def activate(request: Request, actor: writer, version_id: str) -> Response:
        back = _page_of(services, actor.tenant, version_id)
        try:
            actions.activate(services, actor.tenant, version_id, actor.name)
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash="It is active.")

    @web.post("/versions/{version_id}/revoke", response_model=None)
    def revoke(request: Request, actor: writer, version_id: str, reason: Text = "") -> Response:
        back = _page_of(services, actor.tenant, version_id)
        try:
            actions.revoke(services, actor.tenant, version_id, reason, actor.name)
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash="It is revoked.")


def _page_of(services: Services, tenant_id: str, version_id: str) -> str:
    with services.database.read() as connection:
        row = passports.version(connection, tenant_id, version_id)
        passport = passports.get(connection, tenant_id, row["passport_id"])
    if passport["battery_unit_id"] is None:
        return path_of("console", "models", passport["battery_product_id"])
    return path_of("console", "batteries", passport["battery_unit_id"])


def _lives(web: APIRouter, services: Services, pages: Pages, writer: Any) -> None:
    @web.post("/batteries/{unit_id}/status", response_model=None)
    def status(request: Request, actor: writer, unit_id: str, status: Text = "") -> Response:
        back = path_of("console", "batteries", unit_id)
        try:
            battery_actions.change_unit(services, actor.tenant, unit_id, {"status": status}, actor.name)
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash="The status is changed; a new version will say so.")

    @web.post("/batteries/{unit_id}/lives", response_model=None)
    def new_life(
        request: Request, actor: writer, unit_id: str, status: Text = "", serial: Text = ""
    ) -> Response:
        try:
            made = battery_actions.begin_new_life(
                services,
                actor.tenant,
                unit_id,
                status=read_status(status),
                serial=serial.strip(),
                data={},
                actor=actor.name,
            )
        except PassportError as error:
            back = path_of("console", "batteries", unit_id)
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(
            request,
            path_of("console", "batteries", made),
            flash="A new life begins; the old passport has ended.",
        )
