"""Schedules as values, and the decision which of their fires become jobs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any, Literal, assert_never
from uuid import UUID

from backstay.model.job import JobId, NewJob
from backstay.model.schedules.cron import (
    Cron,
    Every,
    Gap,
    MonthEnd,
    Once,
    Rule,
    fires_between,
    next_fire,
    recent_fires,
)
from backstay.model.schedules.cron_parser import read_rule
from backstay.model.schedules.zones import zone_of

Missed = Literal["coalesce", "catch_up", "skip"]
Overlap = Literal["allow", "skip", "queue"]
Trigger = Literal["schedule", "run_now", "back_fill"]
Source = Literal["code", "runtime"]

GRACE = timedelta(seconds=60)
"""A fire that is seen no later than this after its time is not missed."""

MOST_COUNTED = 10_000
"""Missed fires are counted up to here."""

MOST_AT_ONCE = 100
"""How many fires of one schedule become jobs in one transaction."""

REFERENCE_TIME = "reference_time"
OVERRIDABLE = ("cron", "every", "zone", "jitter", "missed", "catch_up", "overlap", "max_runs", "expires_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTemplate:
    """The job that every fire makes, all but its id and its times; the texts are JSON as in a new job."""

    kind: str
    queue: str
    args: str = "{}"
    priority: int = 5
    ageing_step: timedelta = timedelta(hours=1)
    tenant: str = ""
    name: str | None = None
    description: str | None = None
    tags: str | None = None
    metadata: str | None = None
    policy: str | None = None
    max_attempts: int | None = None
    timeout: timedelta | None = None
    lease: timedelta | None = None
    correlation_id: str | None = None
    created_by: str | None = None
    expires_in: timedelta | None = None
    deadline_in: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a schedule is: exactly one of `cron`, `every` and `at`, and what becomes of its fires."""

    job: JobTemplate
    cron: str | None = None
    every: timedelta | None = None
    starting: datetime | None = None
    at: datetime | None = None
    zone: str = "UTC"
    gap: Gap = "shift"
    month_end: MonthEnd = "skip"
    missed: Missed = "coalesce"
    catch_up: int = 100
    overlap: Overlap = "allow"
    jitter: timedelta = timedelta(0)
    max_runs: int | None = None
    expires_at: datetime | None = None
    is_enabled: bool = True

    @property
    def rule(self) -> Rule:
        """When it fires."""
        if self.cron is not None:
            return read_rule(self.cron, gap=self.gap, month_end=self.month_end)
        if self.every is not None:
            return Every(self.every) if self.starting is None else Every(self.every, anchor=self.starting)
        assert self.at is not None
        return Once(self.at)

    @property
    def type(self) -> Literal["cron", "interval", "once"]:
        """Which of the three it is."""
        match self.rule:
            case Cron():
                return "cron"
            case Every():
                return "interval"
            case Once():
                return "once"

    def next_after(self, moment: datetime) -> datetime | None:
        """Its first fire later than `moment`, if it still has one."""
        found = next_fire(self.rule, zone_of(self.zone), moment)
        return found if found is not None and self.reaches(found) else None

    def reaches(self, moment: datetime) -> bool:
        """Whether it has not expired by then."""
        return self.expires_at is None or moment <= self.expires_at


@dataclass(frozen=True, slots=True)
class ScheduleOverride:
    """One field that an operator has changed; `value` is as it is kept in JSON."""

    value: Any
    by: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule as it is stored: what was declared, what operators changed, and where it stands.

    `version` rises with every change and every fire; a write must name the version that was read.
    """

    id: UUID
    name: str
    tenant: str
    declared: Definition
    source: Source
    declared_by: str
    overrides: Mapping[str, ScheduleOverride] = field(default_factory=dict)
    next_fire_at: datetime | None = None
    last_fire_at: datetime | None = None
    run_count: int = 0
    missed_count: int = 0
    paused_at: datetime | None = None
    paused_by: str | None = None
    pause_reason: str | None = None
    tzdata: str = "unknown"
    version: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def definition(self) -> Definition:
        """What counts: the declaration with the operators' changes on top."""
        changed = {name: override.value for name, override in self.overrides.items()}
        if "cron" in changed or "every" in changed:
            changed = {"cron": None, "every": None, "starting": None, "at": None, **changed}
        return replace(self.declared, **changed)

    @property
    def is_paused(self) -> bool:
        return self.paused_at is not None

    @property
    def is_active(self) -> bool:
        """Whether it fires when its time comes."""
        return self.declared.is_enabled and not self.is_paused

    @property
    def is_exhausted(self) -> bool:
        """Whether it will never fire again as it is."""
        return self.next_fire_at is None


