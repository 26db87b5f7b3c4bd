"""Dead letters are listed and decided about."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import Field

from backstay.kit import Actor, Authentication, StrictModel
from backstay_aeon.actions import letters
from backstay_aeon.services import Services
from backstay_aeon.web.callers import own_job


class Decided(StrictModel):
    notes: str = Field(min_length=1, max_length=2000)


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """List and decide."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]

    @api.get("/dlq")
    async def listed(actor: reader) -> Any:
        return await letters.of_team(services, UUID(actor.tenant))

    @api.post("/dlq/{job_id}/{decision}")
    async def decide(actor: writer, job_id: str, decision: letters.Decision, body: Decided) -> Any:
        job = await own_job(services, actor, job_id)
        await letters.decide(services, job.id, decision, by=actor.name, notes=body.notes)
        return {"job_id": job_id, "decision": decision}
