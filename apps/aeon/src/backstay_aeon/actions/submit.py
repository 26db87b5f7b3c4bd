"""Submitting jobs, and the few things that can be done to one."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay import Backoff, Job
from backstay.errors import InvalidFlow, JobNotFound
from backstay.records import Condition
from backstay_aeon import job_types
from backstay_aeon.domain.errors import BadRequest, Missing
from backstay_aeon.profile import JITTER, queue_for
from backstay_aeon.services import Services
from backstay_aeon.settings import LARGEST_TIMEOUT_MS

WAITS = "waits for its parents"
DEPENDENCY_TYPES = ("completion", "success", "data", "conditional")


def options_of(given: dict[str, Any], team_id: UUID, user_id: UUID | None) -> dict[str, Any]:
    """What a caller really asked for, as options of the engine; a default of the row is no wish."""
    priority = given.get("priority") or 5
    options: dict[str, Any] = {
        "tenant": str(team_id),
        "created_by": None if user_id is None else str(user_id),
        "priority": priority,
        "queue": queue_for(job_types.get(given["job_type"]).queue, priority),
        "tags": given.get("tags"),
        "metadata": given.get("metadata"),
        "run_at": given.get("scheduled_for"),
        "parent": given.get("parent_job_id"),
        "key": given.get("idempotency_key"),
    }
    if given.get("max_retries") is not None:
        options["max_attempts"] = given["max_retries"] + 1
    if given.get("timeout_ms") is not None:
        options["timeout"] = given["timeout_ms"] / 1000
    if given.get("retry_delay_ms") is not None or given.get("backoff_multiplier") is not None:
        base = (given.get("retry_delay_ms") or 1000) / 1000
        options["backoff"] = Backoff(
            base, multiplier=given.get("backoff_multiplier") or 2.0, cap=None, jitter=JITTER
        )
    return {name: value for name, value in options.items() if value is not None}


def check(given: dict[str, Any]) -> None:
    """Refuse what can never be, with the field."""
    job_types.get(str(given.get("job_type", "")))
    numbers = {
        "priority": (1, 10),
        "max_retries": (0, 20),
        "retry_delay_ms": (0, 86_400_000),
        "timeout_ms": (1, LARGEST_TIMEOUT_MS),
    }
    for name, (least, most) in numbers.items():
        value = given.get(name)
        if value is not None and not least <= value <= most:
            raise BadRequest(f"{name} must be from {least} to {most}, not {value}", field=name)
    if len(str(given.get("job_category") or "")) > 50:
        raise BadRequest("job_category has at most 50 characters", field="job_category")
    moment = given.get("scheduled_for")
    if isinstance(moment, datetime) and moment.tzinfo is None:
        raise BadRequest("scheduled_for needs a time zone, as in 2026-03-29T08:00:00Z", field="scheduled_for")
    if given.get("parent_job_id") is not None:
        uuid_of(given["parent_job_id"], "parent_job_id")
    for tie in given.get("depends_on") or ():
        if tie["type"] == "conditional":
            condition_of(tie)
    job_types.get(given["job_type"]).validate(given.get("payload") or {})


def condition_of(tie: dict[str, Any]) -> dict[str, Any]:
    """The condition of a tie as it is stored; raises BadRequest for one that can never be looked at."""
    given = tie.get("condition") or {}
    try:
        found = Condition(str(given.get("at") or ""), str(given.get("operator")), given.get("value"))
    except InvalidFlow as error:
        raise BadRequest(
            f'{error}; a condition is as {{"at": "/rows", "operator": ">", "value": 0}}', field="depends_on"
        ) from error
    return {"at": found.at, "operator": found.operator, "value": found.value}


def uuid_of(value: Any, field: str) -> UUID:
    """An id; raises BadRequest with the field for anything else."""
    try:
        return UUID(str(value))
    except ValueError:
        raise BadRequest(f"{field} is not an id: {value}", field=field) from None


async def create(
    services: Services, team_id: UUID, user_id: UUID | None, given: dict[str, Any]
) -> dict[str, Any]:
    """Store a job; the engine then tells Redis, and without Redis it runs all the same."""
    started = time.perf_counter()
    check(given)
    for tie in given.get("depends_on") or ():
        await job_of(services, tie["job_id"], team_id)
    options = options_of(given, team_id, user_id)
    arguments = {
        "payload": given.get("payload") or {},
        "created_by": user_id,
        "job_category": given.get("job_category") or "general",
    }
    handler = services.handlers[given["job_type"]].options(**options)
    if given.get("depends_on"):
        job_id, is_new = await _dependent(services, handler, arguments, given["depends_on"]), True
    else:
        handle = await handler.enqueue(**arguments)
        job_id, is_new = handle.id, handle.is_new
    await _note_announced(services, job_id)
    took = (time.perf_counter() - started) * 1000
    await services.database.execute("INSERT INTO aeon.submissions (took_ms) VALUES ($1)", took)
    return {"job_id": str(job_id), "is_new": is_new, "took_ms": round(took, 1)}


async def _dependent(
    services: Services, handler: Any, arguments: dict[str, Any], ties: list[dict[str, Any]]
) -> UUID:
    """A job that waits for others: for any end of them unless said otherwise."""
    async with services.database.transaction() as connection:
        handle = await handler.options(held_for=WAITS, tx=connection).enqueue(**arguments)
        for tie in ties:
            condition = tie.get("condition")
            if tie["type"] == "data":
                condition = {"into": tie.get("into") or "input"}
            elif tie["type"] == "conditional":
                condition = condition_of(tie)
            await connection.execute(
                "INSERT INTO public.job_dependencies (job_id, depends_on_job_id, dependency_type, condition)"
                " VALUES ($1, $2, $3, $4)",
                handle.id,
                UUID(str(tie["job_id"])),
                tie["type"],
                condition,
            )
    return UUID(str(handle.id))


async def _note_announced(services: Services, job_id: UUID) -> None:
    """A job that Redis knows of is `queued`, one that it does not is `pending`: it runs all the same."""
    if await services.redis.has(job_id):
        await services.database.execute(
            "INSERT INTO aeon.announced (job_id) VALUES ($1) ON CONFLICT DO NOTHING", job_id
        )


async def job_of(services: Services, job_id: Any, team_id: UUID) -> Job:
    """A job of this team; one of another team is as missing as none."""
    try:
        job = await services.app.jobs.get(UUID(str(job_id)))
    except (JobNotFound, ValueError):
        raise Missing(f"there is no job {job_id}", field="depends_on") from None
    if job.tenant != str(team_id):
        raise Missing(f"there is no job {job_id}", field="depends_on")
    return job


async def cancel(services: Services, job_id: UUID, by: str) -> str:
    """Cancel a waiting job, or ask a running one to stop; returns the state that it is in then."""
    state = await services.app.jobs.cancel(job_id, reason="cancelled by its team", by=by)
    return str(state.value)


async def pause(services: Services, job_id: UUID, by: str) -> None:
    """Keep a waiting job from starting."""
    await services.app.jobs.hold(job_id, reason="paused", by=by)


async def resume(services: Services, job_id: UUID, by: str) -> None:
    """Let a paused job go on."""
    await services.app.jobs.release(job_id, by=by)
