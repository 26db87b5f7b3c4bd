"""Packs: ask for one, watch it being made, see what is in it, send it."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import Actor, CheckedForm, Crumb, blank_form, check_form, path_of
from backstay_oblicore import packing
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.packs import COVERS, RECIPIENTS
from backstay_oblicore.domain.words import PackType
from backstay_oblicore.services import Services
from backstay_oblicore.store import packs as store
from backstay_oblicore.store.database import from_json
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.shared import own_job

SUBJECTS = """
    SELECT paper.id, paper.company_id, paper.site_id, paper.title, site.name AS site_name
    FROM oblicore.documents AS paper
    JOIN oblicore.sites AS site ON site.id = paper.site_id
    WHERE paper.deleted_at IS NULL AND oblicore.may_change(paper.company_id, paper.site_id)
    ORDER BY paper.title, site.name, paper.id
"""
BOARDS = """
    SELECT company.id, company.name
    FROM oblicore.companies AS company
    JOIN oblicore.user_roles AS held ON held.company_id = company.id AND held.user_id = $1
    WHERE held.role IN ('OWNER', 'ADMIN') AND company.deleted_at IS NULL
    GROUP BY company.id, company.name ORDER BY company.name
"""
SENT = """
    SELECT distribution_method, recipient_email, status, reply, sent_at, view_count, created_at
    FROM oblicore.pack_distributions WHERE pack_id = $1 ORDER BY created_at DESC, id LIMIT 200
"""


class PackForm(BaseModel):
    """A pack as people ask for it: about one document, or about a whole company for its board."""

    pack_type: PackType
    subject: UUID
    date_range_start: date
    date_range_end: date
    output_format: Literal["PDF", "ZIP"] = "PDF"
    include_overdue_only: bool = False
    recipient_type: Literal["REGULATOR", "CLIENT", "BOARD", "INSURER", "INTERNAL"] | None = None
    recipient_name: str | None = Field(default=None, max_length=200)
    purpose: str | None = Field(default=None, max_length=500)


class SendForm(BaseModel):
    """How a pack is sent."""

    method: Literal["EMAIL", "SHARED_LINK"]
    recipients: str = Field(default="", max_length=10_000)
    message: str | None = Field(default=None, max_length=5000)
    expires_in_days: int = Field(default=30, ge=1, le=365)


def pack_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the pages."""
    _new_pages(web, services, access)
    _one_pages(web, services, access)


def _new_pages(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            papers = await connection.fetch(SUBJECTS)
            boards = await connection.fetch(BOARDS, user_of(actor))
        about = [(str(row["id"]), f"{row['title']}, {row['site_name']}") for row in papers]
        about += [(str(row["id"]), f"{row['name']}, all sites (board pack)") for row in boards]
        today = datetime.now(UTC).date()
        return access.pages.render(
            request,
            "pack_new.html",
            title="Make a pack",
            crumbs=[Crumb("Packs", "/packs"), Crumb("New")],
            form=form,
            about=about,
            kinds=[(one.value, COVERS[one]) for one in PackType],
            recipients=[(one, one.capitalize()) for one in RECIPIENTS],
            start=date(today.year, 1, 1),
            end=date(today.year, 12, 31),
            status=422 if form.errors else 200,
        )

    @web.get("/packs/new")
    async def new(request: Request, actor: writer) -> Response:
        return await shown(request, actor, blank_form())

    @web.post("/packs/new")
    async def add(request: Request, actor: writer) -> Response:
        form = await check_form(request, PackForm)
        if form.value is None:
            return await shown(request, actor, form)
        try:
            asked = await _request(services, actor, form.value)
            job = await packing.generate(services, asked, user=user_of(actor))
        except OblicoreError as error:
            return await shown(request, actor, form.with_error("subject", str(error)))
        return access.pages.redirect(request, path_of("packs", str(job.id)), flash="The pack is being made.")


async def _request(services: Services, actor: Actor, form: PackForm) -> dict[str, Any]:
    """Find out whether a document or a company is meant, and put the ids together."""
    values = form.model_dump(exclude={"subject"})
    async with services.database.as_user(user_of(actor)) as connection:
        paper = await connection.fetchrow(
            "SELECT company_id, site_id FROM oblicore.documents WHERE id = $1 AND deleted_at IS NULL",
            form.subject,
        )
    if paper is None:
        return {**values, "company_id": form.subject, "site_id": None, "document_id": None}
    if form.pack_type is PackType.BOARD_MULTI_SITE_RISK:
        return {**values, "company_id": paper["company_id"], "site_id": None, "document_id": None}
    return {
        **values,
        "company_id": paper["company_id"],
        "site_id": paper["site_id"],
        "document_id": form.subject,
    }


def _one_pages(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, pack_id: UUID, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            row = await store.find(connection, pack_id)
            sent = await connection.fetch(SENT, pack_id) if row else []
        crumbs = [Crumb("Packs", "/packs"), Crumb("Pack")]
        if row is None:
            job = await own_job(services, actor, pack_id, "AUDIT_PACK_GENERATION")
            word = services.app.profile.word_for(job.state)
            return access.pages.render(
                request, "pack_waiting.html", title="Pack", what="pack", crumbs=crumbs, job=job, word=word
            )
        content = from_json(row["content"])
        link = row["shared_link_token"] and f"{services.settings.public_url}/share/{row['shared_link_token']}"
        return access.pages.render(
            request,
            "pack.html",
            title=COVERS[PackType(row["pack_type"])],
            crumbs=crumbs,
            pack=row,
            about=content["metadata"],
            faults=content["integrity_report"]["errors"],
            sent=[dict(one) for one in sent],
            link=link,
            form=form,
            status=422 if form.errors else 200,
        )

    @web.get("/packs/{pack_id}")
    async def one(request: Request, actor: reader, pack_id: UUID) -> Response:
        return await shown(request, actor, pack_id, blank_form())

    @web.post("/packs/{pack_id}/distribute")
    async def send(request: Request, actor: writer, pack_id: UUID) -> Response:
        form = await check_form(request, SendForm)
        if form.value is not None:
            try:
                await packing.distribute(
                    services,
                    pack_id,
                    user=user_of(actor),
                    method=form.value.method,
                    recipients=addresses(form.value.recipients),
                    message=form.value.message,
                    expires_in_days=form.value.expires_in_days,
                )
            except OblicoreError as error:
                form = form.with_error("recipients", str(error))
        if form.value is None:
            return await shown(request, actor, pack_id, form)
        return access.pages.redirect(request, path_of("packs", str(pack_id)), flash="It is on its way.")


def addresses(text: str) -> list[dict[str, str]]:
    """Read recipients as people type them: one a line, the name behind a comma if there is one."""
    found = []
    for line in text.splitlines():
        email, _, name = (part.strip() for part in line.partition(","))
        if email:
            found.append({"email": email, "name": name} if name else {"email": email})
    return found
