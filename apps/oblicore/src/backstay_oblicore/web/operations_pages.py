"""Operations: health and dead letters."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import Actor, check_form
from backstay_oblicore.domain import health
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import from_json
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access


class Reason(BaseModel):
    """Why a letter is closed."""

    reason: str = Field(min_length=1, max_length=1000)


def operations_pages(web: APIRouter, services: Services, access: Access) -> None:
    operator = Annotated[Actor, Depends(access.auth.require("operate"))]

    @web.get("/operations")
    async def operations(request: Request, actor: operator) -> Response:
        async with services.database.connection() as connection:
            details = await queries.job_health(connection)
            letters = queries.plain(await connection.fetch(queries.OPERATIONS))
            jobs = queries.plain(await connection.fetch(queries.JOBS))
        for letter in letters:
            letter["error_context"] = from_json(letter["error_context"])
        graded = health.status(
            stale=details["stale_jobs"],
            unresolved=details["unresolved_dlq"],
            failures=details["recent_failures"],
        )
        return access.pages.render(
            request,
            "operations.html",
            title="Operations",
            health={**details, "status": graded},
            letters=letters,
            jobs=jobs,
        )

    @web.post("/operations/{job_id}/retry")
    async def retry(request: Request, actor: operator, job_id: UUID) -> Response:
        await services.app.dead_letters.retry(job_id, by=actor.name, reason="retried in operations")
        return access.pages.redirect(request, "/operations", flash="It runs again.", tone="good")

    @web.post("/operations/{job_id}/resolve")
    async def resolve(request: Request, actor: operator, job_id: UUID) -> Response:
        form = await check_form(request, Reason)
        if form.value is None:
            return access.pages.redirect(request, "/operations", flash="Give a reason.", tone="bad")
        await services.app.dead_letters.resolve(job_id, by=actor.name, reason=form.value.reason)
        return access.pages.redirect(request, "/operations", flash="Closed.", tone="good")