@dataclass(frozen=True, slots=True)
class Fire:
    """One fire that is to become a job; `missed` more were due and are covered by it."""

    fire_time: datetime
    missed: int = 0
    reference_time: datetime | None = None

    @property
    def reference(self) -> datetime:
        """The time that the job takes for now."""
        return self.reference_time or self.fire_time


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a schedule whose time has come; `dropped` fires do not become jobs."""

    fires: tuple[Fire, ...]
    next_fire_at: datetime | None
    dropped: int = 0


def plan(schedule: Schedule, now: datetime) -> Plan:
    """Decide which fires up to `now` become jobs, by the policy for missed ones, and when it fires next.

    The first is always the stored one, computed by the rules of the release that stored it.
    """
    assert schedule.next_fire_at is not None
    fires: tuple[Fire, ...]
    wanted, due = schedule.definition, schedule.next_fire_at
    rule, zone = wanted.rule, zone_of(wanted.zone)
    until = now if wanted.expires_at is None else min(now, wanted.expires_at)
    later, has_more = fires_between(rule, zone, due + timedelta(microseconds=1), until, most=MOST_COUNTED)
    count = 1 + len(later)
    following = wanted.next_after(now)
    newest = recent_fires(rule, zone, due, until, most=1) if later else [due]
    left: list[datetime] = []
    match wanted.missed:
        case "coalesce":
            fires, dropped = (Fire(newest[-1], missed=count - 1),), count - 1
        case "skip":
            fires = tuple(Fire(moment) for moment in newest if now - moment <= GRACE)
            dropped = count - len(fires)
        case "catch_up":
            kept = recent_fires(rule, zone, due, until, most=wanted.catch_up) if has_more else [due, *later]
            kept = kept[-wanted.catch_up :]
            fires, left = tuple(map(Fire, kept[:MOST_AT_ONCE])), kept[MOST_AT_ONCE:]
            dropped = count - len(kept)
        case _:
            assert_never(wanted.missed)
    if wanted.max_runs is not None:
        fires = fires[: max(wanted.max_runs - schedule.run_count, 0)]
    return Plan(fires, left[0] if left else following, dropped=dropped)


def job_for(schedule: Schedule, fire: Fire, job_id: JobId) -> NewJob:
    """The job of one fire: its arguments know the time, and it starts within the jitter after it."""
    wanted = schedule.definition
    template = wanted.job
    return NewJob(
        id=job_id,
        kind=template.kind,
        queue=template.queue,
        args=filled(template.args, schedule.name, wanted.zone, fire.reference),
        priority=template.priority,
        ageing_step=template.ageing_step,
        run_at=fire.fire_time + jitter(schedule.id, fire.fire_time, wanted.jitter),
        tenant=template.tenant,
        name=template.name,
        description=template.description,
        tags=template.tags,
        metadata=template.metadata,
        policy=template.policy,
        max_attempts=template.max_attempts,
        timeout=template.timeout,
        lease=template.lease,
        correlation_id=template.correlation_id,
        created_by=template.created_by or f"schedule:{schedule.name}",
        expires_in=template.expires_in,
        deadline_in=template.deadline_in,
    )


def jitter(schedule_id: UUID, fire_time: datetime, most: timedelta) -> timedelta:
    """How long after its time a fire starts: spread evenly, and the same on every machine."""
    if not most:
        return timedelta(0)
    text = f"{schedule_id} {fire_time.astimezone(UTC).isoformat()}"
    share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64
    return timedelta(microseconds=int(most / timedelta(microseconds=1) * share))


def filled(args: str, name: str, zone: str, moment: datetime) -> str:
    """A template's arguments for one moment.

    `{fire_time}`, `{fire_date}` (the day in the schedule's zone) and `{schedule}` are replaced in every text. The
    reference time is added, so that `ctx.now` is the time of the fire.
    """
    local = moment.astimezone(zone_of(zone))
    words = {
        "{fire_time}": written(moment),
        "{fire_date}": local.date().isoformat(),
        "{schedule}": name,
    }
    found: dict[str, Any] = json.loads(args)
    given = {REFERENCE_TIME: "{fire_time}", **found}
    return json.dumps(_fill_in(given, words), ensure_ascii=False, separators=(",", ":"))


def written(moment: datetime) -> str:
    """A moment as it stands in a job's arguments."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _fill_in(value: Any, words: Mapping[str, str]) -> Any:
    """The value with these words replaced in every text of it; keys stay as they are."""
    match value:
        case str():
            for word, meant in words.items():
                value = value.replace(word, meant)
            return value
        case list():
            return [_fill_in(item, words) for item in value]
        case dict():
            return {key: _fill_in(item, words) for key, item in value.items()}
        case _:
            return value


def preview(definition: Definition, after: datetime, count: int) -> list[datetime]:
    """The next fires, fewer where there are no more."""
    left = count if definition.max_runs is None else min(count, definition.max_runs)
    coming = definition.rule.fires(after, zone_of(definition.zone))
    return list(islice(takewhile(lambda moment: definition.reaches(moment), coming), left))
