"""What several pages are made of: lists, upload forms, uploaded files."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fastapi import Request, Response
from starlette.datastructures import FormData, UploadFile

from backstay.errors import JobNotFound
from backstay.kit import Actor, Column, Problem, not_found
from backstay_oblicore.services import Services
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of


def list_page(
    request: Request,
    access: Access,
    title: str,
    spec: list[tuple[str, str, Any]],
    rows: list[dict[str, Any]],
    *,
    empty: str,
    lead: str = "",
    actions: list[tuple[str, str]] | None = None,
) -> Response:
    columns = [Column(key, label, kind=kind) for key, label, kind in spec]
    return access.pages.render(
        request,
        "list.html",
        title=title,
        columns=columns,
        rows=rows,
        empty_text=empty,
        lead=lead,
        actions=actions or [],
    )


async def upload_page(
    request: Request,
    services: Services,
    access: Access,
    actor: Actor,
    title: str,
    *,
    with_title: bool,
    problem: str = "",
    sent: Mapping[str, Any] | None = None,
) -> Response:
    """Show the form of an upload; what was sent before is filled in again, the file excepted."""
    async with services.database.as_user(user_of(actor)) as connection:
        sites = await queries.sites(connection)
        papers = await queries.changeable_documents(connection) if with_title else []
    return access.pages.render(
        request,
        "upload.html",
        title=title,
        sites=sites,
        papers=papers,
        sent=dict(sent or {}),
        with_title=with_title,
        submit="Upload",
        problem=problem,
        status=422 if problem else 200,
    )


async def uploaded(form: FormData, *, most: int) -> tuple[str, bytes]:
    """Return name and content of the uploaded file; raise a Problem if there is none or it is too large."""
    upload = form.get("file")
    if not isinstance(upload, UploadFile) or not upload.filename:
        raise Problem(422, "file_missing", "Choose a file.")
    content = await upload.read(most + 1)
    if len(content) > most:
        raise Problem(413, "file_too_large", f"The file has more than {most:,} bytes.")
    return upload.filename, content


async def own_job(services: Services, actor: Actor, job_id: UUID, kind: str) -> Any:
    """Return a job of a kind to whoever asked for it."""
    try:
        job = await services.app.jobs.get(job_id)
    except JobNotFound:
        raise not_found() from None
    if job.kind != kind or job.created_by != actor.id:
        raise not_found()
    return job
