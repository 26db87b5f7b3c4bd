"""Turns what was asked of a schedule into a definition that can be stored, and declares those of the code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypedDict, get_args
from uuid import UUID

from backstay.client.enqueue.building import Builder
from backstay.errors import InvalidPolicy, InvalidSchedule
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec
from backstay.model.events import Emit
from backstay.model.schedules.cron import TOO_RARE, Gap, MonthEnd
from backstay.model.schedules.cron_parser import SHORTEST_INTERVAL, read_rule
from backstay.model.schedules.schedule import (
    REFERENCE_TIME,
    Definition,
    JobTemplate,
    Missed,
    Overlap,
    Schedule,
    filled,
)
from backstay.model.schedules.zones import tzdata_version, zone_of
from backstay.model.text.durations import Duration, duration
from backstay.options import JobOptions
from backstay.stores.contract import Schedules, Stores

TRIES = 5
MOST_CATCH_UP = 10_000
# Each fire makes a job of its own, at its own time.
_NOT_FOR_SCHEDULES = (
    "delay",
    "run_at",
    "parent",
    "key",
    "unique",
    "unique_for",
    "held_for",
    "tx",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked of a schedule, as it was written."""

    cron: str | None = None
    every: Duration | None = None
    at: datetime | None = None
    starting: datetime | None = None
    zone: str = "UTC"
    args: Mapping[str, Any] | None = None
    missed: Missed = "coalesce"
    catch_up: int = 100
    overlap: Overlap = "allow"
    jitter: Duration = 0
    max_runs: int | None = None
    expires_at: datetime | None = None
    gap: Gap = "shift"
    month_end: MonthEnd = "skip"
    enabled: bool = True


class Timing(TypedDict, total=False):
    """The same as keyword arguments, so that a type checker knows their names."""

    cron: str | None
    every: Duration | None
    at: datetime | None
    starting: datetime | None
    zone: str
    args: Mapping[str, Any] | None
    missed: Missed
    catch_up: int
    overlap: Overlap
    jitter: Duration
    max_runs: int | None
    expires_at: datetime | None
    gap: Gap
    month_end: MonthEnd
    enabled: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule that the code declares."""

    name: str
    definition: Definition
    route: tuple[str, str] | None = None
    """Queue and kind, where the queue is not the kind's own."""


def define(name: str, spec: HandlerSpec, options: JobOptions, asked: Asked, builder: Builder) -> Definition:
    """Check everything that was asked; raises InvalidSchedule, InvalidArguments, InvalidJob or InvalidPolicy."""
    codec.check_name("schedule", name)
    given = [value for value in (asked.cron, asked.every, asked.at) if value is not None]
    if len(given) != 1:
        raise InvalidSchedule(name, "give exactly one of cron, every and at")
    definition = Definition(
        job=_template(name, spec, options, asked, builder),
        cron=asked.cron,
        every=_every(asked.every),
        at=_moment("at", asked.at),
        starting=_moment("starting", asked.starting),
        zone=asked.zone,
        gap=_one_of("gap", asked.gap, Gap),
        month_end=_one_of("month_end", asked.month_end, MonthEnd),
        missed=_one_of("missed", asked.missed, Missed),
        catch_up=_whole("catch_up", asked.catch_up, MOST_CATCH_UP),
        overlap=_one_of("overlap", asked.overlap, Overlap),
        jitter=duration(asked.jitter, field="jitter"),
        max_runs=None if asked.max_runs is None else _whole("max_runs", asked.max_runs, 2**31 - 1),
        expires_at=_moment("expires_at", asked.expires_at),
        is_enabled=asked.enabled,
    )
    zone_of(definition.zone)
    if asked.cron is not None:
        read_rule(asked.cron, gap=asked.gap, month_end=asked.month_end)
    return definition


def _template(
    name: str, spec: HandlerSpec, options: JobOptions, asked: Asked, builder: Builder
) -> JobTemplate:
    for option in _NOT_FOR_SCHEDULES:
        if getattr(options, option) is not None:
            raise InvalidSchedule(name, f"its jobs cannot have {option}: every fire makes a job of its own")
    for option in ("expires", "deadline"):
        if isinstance(getattr(options, option), datetime):
            raise InvalidSchedule(name, f"{option} of its jobs must be a duration, counted from each fire")
    args = codec.encode(dict(asked.args or {}))
    _check_arguments(name, spec, args, asked.zone)
    made = builder.build(
        spec, spec.kept(args), replace(options, delay=0) if options == JobOptions() else options
    )
    kept = {field.name for field in fields(JobTemplate)}
    return JobTemplate(**{field: value for field, value in made._asdict().items() if field in kept})


def _check_arguments(name: str, spec: HandlerSpec, args: str, zone: str) -> None:
    """Try the arguments that a fire would have, so that a mistake is found now and not at night."""
    sample = json.loads(filled(args, name, zone, datetime(2026, 1, 1, tzinfo=UTC)))
    takes = spec.signature is None or REFERENCE_TIME in spec.signature.names
    if not takes and REFERENCE_TIME not in json.loads(args):
        del sample[REFERENCE_TIME]
    spec.bind((), sample)


