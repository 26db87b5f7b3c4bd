"""Turns rows about schedules and locks into values, and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, get_type_hints
from uuid import UUID

import msgspec

from backstay.model.schedules.records import HistoryEntry, Lock, ScheduleLook, items_of, skip_reason
from backstay.model.schedules.schedule import Definition, Schedule, ScheduleOverride
from backstay.stores import rows
from backstay.stores.database.interface import Row

_definition = msgspec.json.Decoder(Definition)
_overrides = msgspec.json.Decoder(dict[str, ScheduleOverride])
_field_types = get_type_hints(Definition)


def schedule(row: Row) -> Schedule:
    """One schedule."""
    return Schedule(
        id=UUID(str(row["id"])),
        name=row["name"],
        tenant=row["tenant"],
        declared=_definition.decode(row["definition"]),
        source=row["source"],
        declared_by=row["declared_by"],
        overrides=_override_values(row["overrides"]),
        next_fire_at=rows.maybe_moment(row["next_fire_at"]),
        last_fire_at=rows.maybe_moment(row["last_fire_at"]),
        run_count=row["run_count"],
        missed_count=row["missed_count"],
        paused_at=rows.maybe_moment(row["paused_at"]),
        paused_by=row["paused_by"],
        pause_reason=row["pause_reason"],
        tzdata=row["tzdata"],
        version=row["version"],
        created_at=rows.moment(row["created_at"]),
        updated_at=rows.moment(row["updated_at"]),
    )


def _override_values(text: str | None) -> dict[str, ScheduleOverride]:
    """What operators have changed, each value in its field's own type."""
    return {
        name: replace(override, value=msgspec.convert(override.value, _field_types[name]))
        for name, override in ({} if text is None else _overrides.decode(text)).items()
    }


def values(schedule: Schedule) -> dict[str, Any]:
    """A schedule as its row has it."""
    wanted = schedule.definition
    return {
        "id": schedule.id,
        "tenant": schedule.tenant,
        "name": schedule.name,
        "kind": wanted.job.kind,
        "source": schedule.source,
        "definition": msgspec.json.encode(schedule.declared).decode(),
        "overrides": msgspec.json.encode(schedule.overrides).decode() if schedule.overrides else None,
        "declared_by": schedule.declared_by,
        "is_active": schedule.is_active,
        "max_runs": wanted.max_runs,
        "next_fire_at": schedule.next_fire_at,
        "tzdata": schedule.tzdata,
    }


def look(row: Row) -> ScheduleLook:
    """When the next schedule fires."""
    next_fire_at = rows.maybe_moment(row["next_fire_at"])
    fires_in = None if next_fire_at is None else max(next_fire_at - rows.moment(row["now"]), timedelta(0))
    return ScheduleLook(fires_in, bool(row["has_queued"]))


def history_entry(row: Row) -> HistoryEntry:
    """One fire and what came of it."""
    result = rows.document(row["result"])
    skipped = skip_reason(result) if row["state"] == "completed" else None
    status = row["status"] if row["status"] == "skipped" else row["state"] or "unknown"
    return HistoryEntry(
        schedule=row["schedule"],
        kind=row["kind"],
        fire_time=rows.moment(row["fire_time"]),
        reference_time=rows.moment(row["reference_time"]),
        trigger=row["trigger_source"],
        status="skipped" if skipped is not None else status,
        reason=skipped or row["reason"] or row["job_reason"],
        missed=row["missed"],
        job_id=None if row["job_id"] is None else rows.job_id(row["job_id"]),
        created_by=row["created_by"],
        started_at=rows.maybe_moment(row["started_at"]),
        finished_at=rows.maybe_moment(row["finished_at"]),
        duration_ms=row["duration_ms"],
        attempt=row["attempt"],
        worker=row["worker"],
        items=items_of(result, row["progress"]),
        error=rows.document(row["error"]),
    )


def lock(row: Row) -> Lock:
    """One lock."""
    return Lock(
        id=row["id"],
        tenant=row["tenant"],
        holder=row["holder"],
        job_id=None if row["job_id"] is None else rows.job_id(row["job_id"]),
        fence=row["fence"],
        locked_at=rows.moment(row["locked_at"]),
        expires_at=rows.moment(row["expires_at"]),
    )
