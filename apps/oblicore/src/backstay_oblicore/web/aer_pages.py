"""Annual emissions reports: ask for one, look at its figures, take it as PDF, CSV or JSON."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from backstay.kit import Actor, CheckedForm, Crumb, blank_form, check_form, path_of
from backstay_oblicore import reporting
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import from_json
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.api_bodies import report_file
from backstay_oblicore.web.shared import own_job

FORMATS = (("BOTH", "PDF and CSV"), ("PDF", "PDF"), ("CSV", "CSV"))


class ReportForm(BaseModel):
    """A report as people ask for it."""

    document_id: UUID
    reporting_period_start: date
    reporting_period_end: date
    output_format: Literal["PDF", "CSV", "BOTH"] = "BOTH"
    include_draft_data: bool = False


def aer_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the pages."""
    _new_page(web, services, access)
    _report_page(web, services, access)


def _new_page(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            papers = await queries.changeable_documents(connection)
        year = datetime.now(UTC).year - 1
        return access.pages.render(
            request,
            "aer_new.html",
            title="Draw up an annual report",
            crumbs=[Crumb("Annual reports", "/aer"), Crumb("New")],
            form=form,
            papers=papers,
            formats=FORMATS,
            start=date(year, 1, 1),
            end=date(year, 12, 31),
            status=422 if form.errors else 200,
        )

    @web.get("/aer/new")
    async def new(request: Request, actor: writer) -> Response:
        return await shown(request, actor, blank_form())

    @web.post("/aer/new")
    async def add(request: Request, actor: writer) -> Response:
        form = await check_form(request, ReportForm)
        if form.value is None:
            return await shown(request, actor, form)
        try:
            job = await reporting.generate(services, form.value.model_dump(), user=user_of(actor))
        except OblicoreError as error:
            return await shown(request, actor, form.with_error("document_id", str(error)))
        return access.pages.redirect(request, path_of("aer", str(job.id)), flash="It is being drawn up.")


def _report_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/aer/{aer_id}")
    async def one(request: Request, actor: reader, aer_id: UUID) -> Response:
        crumbs = [Crumb("Annual reports", "/aer"), Crumb("Report")]
        async with services.database.as_user(user_of(actor)) as connection:
            found = await reporting.find(connection, aer_id)
        if found is None:
            job = await own_job(services, actor, aer_id, reporting.KIND)
            word = services.app.profile.word_for(job.state)
            return access.pages.render(
                request,
                "pack_waiting.html",
                title="Annual report",
                what="report",
                crumbs=crumbs,
                job=job,
                word=word,
            )
        return access.pages.render(
            request,
            "aer.html",
            title=f"Annual emissions report {found['reporting_period_end'].year}",
            crumbs=crumbs,
            report=found,
            lines=reporting.lines_of(found),
            findings=from_json(found["validation_errors"]),
            incidents=from_json(found["report"]).get("incidents", []),
            forms=reporting.forms_of(found),
        )

    @web.get("/aer/{aer_id}/download")
    async def download(actor: reader, aer_id: UUID, form: str = "") -> Response:
        return await report_file(services, aer_id, form, user=user_of(actor))
