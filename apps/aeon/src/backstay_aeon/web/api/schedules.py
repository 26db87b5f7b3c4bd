"""Schedules are made, changed, stopped and listed."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends
from pydantic import Field

from backstay.kit import Actor, Authentication, StrictModel
from backstay_aeon.actions import schedules
from backstay_aeon.services import Services
from backstay_aeon.web.callers import moment, person


class NewSchedule(StrictModel):
    name: str = Field(min_length=1, max_length=255)
    job_type: str
    payload_template: dict[str, Any] = Field(default_factory=dict)
    schedule_type: Literal["cron", "interval", "once"]
    cron_expression: str | None = None
    interval_ms: int | None = None
    next_run_at: str | None = None
    enabled: bool = True
    max_runs: int | None = None
    expires_at: str | None = None


class ScheduleChange(StrictModel):
    name: str = Field(default="", min_length=1, max_length=255)
    payload_template: dict[str, Any] = Field(default_factory=dict)
    cron_expression: str | None = None
    interval_ms: int | None = None
    next_run_at: str | None = None
    enabled: bool = True
    max_runs: int | None = None
    expires_at: str | None = None


def with_moments(given: dict[str, Any]) -> dict[str, Any]:
    """The same with times instead of their texts."""
    named = ("next_run_at", "expires_at")
    return {**given, **{name: moment(given[name], name) for name in named if name in given}}


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """Make, list and end."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    writer = Annotated[Actor, Depends(auth.require("jobs.write"))]
    database = services.database

    @api.get("/schedules")
    async def schedules_of(actor: reader) -> Any:
        return await database.rows(
            "SELECT * FROM public.job_schedules WHERE team_id = $1 ORDER BY created_at", UUID(actor.tenant)
        )

    @api.post("/schedules", status_code=201)
    async def schedule(actor: writer, body: NewSchedule) -> Any:
        given = body.model_dump()
        return await schedules.create(services, UUID(actor.tenant), person(actor), with_moments(given))

    @api.patch("/schedules/{schedule_id}")
    async def change(actor: writer, schedule_id: UUID, body: ScheduleChange) -> Any:
        given = with_moments(body.model_dump(exclude_unset=True))
        return await schedules.change(services, schedule_id, UUID(actor.tenant), given)

    @api.delete("/schedules/{schedule_id}", status_code=204)
    async def unschedule(actor: writer, schedule_id: UUID) -> None:
        await schedules.remove(services, schedule_id, UUID(actor.tenant))
