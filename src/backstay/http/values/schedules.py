"""Schedules as the API takes and shows them."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, JsonObject, Length, Moment, NameText, Reason, Seconds, Time
from backstay.kit.bodies import StrictModel
from backstay.model.schedules.schedule import Schedule


class NewSchedule(StrictModel):
    """A schedule to be created: exactly one of `cron`, `every` and `at` says when it fires."""

    name: NameText
    kind: NameText
    args: JsonObject | None = Field(None, description="May hold {fire_time} and {fire_date}.")
    cron: str | None = Field(None, max_length=200, examples=["0 3 * * *"])
    every: Length | None = None
    at: Moment | None = None
    starting: Moment | None = None
    zone: str = Field("UTC", max_length=100, examples=["Europe/Berlin"])
    missed: Literal["coalesce", "catch_up", "skip"] = "coalesce"
    catch_up: int = Field(100, ge=1, le=10_000)
    overlap: Literal["allow", "skip", "queue"] = "allow"
    jitter: Length | None = None
    max_runs: int | None = Field(None, ge=1, le=2**31 - 1)
    expires_at: Moment | None = None
    enabled: bool = True

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "nightly", "kind": "report", "cron": "0 3 * * *", "zone": "Europe/Berlin"}]
        },
    )

    def timing(self) -> dict[str, Any]:
        """When it fires and what with, as the client takes it."""
        return self.model_dump(exclude={"name", "kind"}, exclude_none=True)


class ScheduleLine(Answer):
    """A schedule as lists show it."""

    id: UUID
    name: str
    tenant: str
    kind: str = Field(examples=["report"])
    type: Literal["cron", "interval", "once"]
    cron: str | None = None
    every: Seconds | None = None
    at: Time | None = None
    zone: str
    source: str = Field(examples=["code"])
    next_fire_at: Time | None = None
    last_fire_at: Time | None = None
    run_count: int
    missed_count: int
    is_active: bool
    is_paused: bool
    paused_by: str | None = None
    pause_reason: str | None = None


class OverrideShown(Answer):
    """A field of a schedule that somebody has changed."""

    value: Any = None
    by: str
    at: Time
    reason: str


class ScheduleShown(ScheduleLine):
    """A schedule whole."""

    missed: str
    catch_up: int
    overlap: str
    jitter: Seconds
    max_runs: int | None = None
    expires_at: Time | None = None
    declared_by: str
    overrides: dict[str, OverrideShown]
    next_fires: list[Time] = Field(description="The next five times, if nothing changes.")


class FireShown(Answer):
    """One fire of a schedule and what came of it."""

    fire_time: Time
    reference_time: Time
    trigger: str = Field(examples=["schedule"])
    status: str = Field(examples=["completed"])
    word: str = Field(examples=["COMPLETED"], description="What the application calls the status.")
    reason: str | None = None
    missed: int
    job_id: UUID | None = None
    created_by: str
    started_at: Time | None = None
    finished_at: Time | None = None
    duration_ms: int | None = None
    attempt: int | None = None
    worker: str | None = None
    items: int | None = None


class ScheduleChange(StrictModel):
    """Another value for one field of a schedule; a deploy keeps it."""

    field: str = Field(max_length=40, examples=["cron"])
    value: Any = Field(examples=["0 4 * * *"])
    reason: Reason

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"field": "cron", "value": "0 4 * * *", "reason": "the source is late"}]
        },
    )


class RunNow(StrictModel):
    """Run a schedule now, apart from its own times."""

    reference_time: Moment | None = Field(None, description="What the job takes for now.")
    force: bool = Field(False, description="Also for a reference time in the future.")

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reference_time": "2026-03-01T03:00:00Z"}]}
    )


class Ran(Answer):
    """The job that was made; null if it would have overlapped."""

    job_id: UUID | None = None


class BackFillAsked(StrictModel):
    """Make the jobs of all fires in a range, but for those that have fired already."""

    first: Moment
    last: Moment
    most: int = Field(1000, ge=1, le=10_000)
    preview: bool = Field(False, description="Only tell what would be made.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"first": "2026-03-01T00:00:00Z", "last": "2026-03-02T00:00:00Z", "preview": True}]
        },
    )


class BackFilled(Answer):
    """The fires of a back-fill and their jobs; none were made by a preview."""

    fires: list[Time]
    already_fired: int
    jobs: list[UUID]


class Fires(Answer):
    """Moments at which an expression fires."""

    fires: list[Time]


def facts(schedule: Schedule) -> dict[str, Any]:
    """A schedule as the API returns it: its own fields, and of its definition what counts now."""
    wanted = schedule.definition
    own = {name: getattr(schedule, name, None) for name in ScheduleShown.model_fields}
    told = {name: getattr(wanted, name) for name in ScheduleShown.model_fields if hasattr(wanted, name)}
    return {**own, **told, "kind": wanted.job.kind}
