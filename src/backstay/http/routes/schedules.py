"""/schedules: rules that make jobs at certain times."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response

from backstay.client.acting.acting import Acting
from backstay.http.caller import AsCaller, Caller, ForTenant, service_of
from backstay.http.router import operations
from backstay.http.routes.jobs import KeyHeader
from backstay.http.values.common import Done, Listed, Moment, WithReason
from backstay.http.values.schedules import (
    BackFillAsked,
    BackFilled,
    Fires,
    FireShown,
    NewSchedule,
    Ran,
    RunNow,
    ScheduleChange,
    ScheduleLine,
    ScheduleShown,
    facts,
)
from backstay.kit.problems import Problem
from backstay.model.rights import covers
from backstay.model.schedules.schedule import OVERRIDABLE, Schedule

schedules = operations("schedules")

SHOWN_FIRES = 5
Name = Annotated[str, Path(min_length=1, max_length=128, description="The schedule's name.")]


@schedules.get("", summary="List schedules")
async def list_all(
    client: AsCaller,
    kind: Annotated[str | None, Query(max_length=128)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Listed[ScheduleLine]:
    """List schedules by name."""
    found = await client.schedules.all(kind=kind, limit=limit)
    return Listed[ScheduleLine](items=[ScheduleLine.model_validate(facts(one)) for one in found])


@schedules.post("", status_code=201, summary="Create a schedule")
async def create(client: ForTenant, schedule: NewSchedule) -> ScheduleShown:
    """Create a schedule; a name that is taken is refused."""
    made = await client.schedules.create(schedule.name, schedule.kind, **schedule.timing())
    return await _shown(client, made)


@schedules.get("/preview", summary="Preview an expression")
async def preview(
    client: AsCaller,
    cron: Annotated[str, Query(max_length=200, examples=["0 3 * * *"])],
    zone: Annotated[str, Query(max_length=128)] = "UTC",
    count: Annotated[int, Query(ge=1, le=100)] = SHOWN_FIRES,
) -> Fires:
    """Tell when an expression would fire, without storing anything."""
    return Fires(fires=await client.schedules.preview(cron, zone=zone, count=count))


@schedules.get("/{name}", summary="Look at a schedule")
async def get(client: ForTenant, name: Name) -> ScheduleShown:
    """Show a schedule with its changes and its next five times."""
    return await _shown(client, await client.schedules.get(name))


@schedules.delete("/{name}", summary="Remove a schedule")
async def remove(
    client: ForTenant, name: Name, reason: Annotated[str, Query(min_length=1, max_length=2000, pattern=r"\S")]
) -> Done:
    """Remove a schedule and its history; jobs that it made stay."""
    await client.schedules.remove(name, reason=reason)
    return Done(done=True)


@schedules.patch("/{name}", summary="Change a schedule")
async def change(client: ForTenant, name: Name, body: ScheduleChange) -> ScheduleShown:
    """Change one field of a schedule; a deploy keeps the change."""
    changed = await client.schedules.set(name, body.field, body.value, reason=body.reason)
    return await _shown(client, changed)


@schedules.delete("/{name}/changes/{field}", summary="Undo a change of a schedule")
async def unchange(
    client: ForTenant, name: Name, field: Annotated[str, Path(max_length=40)]
) -> ScheduleShown:
    """Let the declared value of a field count again."""
    if field not in OVERRIDABLE:
        raise Problem(422, "invalid_schedule", f"These fields can be changed: {', '.join(OVERRIDABLE)}.")
    return await _shown(client, await client.schedules.unset(name, field))


@schedules.post("/{name}/pause", summary="Pause a schedule")
async def pause(client: ForTenant, name: Name, body: WithReason) -> Done:
    """Let a schedule fire no more until it is resumed."""
    await client.schedules.pause(name, reason=body.reason)
    return Done(done=True)


@schedules.post("/{name}/resume", summary="Resume a schedule")
async def resume(client: ForTenant, name: Name) -> Done:
    """Let a paused schedule fire again; what it has missed meanwhile stays out."""
    await client.schedules.resume(name)
    return Done(done=True)


@schedules.post("/{name}/run", status_code=201, response_model=Ran, summary="Run a schedule now")
async def run_now(
    request: Request, caller: Caller, client: ForTenant, name: Name, body: RunNow, key: KeyHeader = None
) -> Response:
    """Make the schedule's job now, apart from its own times."""

    async def act() -> Ran:
        job = await client.schedules.run_now(name, reference_time=body.reference_time, force=body.force)
        return Ran(job_id=None if job is None else job.id)

    return await service_of(request).requests.run(request, caller, act)


@schedules.post("/{name}/back-fill", summary="Fill in missed fires")
async def back_fill(client: ForTenant, name: Name, body: BackFillAsked) -> BackFilled:
    """Make the jobs of all fires in a range; those that have fired already are left out."""
    fill = client.schedules.preview_back_fill if body.preview else client.schedules.back_fill
    return BackFilled.model_validate(await fill(name, body.first, body.last, most=body.most))


@schedules.get("/{name}/history", summary="See what a schedule did")
async def history(
    client: ForTenant,
    name: Name,
    before: Moment | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Listed[FireShown]:
    """List what became of the fires, newest first; `before` is the fire time of the last one of the page before."""
    found = await client.schedules.history(name, before=before, limit=limit)
    return Listed[FireShown](items=[FireShown.model_validate(one) for one in found])


async def _shown(client: Acting, schedule: Schedule) -> ScheduleShown:
    may_read = covers(client.rights, "schedules.read")
    fires = await client.schedules.next_fires(schedule.name, SHOWN_FIRES) if may_read else []
    return ScheduleShown.model_validate({**facts(schedule), "next_fires": fires})
