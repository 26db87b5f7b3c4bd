"""Documents: upload, the page with its clauses, coverage, what a variation changed."""

import asyncio
import json
import re
from datetime import date
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from starlette.datastructures import FormData

from backstay.kit import Actor, Crumb, not_found, path_of
from backstay_oblicore import files, intake
from backstay_oblicore.domain import storage_paths
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.domain.permits.diff import compare
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of
from backstay_oblicore.web.pictures import clause_boxes, page_picture
from backstay_oblicore.web.shared import list_page, upload_page, uploaded


def document_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the pages."""
    _list_page(web, services, access)
    _upload_page(web, services, access)
    _page_with_clauses(web, services, access)
    _picture_and_reading(web, services, access)
    _coverage_page(web, services, access)
    _changes_page(web, services, access)


def _list_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/documents")
    async def listed(request: Request, actor: reader) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            rows = await queries.documents(connection)
        for row in rows:
            row["href"] = path_of("documents", str(row["id"]))
        spec = [
            ("title", "Document", "text"),
            ("permit_number", "Number", "text"),
            ("site_name", "Site", "text"),
            ("obligations", "Duties", "number"),
            ("extraction_status", "Read", "badge"),
            ("expiry_date", "Expires", "text"),
        ]
        actions = [("Upload a document", "/documents/new")] if actor.may("write") else []
        lead = "Environmental permits do not expire; consents and registrations may."
        return list_page(
            request, access, "Documents", spec, rows, empty="No documents yet.", lead=lead, actions=actions
        )


def _upload_page(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    @web.get("/documents/new")
    async def new(request: Request, actor: writer) -> Response:
        return await upload_page(request, services, access, actor, "Upload a document", with_title=True)

    @web.post("/documents/new")
    async def add(request: Request, actor: writer) -> Response:
        form = await request.form()
        try:
            document = await intake.add_document(
                services,
                (await uploaded(form, most=50_000_000))[1],
                user=user_of(actor),
                site=UUID(str(form["site_id"])),
                title=str(form["title"])[:200] or "Untitled",
                document_type=str(form.get("document_type", "ENVIRONMENTAL_PERMIT")),
                permit_number=str(form.get("permit_number") or "").strip()[:100] or None,
                issue_date=_day(form, "issue_date"),
                expiry_date=_day(form, "expiry_date"),
                parent=UUID(str(form["parent_document_id"])) if form.get("parent_document_id") else None,
            )
            await intake.extract(services, document, user=user_of(actor))
        except (OblicoreError, ValueError, KeyError) as error:
            return await upload_page(
                request,
                services,
                access,
                actor,
                "Upload a document",
                with_title=True,
                problem=str(error),
                sent=form,
            )
        return access.pages.redirect(request, path_of("documents", str(document)), flash="It is being read.")


def _day(form: FormData, name: str) -> date | None:
    written = str(form.get(name) or "")
    return date.fromisoformat(written) if written else None


def _page_with_clauses(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/documents/{document_id}")
    async def one(request: Request, actor: reader, document_id: UUID, page: int = 1) -> Response:
        paper = await _load(services, actor, document_id)
        page = min(max(page, 1), max(paper["page_count"], 1))
        async with services.database.as_user(user_of(actor)) as connection:
            rows = [
                row
                for row in await queries.register(connection, document=document_id)
                if row["page_number"] == page
            ]
        rows.sort(key=lambda row: _in_order(row["condition_reference"] or ""))
        for row in rows:
            row["href"] = path_of("obligations", str(row["id"]))
            row["label"] = f"{row['condition_reference'] or ''} {row['summary']}".strip()
        content = await document_content(services, paper)
        words = await _recognised(services, paper, page)
        width, height, boxes = (
            await asyncio.to_thread(clause_boxes, content, page, rows, words)
            if content
            else (595.0, 842.0, [])
        )
        crumbs = [Crumb("Documents", "/documents"), Crumb(paper["title"])]
        return access.pages.render(
            request,
            "document.html",
            title=paper["title"],
            crumbs=crumbs,
            document=paper,
            duties=rows,
            page=page,
            picture=f"/documents/{document_id}/pages/{page}.png",
            width=width,
            height=height,
            boxes=boxes,
        )


def _picture_and_reading(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    @web.get("/documents/{document_id}/pages/{page}.png")
    async def picture(actor: reader, document_id: UUID, page: int) -> Response:
        paper = await _load(services, actor, document_id)
        content = await document_content(services, paper)
        if content is None or not 1 <= page <= paper["page_count"]:
            raise not_found()
        image = await asyncio.to_thread(page_picture, content, page)
        return Response(image, media_type="image/png", headers={"Cache-Control": "private, max-age=600"})

    @web.post("/documents/{document_id}/extract")
    async def again(request: Request, actor: writer, document_id: UUID) -> Response:
        await _load(services, actor, document_id)
        await intake.extract(services, document_id, user=user_of(actor), force=True)
        return access.pages.redirect(
            request, path_of("documents", str(document_id)), flash="It is being read again."
        )


def _coverage_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/documents/{document_id}/coverage")
    async def coverage(request: Request, actor: reader, document_id: UUID) -> Response:
        paper = await _load(services, actor, document_id)
        async with services.database.as_user(user_of(actor)) as connection:
            found = await queries.coverage(connection, document_id)
        crumbs = [
            Crumb("Documents", "/documents"),
            Crumb(paper["title"], path_of("documents", str(document_id))),
            Crumb("Coverage"),
        ]
        return access.pages.render(
            request, "coverage.html", title=f"Coverage of {paper['title']}", crumbs=crumbs, coverage=found
        )


def _changes_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]

    @web.get("/documents/{document_id}/changes")
    async def changes(request: Request, actor: reader, document_id: UUID) -> Response:
        paper = await _load(services, actor, document_id)
        if paper["parent_document_id"] is None:
            raise not_found()
        async with services.database.as_user(user_of(actor)) as connection:
            old = await queries.register(connection, document=paper["parent_document_id"])
            new = await queries.register(connection, document=document_id)
        found = await asyncio.to_thread(compare, [_Clause(row) for row in old], [_Clause(row) for row in new])
        rows = [
            {
                "kind": one.kind,
                "old": one.old_reference,
                "new": one.new_reference,
                "text": one.new_text or one.old_text,
            }
            for one in found
            if one.kind != "SAME"
        ]
        spec = [
            ("kind", "Change", "badge"),
            ("old", "Before", "text"),
            ("new", "Now", "text"),
            ("text", "Words", "text"),
        ]
        return list_page(
            request, access, f"What {paper['title']} changed", spec, rows, empty="Nothing changed."
        )


def _in_order(reference: str) -> list[tuple[bool, int, str]]:
    """Sort references as people count: 2.3.9 before 2.3.10, numbers before words."""
    parts = re.split(r"[.\s]+", reference)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


async def _load(services: Services, actor: Actor, document_id: UUID) -> dict[str, Any]:
    async with services.database.as_user(user_of(actor)) as connection:
        found = await queries.document(connection, document_id)
    if found is None:
        raise not_found()
    return found


class _Clause:
    """A stored obligation as the comparison sees it."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.reference: str = row["condition_reference"] or ""
        self.text: str = row["original_text"] or row["summary"]


async def _recognised(services: Services, paper: dict[str, Any], page: int) -> list[Any]:
    """Return where the words of a scanned page stand; nothing for a page that has text of its own."""
    if paper["is_native_pdf"] is not False:
        return []
    place = (str(paper["company_id"]), str(paper["site_id"]), str(paper["id"]))
    try:
        stored = await files.load(services.storage, storage_paths.document_words(*place))
    except OblicoreError:
        return []
    words: dict[str, list[Any]] = json.loads(stored)
    return words.get(str(page), [])


async def document_content(services: Services, paper: dict[str, Any]) -> bytes | None:
    if not paper["storage_path"]:
        return None
    try:
        return await files.load(services.storage, paper["storage_path"])
    except OblicoreError:
        return None
