"""The register and one duty: read, exported, corrected, handed over, done, with evidence."""

from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import Actor, CheckedForm, Column, Crumb, blank_form, check_form, not_found, path_of
from backstay_oblicore import deciding, intake
from backstay_oblicore.domain.errors import AccessDenied, OblicoreError
from backstay_oblicore.domain.words import Category, Frequency, ObligationStatus
from backstay_oblicore.services import Services
from backstay_oblicore.store import obligations as duties
from backstay_oblicore.store.reviews import Changes
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.calendars import calendar_file, register_rows
from backstay_oblicore.web.review_pages import CHOSEN
from backstay_oblicore.web.shared import uploaded
from backstay_parts.sheets import write_csv, write_xlsx

SHOWN = 500
COLUMNS = [
    Column("summary", "Duty"),
    Column("condition_reference", "Ref.", hide_on_phone=True),
    Column("deadline_date", "Due"),
    Column("status", "Status", kind="badge"),
    Column("frequency", "Frequency", kind="badge", tone="none", hide_on_phone=True),
    Column("evidence_count", "Evidence", kind="number", hide_on_phone=True),
    Column("site_name", "Site", hide_on_phone=True),
]


class Filters(BaseModel):
    """What the register is narrowed to; an empty text is no filter."""

    status: ObligationStatus | None = None
    site: UUID | None = None
    category: Category | None = None
    q: str = Field(default="", max_length=200)

    @classmethod
    def of(cls, request: Request) -> "Filters":
        """Read the filters of an address; one that does not fit is as none."""
        given = {
            key: value for key, value in request.query_params.items() if value and key in cls.model_fields
        }
        for key in list(given):
            try:
                cls.model_validate({key: given[key]})
            except ValueError:
                del given[key]
        return cls.model_validate(given)


class Correction(BaseModel):
    """What somebody changes about a duty."""

    summary: str = Field(min_length=1, max_length=500)
    frequency: Frequency | None = None
    first_due: date | None = None
    missing: str | None = Field(default=None, max_length=200)
    missing_date: date | None = None
    assigned_to: UUID | None = None
    is_rolling: bool = False
    does_not_apply: bool = False


