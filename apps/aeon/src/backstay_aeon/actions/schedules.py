"""Schedules of teams: the row is ours, the times are the engine's."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.errors import BackstayError, ScheduleNotFound
from backstay_aeon import job_types
from backstay_aeon.domain.errors import BadRequest, Missing
from backstay_aeon.services import Services

COLUMNS = (
    "name",
    "job_type",
    "payload_template",
    "schedule_type",
    "cron_expression",
    "interval_ms",
    "next_run_at",
    "enabled",
    "max_runs",
    "expires_at",
)


async def create(
    services: Services, team_id: UUID, user_id: UUID | None, given: dict[str, Any]
) -> dict[str, Any]:
    """Store a schedule and tell the engine at once; what cannot be is refused and nothing is kept."""
    job_types.get(given["job_type"]).validate(dict(given.get("payload_template") or {}))
    values = {name: given.get(name) for name in COLUMNS}
    needed = {"cron": "cron_expression", "interval": "interval_ms", "once": "next_run_at"}[
        given["schedule_type"]
    ]
    if values[needed] is None:
        raise BadRequest(f"a schedule of type {given['schedule_type']} needs {needed}", field=needed)
    names = [name for name in COLUMNS if values[name] is not None]
    places = ", ".join(f"${number}" for number in range(3, len(names) + 3))
    row = await services.database.row(
        f"INSERT INTO public.job_schedules (team_id, created_by, {', '.join(names)})"
        f" VALUES ($1, $2, {places}) RETURNING id",
        team_id,
        user_id,
        *(values[name] for name in names),
    )
    assert row is not None
    try:
        await sync(services, row["id"], team_id)
    except BackstayError as error:
        await services.database.execute("DELETE FROM aeon.schedule_rows WHERE id = $1", row["id"])
        raise BadRequest(str(error), field=needed) from error
    return await get(services, row["id"], team_id)


async def get(services: Services, schedule_id: UUID, team_id: UUID) -> dict[str, Any]:
    """One schedule as the document shows it."""
    row = await services.database.row(
        "SELECT * FROM public.job_schedules WHERE id = $1 AND team_id = $2", schedule_id, team_id
    )
    if row is None:
        raise Missing(f"there is no schedule {schedule_id}")
    return row


async def remove(services: Services, schedule_id: UUID, team_id: UUID) -> None:
    """End a schedule."""
    await get(services, schedule_id, team_id)
    await services.database.execute("DELETE FROM public.job_schedules WHERE id = $1", schedule_id)
    await sync(services, schedule_id, team_id)


async def sync(services: Services, schedule_id: UUID, team_id: UUID | None) -> str:
    """Make the engine's schedule what our row says; safe to repeat."""
    row = await services.database.row("SELECT * FROM aeon.schedule_rows WHERE id = $1", schedule_id)
    tenant, name = str(team_id or ""), str(schedule_id)
    with suppress(ScheduleNotFound):
        await services.app.schedules.remove(name, reason="changed", by="aeon", tenant=tenant)
    if row is None or not row["enabled"]:
        return "removed" if row is None else "disabled"
    handler = services.handlers[row["job_type"]].options(tenant=tenant)
    timing: dict[str, Any] = {
        "args": {"payload": row["payload_template"], "created_by": row["created_by"]},
        "max_runs": row["max_runs"],
        "expires_at": row["expires_at"],
    }
    if row["schedule_type"] == "cron":
        timing["cron"] = row["cron_expression"]
    elif row["schedule_type"] == "interval":
        timing |= {"every": timedelta(milliseconds=row["interval_ms"]), "starting": row["created_at"]}
    else:
        timing["at"] = row["run_at"]
    given = {key: value for key, value in timing.items() if value is not None}
    try:
        await services.app.schedules.create(name, handler, by="aeon", **given)
    except BackstayError as error:
        await services.database.execute(
            "UPDATE aeon.schedule_rows SET problem = $2 WHERE id = $1", schedule_id, str(error)
        )
        raise
    return "created"