def first_fire(name: str, definition: Definition, now: datetime) -> datetime:
    """When it fires first; raises InvalidSchedule for one that would never fire, or only in years."""
    found = definition.next_after(now)
    what = definition.cron or name
    if found is None and definition.at is not None:
        raise InvalidSchedule(what, f"{definition.at.isoformat()} is in the past: it would never fire")
    if found is None and definition.expires_at is not None:
        raise InvalidSchedule(
            what, f"it does not fire before it expires, {definition.expires_at.isoformat()}"
        )
    if found is None or found - now > TOO_RARE:
        raise InvalidSchedule(
            what,
            "it would never fire, or not within five years: is there such a day? "
            "For the last day of a month write L, or use month_end='clamp'",
        )
    return found


def standing(schedule: Schedule, now: datetime) -> datetime | None:
    """Where a schedule stands after a change: what is left of its runs, counted from now."""
    wanted = schedule.definition
    if wanted.max_runs is not None and schedule.run_count >= wanted.max_runs:
        return None
    return wanted.next_after(now)


async def declare(
    stores: Stores, declared: Sequence[Declared], *, by: str, emit: Emit, new_id: Callable[[], UUID]
) -> bool:
    """Store what the code declares; what operators have changed stays. Returns whether anything is new."""
    changed = [
        one for one in declared if await _declare(stores.schedules, one, by=by, emit=emit, new_id=new_id)
    ]
    if routes := [one.route for one in changed if one.route is not None]:
        await stores.kinds.add_routes(routes)
    return bool(changed)


async def _declare(
    schedules: Schedules, one: Declared, *, by: str, emit: Emit, new_id: Callable[[], UUID]
) -> bool:
    tenant, definition = one.definition.job.tenant, one.definition
    for _ in range(TRIES):
        now, kept = await schedules.now(), await schedules.get(tenant, one.name)
        if kept is None:
            new = Schedule(
                id=new_id(),
                name=one.name,
                tenant=tenant,
                declared=definition,
                source="code",
                declared_by=by,
                next_fire_at=definition.next_after(now),
                tzdata=tzdata_version(),
            )
            if await schedules.add(new, actor=by):
                return True
            continue
        if kept.source != "code":
            emit(
                "schedule.refused", schedule=one.name, error="a schedule of this name was created at run time"
            )
            return False
        if kept.declared == definition:
            return False
        if await schedules.rewrite(
            _redeclared(kept, definition, by, now), actor=by, action="schedule.declared", reason=None
        ):
            return True
    emit("schedule.refused", schedule=one.name, error=f"it changed {TRIES} times while it was declared")
    return False


def _redeclared(kept: Schedule, definition: Definition, by: str, now: datetime) -> Schedule:
    changed = replace(kept, declared=definition, declared_by=by, tzdata=tzdata_version())
    before, after = kept.definition, changed.definition
    if (before.rule, before.zone, before.expires_at, before.max_runs) == (
        after.rule,
        after.zone,
        after.expires_at,
        after.max_runs,
    ):
        # A fire that is due while a release is rolled out stays due.
        return changed
    return replace(changed, next_fire_at=standing(changed, now))


def _every(value: Duration | None) -> timedelta | None:
    return None if value is None else duration(value, field="every", shortest=SHORTEST_INTERVAL)


def _moment(option: str, value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidSchedule(str(value), f"{option} must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None:
        raise InvalidSchedule(
            value.isoformat(),
            f"{option} has no time zone: write datetime(…, tzinfo=UTC), so that it means one moment",
        )
    return value.astimezone(UTC)


def _one_of(option: str, value: Any, kind: Any) -> Any:
    allowed = get_args(kind)
    if value not in allowed:
        raise InvalidPolicy(option, value, needs=f"one of {', '.join(allowed)}")
    return value


def _whole(option: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidPolicy(option, value, needs=f"a whole number from 1 to {most:,}")
    return value


Field = Literal["cron", "every", "zone", "jitter", "missed", "catch_up", "overlap", "max_runs", "expires_at"]


def checked_override(field: str, value: Any) -> Any:
    """A value that an operator gives, as it is kept; raises InvalidSchedule or InvalidPolicy."""
    match field:
        case "cron":
            read_rule(value)
            return value
        case "every":
            return _every(value)
        case "zone":
            zone_of(value)
            return value
        case "jitter":
            return duration(value, field="jitter")
        case "missed":
            return _one_of(field, value, Missed)
        case "overlap":
            return _one_of(field, value, Overlap)
        case "catch_up":
            return _whole(field, value, MOST_CATCH_UP)
        case "max_runs":
            return None if value is None else _whole(field, value, 2**31 - 1)
        case "expires_at":
            return _moment(field, value)
        case _:
            raise InvalidPolicy(field, value, needs=f"to be one of {', '.join(get_args(Field))}")
