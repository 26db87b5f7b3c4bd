"""Schedules of teams: the row is ours, the times are the engine's.

What a schedule of the engine makes cannot be changed afterwards. So a row that changes gets another schedule there,
named after it with a number, and the former one is paused: runs are counted over all of them, and none is forgotten.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.errors import BackstayError, InvalidJob, InvalidPolicy, InvalidSchedule
from backstay_aeon import job_types
from backstay_aeon.domain.errors import AeonError, BadRequest, Missing
from backstay_aeon.services import Services
from backstay_aeon.store.database import Connection

BY = "aeon"
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
CHANGEABLE = tuple(name for name in COLUMNS if name not in ("job_type", "schedule_type"))
NEEDED = {"cron": "cron_expression", "interval": "interval_ms", "once": "next_run_at"}
LARGEST_INTEGER = 2**31 - 1
KNOWN = """
SELECT name, run_count, paused_at IS NOT NULL AS is_paused FROM backstay.schedules
WHERE tenant = $1 AND (name = $2 OR name LIKE $2 || '.%') ORDER BY created_at, id
"""


async def create(
    services: Services, team_id: UUID, user_id: UUID | None, given: dict[str, Any]
) -> dict[str, Any]:
    """Store a schedule and tell the engine at once; what cannot be is refused and nothing is kept."""
    job_types.get(given["job_type"]).validate(dict(given.get("payload_template") or {}))
    values = {name: given[name] for name in COLUMNS if given.get(name) is not None}
    _check(given["schedule_type"], values)
    places = ", ".join(f"${number}" for number in range(3, len(values) + 3))
    async with services.database.transaction() as connection:
        schedule_id = await connection.fetchval(
            f"INSERT INTO public.job_schedules (team_id, created_by, {', '.join(values)})"
            f" VALUES ($1, $2, {places}) RETURNING id",
            team_id,
            user_id,
            *values.values(),
        )
        await _apply_or_refuse(services, connection, schedule_id, given["schedule_type"])
    return await get(services, schedule_id, team_id)


async def change(
    services: Services, schedule_id: UUID, team_id: UUID, given: dict[str, Any]
) -> dict[str, Any]:
    """Change some columns of a schedule; what cannot be is refused, and the schedule stays as it was."""
    one = await get(services, schedule_id, team_id)
    values = {name: given[name] for name in CHANGEABLE if name in given}
    if not values:
        raise BadRequest(f"nothing to change was sent; there are {', '.join(CHANGEABLE)}")
    job_types.get(one["job_type"]).validate(values.get("payload_template", one["payload_template"]))
    _check(one["schedule_type"], {NEEDED[one["schedule_type"]]: "as it was", **values})
    sets = ", ".join(f"{name} = ${number}" for number, name in enumerate(values, 2))
    async with services.database.transaction() as connection:
        await connection.execute(
            f"UPDATE public.job_schedules SET {sets} WHERE id = $1",
            schedule_id,
            *values.values(),
        )
        await _apply_or_refuse(services, connection, schedule_id, one["schedule_type"])
    return await get(services, schedule_id, team_id)


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
    """Make the engine's schedule what our row says, and note at the row what it refuses; safe to repeat."""
    async with services.database.transaction() as connection:
        try:
            return await _apply(services, connection, schedule_id, str(team_id or ""))
        except (InvalidSchedule, InvalidPolicy, InvalidJob, AeonError) as error:
            await connection.execute(
                "UPDATE aeon.schedule_rows SET problem = $2 WHERE id = $1", schedule_id, str(error)
            )
            return f"refused: {error}"


def _check(schedule_type: str, values: dict[str, Any]) -> None:
    needed = NEEDED[schedule_type]
    if values.get(needed) is None:
        raise BadRequest(f"a schedule of type {schedule_type} needs {needed}", field=needed)
    for name in ("interval_ms", "max_runs"):
        value = values.get(name)
        if isinstance(value, int) and not 1 <= value <= LARGEST_INTEGER:
            raise BadRequest(f"{name} is from 1 to {LARGEST_INTEGER}, not {value}", field=name)


async def _apply_or_refuse(
    services: Services, connection: Connection, schedule_id: UUID, schedule_type: str
) -> None:
    team_id = await connection.fetchval("SELECT team_id FROM aeon.schedule_rows WHERE id = $1", schedule_id)
    try:
        await _apply(services, connection, schedule_id, str(team_id or ""))
    except BackstayError as error:
        raise BadRequest(str(error), field=NEEDED[schedule_type]) from error


async def _apply(services: Services, connection: Connection, schedule_id: UUID, tenant: str) -> str:
    """What `sync` does, one at a time for each schedule, by the row as this transaction sees it."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 6007))", str(schedule_id))
    row = await connection.fetchrow("SELECT * FROM aeon.schedule_rows WHERE id = $1", schedule_id)
    known = [dict(one) for one in await connection.fetch(KNOWN, tenant, str(schedule_id))]
    if row is None:
        for one in known:
            await services.app.schedules.remove(one["name"], reason="removed", by=BY, tenant=tenant)
        return "removed"
    wanted = _wanted(dict(row))
    is_same = bool(known) and row["applied"] == wanted
    if not row["enabled"] or not is_same:
        for one in known:
            if not one["is_paused"]:
                await services.app.schedules.pause(one["name"], reason="changed", by=BY, tenant=tenant)
    if not row["enabled"]:
        return "disabled"
    if is_same:
        if known[-1]["is_paused"]:
            await services.app.schedules.resume(known[-1]["name"], by=BY, tenant=tenant)
        return "as it was"
    told = await _create(services, dict(row), known, tenant)
    await connection.execute(
        "UPDATE aeon.schedule_rows SET applied = $2, problem = NULL WHERE id = $1", schedule_id, wanted
    )
    return told


async def _create(services: Services, row: dict[str, Any], known: list[dict[str, Any]], tenant: str) -> str:
    """Another schedule of the engine for this row, with what is left of its runs."""
    timing: dict[str, Any] = {
        "args": {"payload": row["payload_template"], "created_by": row["created_by"]},
        "expires_at": row["expires_at"],
    }
    if row["max_runs"] is not None:
        timing["max_runs"] = row["max_runs"] - sum(one["run_count"] for one in known)
        if timing["max_runs"] <= 0:
            return "all its runs are made"
    if row["schedule_type"] == "cron":
        timing["cron"] = row["cron_expression"]
    elif row["schedule_type"] == "interval":
        timing |= {"every": timedelta(milliseconds=row["interval_ms"]), "starting": row["created_at"]}
    else:
        timing["at"] = row["run_at"]
    job_types.get(row["job_type"])
    handler = services.handlers[row["job_type"]].options(tenant=tenant)
    name = f"{row['id']}.{len(known) + 1}" if known else str(row["id"])
    given = {key: value for key, value in timing.items() if value is not None}
    await services.app.schedules.create(name, handler, by=BY, **given)
    return "created"


def _wanted(row: dict[str, Any]) -> dict[str, Any]:
    """What the engine is told of a row; the same again needs no other schedule there."""
    names = ("job_type", "payload_template", "schedule_type", "cron_expression", "interval_ms", "max_runs")
    texts = ("created_by", "run_at", "expires_at")
    return {
        **{name: row[name] for name in names},
        **{name: None if row[name] is None else str(row[name]) for name in texts},
    }