def register_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the pages."""
    _register(web, services, access)
    _one(web, services, access)
    _done_and_evidence(web, services, access)


def _register(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    async def rows_for(actor: Actor, filters: Filters) -> list[dict[str, Any]]:
        async with services.database.as_user(user_of(actor)) as connection:
            return await queries.register(
                connection,
                status=filters.status,
                site=filters.site,
                category=filters.category,
                words=filters.q or None,
            )

    @web.get("/obligations")
    async def register(request: Request, actor: reader) -> Response:
        filters = Filters.of(request)
        rows = await rows_for(actor, filters)
        for row in rows:
            row["href"] = path_of("obligations", str(row["id"]))
        async with services.database.as_user(user_of(actor)) as connection:
            sites = await queries.sites(connection)
        return access.pages.render(
            request,
            "register.html",
            title="Register",
            columns=COLUMNS,
            rows=rows[:SHOWN],
            total=len(rows),
            filters=filters,
            sites=sites,
            statuses=[
                (one.value.replace("_", " ").capitalize(), one.value, None) for one in ObligationStatus
            ],
            categories=[(one.value, one.value.replace("_", " ").capitalize()) for one in Category],
            query=f"?{request.url.query}" if request.url.query else "",
        )

    @web.get("/register.{form}")
    async def export(request: Request, actor: reader, form: str) -> Response:
        rows = await rows_for(actor, Filters.of(request))
        if form == "xlsx":
            content = write_xlsx({"Register": register_rows(rows)})
            kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        elif form == "csv":
            content, kind = write_csv(register_rows(rows)), "text/csv"
        elif form == "ics":
            content, kind = calendar_file(rows, public_url=services.settings.public_url), "text/calendar"
        else:
            raise not_found()
        name = f'attachment; filename="register.{form}"'
        return Response(content, media_type=kind, headers={"Content-Disposition": name})


def _one(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, obligation_id: UUID, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await queries.obligation(connection, obligation_id)
            if found is None:
                raise not_found()
            helpers = await deciding.assignable(connection, found["company_id"], found["site_id"])
        return access.pages.render(
            request,
            "obligation.html",
            title=found["summary"][:120],
            crumbs=[Crumb("Register", "/obligations"), Crumb(found["condition_reference"] or "Duty")],
            duty=found,
            helpers=helpers,
            assignee=dict(helpers).get(str(found["assigned_to"])),
            frequencies=[(one.value, one.value.replace("_", " ").capitalize()) for one in CHOSEN],
            missing=missing_anchor(found),
            is_rolling=is_rolling(found),
            form=form,
            status=422 if form.errors else 200,
        )

    @web.get("/obligations/{obligation_id}")
    async def one(request: Request, actor: reader, obligation_id: UUID) -> Response:
        return await shown(request, actor, obligation_id, blank_form())

    @web.post("/obligations/{obligation_id}")
    async def change(request: Request, actor: writer, obligation_id: UUID) -> Response:
        form = await check_form(request, Correction)
        if form.value is not None:
            try:
                await _correct(services, actor, obligation_id, form.value)
            except AccessDenied:
                raise not_found() from None
            except OblicoreError as error:
                form = form.with_error("frequency", str(error))
        if form.value is None:
            return await shown(request, actor, obligation_id, form)
        target = path_of("obligations", str(obligation_id))
        return access.pages.redirect(request, target, flash="Changed; the date is reckoned anew.")


async def _correct(services: Services, actor: Actor, obligation_id: UUID, given: Correction) -> None:
    async with services.database.as_user(user_of(actor)) as connection:
        known = await queries.obligation(connection, obligation_id)
    if known is None:
        raise AccessDenied("there is no such duty")
    anchors = ((given.missing, given.missing_date),) if given.missing and given.missing_date else ()
    changes = Changes(
        summary=given.summary if given.summary != known["summary"] else None,
        frequency=given.frequency if given.frequency != known["frequency"] else None,
        first_due=given.first_due,
        anchors=anchors,
        # A new frequency makes a new rule, which does not know yet that it rolls.
        rolling=given.is_rolling
        if given.is_rolling != is_rolling(known)
        or (given.is_rolling and given.frequency != known["frequency"])
        else None,
    )
    await deciding.correct(
        services,
        obligation_id,
        changes,
        user=user_of(actor),
        assigned_to=given.assigned_to,
        is_applicable=not given.does_not_apply,
    )


def is_rolling(duty: dict[str, Any]) -> bool:
    """Say whether a duty is counted from the last time it was done."""
    return bool((duty["due_rule"] or {}).get("rolling"))


def missing_anchor(duty: dict[str, Any]) -> str | None:
    """Name the event whose date a relative deadline still waits for."""
    rule = duty["due_rule"]
    if not rule or rule["kind"] != "RelativeTo" or duty["deadline_date"] is not None:
        return None
    return str(rule["anchor"])


def _done_and_evidence(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    @web.post("/obligations/{obligation_id}/complete")
    async def complete(request: Request, actor: writer, obligation_id: UUID) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            today = datetime.now(UTC).date()
            if not await duties.complete(connection, obligation_id, on=today, user=user_of(actor)):
                raise not_found()
        target = path_of("obligations", str(obligation_id))
        return access.pages.redirect(request, target, flash="Done.", tone="good")

    @web.post("/obligations/{obligation_id}/evidence")
    async def evidence(request: Request, actor: writer, obligation_id: UUID) -> Response:
        name, content = await uploaded(await request.form(), most=50_000_000)
        async with services.database.as_user(user_of(actor)) as connection:
            site = await connection.fetchval(
                "SELECT site_id FROM oblicore.obligations WHERE id = $1", obligation_id
            )
        target = path_of("obligations", str(obligation_id))
        try:
            await intake.add_evidence(
                services,
                content,
                user=user_of(actor),
                site=site,
                file_name=name,
                obligations=[obligation_id],
            )
        except AccessDenied:
            raise not_found() from None
        except OblicoreError as error:
            return access.pages.redirect(request, target, flash=str(error), tone="bad")
        return access.pages.redirect(request, target, flash="Filed.", tone="good")
