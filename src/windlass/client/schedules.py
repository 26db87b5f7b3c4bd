"""Schedules: creating, changing, pausing, previewing and running them, and what became of their fires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Unpack

from windlass.client.arguments import who, why
from windlass.client.jobs import Jobs
from windlass.client.scheduling import (
    TRIES,
    Asked,
    Timing,
    checked_override,
    define,
    first_fire,
    standing,
)
from windlass.cron import fires_between
from windlass.cron_text import read_rule
from windlass.errors import InvalidSchedule, ScheduleNotFound, StoreBusy
from windlass.handle import JobHandle
from windlass.handler import BoundHandler, Handler
from windlass.job import JobId
from windlass.options import NO_OPTIONS, JobOptions
from windlass.registry import HandlerSpec
from windlass.schedule_records import Fired, HistoryEntry
from windlass.schedules import (
    Fire,
    Schedule,
    ScheduleOverride,
    Trigger,
    job_for,
    preview,
)
from windlass.wakeups.contract import LATER, SCHEDULES, queue_hint
from windlass.zones import tzdata_version, zone_of

MOST_BACK_FILL = 10_000
LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class BackFill:
    """What a back-fill would do, or has done: the fires in its range, and how many of them had fired before."""

    fires: Sequence[datetime]
    already_fired: int
    jobs: Sequence[JobId] = ()

    @property
    def count(self) -> int:
        """How many jobs it makes."""
        return len(self.fires)


@dataclass(frozen=True)
class Schedules:
    """The schedules of one application, from one event loop."""

    jobs: Jobs

    async def create(
        self,
        name: str,
        job: Handler[..., Any] | BoundHandler[..., Any] | str,
        *,
        by: str = "client",
        **asked: Unpack[Timing],
    ) -> Schedule:
        """Create a schedule; exactly one of `cron`, `every` and `at` says when it fires.

        `job` is a handler, one with options, or the name of a kind; `args` may hold `{fire_time}` and `{fire_date}`.
        Raises InvalidSchedule, InvalidArguments, InvalidPolicy or UnknownKind, and then nothing is stored.
        """
        spec, options = await self._target(job)
        definition = define(name, spec, options, Asked(**asked), self.jobs.builder)
        schedules = self.jobs.stores.schedules
        now = await schedules.now()
        schedule = Schedule(
            id=self.jobs.env.new_id(),
            name=name,
            tenant=definition.job.tenant,
            declared=definition,
            source="runtime",
            declared_by=who(by),
            next_fire_at=first_fire(name, definition, now),
            tzdata=tzdata_version(),
        )
        await self.jobs.add_routes([(definition.job.queue, spec)])
        if not await schedules.add(schedule, actor=who(by)):
            raise InvalidSchedule(
                name, "a schedule of this name exists: change or remove that one, or choose another"
            )
        self.jobs.wakeups.send(SCHEDULES)
        return await self.get(name, tenant=schedule.tenant)

    async def get(self, name: str, *, tenant: str = "") -> Schedule:
        """One schedule as it is now; raises ScheduleNotFound."""
        found = await self.jobs.stores.schedules.get(tenant, name)
        if found is None:
            raise ScheduleNotFound(name)
        return found

    async def all(
        self, *, tenant: str | None = None, kind: str | None = None, limit: int = 1000
    ) -> list[Schedule]:
        """Schedules by name."""
        return await self.jobs.stores.schedules.all(tenant=tenant, kind=kind, limit=min(limit, LARGEST_PAGE))

    async def next_fires(self, name: str, count: int = 5, *, tenant: str = "") -> list[datetime]:
        """When it fires next, if nothing changes; empty while it is paused or when it is exhausted."""
        schedule = await self.get(name, tenant=tenant)
        if schedule.next_fire_at is None or not schedule.is_active:
            return []
        wanted = schedule.definition
        if wanted.max_runs is not None:
            wanted = replace(wanted, max_runs=wanted.max_runs - schedule.run_count)
        first = schedule.next_fire_at
        return [first, *preview(wanted, first, count)][: min(count, wanted.max_runs or count)]

    async def preview(self, cron: str, *, zone: str = "UTC", count: int = 5) -> list[datetime]:
        """When an expression would fire, without storing anything; raises InvalidSchedule."""
        now = await self.jobs.stores.schedules.now()
        return list(islice(read_rule(cron).fires(now, zone_of(zone)), count))

    async def pause(self, name: str, *, reason: str, by: str = "client", tenant: str = "") -> None:
        """Let a schedule fire no more until it is resumed; a deploy does not undo it."""
        actor, text = who(by), why(reason)

        def change(schedule: Schedule, now: datetime) -> Schedule:
            return replace(schedule, paused_at=now, paused_by=actor, pause_reason=text)

        await self._change(name, tenant, change, actor=actor, action="schedule.paused", reason=text)

    async def resume(self, name: str, *, by: str = "client", tenant: str = "") -> None:
        """Let a paused schedule fire again, from its next time on: what it has missed meanwhile stays out."""

        def change(schedule: Schedule, now: datetime) -> Schedule:
            free = replace(schedule, paused_at=None, paused_by=None, pause_reason=None)
            return replace(free, next_fire_at=standing(free, now))

        await self._change(name, tenant, change, actor=who(by), action="schedule.resumed", reason=None)

    async def override(
        self, name: str, field: str, value: Any, *, reason: str, by: str = "client", tenant: str = ""
    ) -> Schedule:
        """Change one field of a schedule; a deploy keeps it, until `reset` lets the declaration count again.

        Raises InvalidSchedule or InvalidPolicy for what cannot be, and then nothing is stored.
        """
        actor, text, kept = who(by), why(reason), checked_override(field, value)

        def change(schedule: Schedule, now: datetime) -> Schedule:
            others = {"cron", "every"} - {field} if field in ("cron", "every") else set()
            left = {key: one for key, one in schedule.overrides.items() if key not in others}
            changed = replace(schedule, overrides={**left, field: ScheduleOverride(kept, actor, now, text)})
            if field in ("cron", "every", "zone", "expires_at"):
                first_fire(name, changed.definition, now)
            return replace(changed, next_fire_at=standing(changed, now), tzdata=tzdata_version())

        await self._change(name, tenant, change, actor=actor, action="schedule.overridden", reason=text)
        return await self.get(name, tenant=tenant)

    async def reset(self, name: str, field: str, *, by: str = "client", tenant: str = "") -> Schedule:
        """Let the declaration of a field count again."""

        def change(schedule: Schedule, now: datetime) -> Schedule:
            left = {key: one for key, one in schedule.overrides.items() if key != field}
            changed = replace(schedule, overrides=left)
            return replace(changed, next_fire_at=standing(changed, now), tzdata=tzdata_version())

        await self._change(name, tenant, change, actor=who(by), action="schedule.reset", reason=field)
        return await self.get(name, tenant=tenant)

    async def remove(self, name: str, *, reason: str, by: str = "client", tenant: str = "") -> None:
        """Remove a schedule and its history; jobs that it made stay. One in code comes back with the next worker."""
        if not await self.jobs.stores.schedules.remove(tenant, name, actor=who(by), reason=why(reason)):
            raise ScheduleNotFound(name)

    async def run_now(
        self, name: str, *, reference_time: datetime | None = None, by: str = "client", tenant: str = ""
    ) -> JobHandle[Any] | None:
        """Run it now, apart from its own times; `ctx.now` is the reference time. None if it would overlap."""
        schedule = await self.get(name, tenant=tenant)
        fire = Fire(await self.jobs.stores.schedules.now(), reference_time=reference_time)
        fired = await self._fire_apart(schedule, [fire], "run_now", who(by))
        if not fired.jobs:
            return None
        return self.jobs.handle(await self.jobs.spec_of(schedule.declared.job.kind), fired.jobs[0])

    async def preview_back_fill(
        self, name: str, first: datetime, last: datetime, *, most: int = 10_000, tenant: str = ""
    ) -> BackFill:
        """What `back_fill` would do, without doing it."""
        schedule = await self.get(name, tenant=tenant)
        return await self._back_fill(schedule, first, last, most)

    async def back_fill(
        self,
        name: str,
        first: datetime,
        last: datetime,
        *,
        most: int = 1000,
        by: str = "client",
        tenant: str = "",
    ) -> BackFill:
        """Make the jobs of all fires in a range, both ends included, but for those that have fired already.

        Raises InvalidSchedule, and makes none, if there are more than `most`.
        """
        schedule = await self.get(name, tenant=tenant)
        wanted = await self._back_fill(schedule, first, last, most)
        fires = [Fire(moment) for moment in wanted.fires]
        fired = await self._fire_apart(schedule, fires, "back_fill", who(by)) if fires else Fired()
        return replace(wanted, jobs=fired.jobs)

    async def history(
        self, name: str, *, before: datetime | None = None, limit: int = 100, tenant: str = ""
    ) -> list[HistoryEntry]:
        """What became of a schedule's fires, newest first; `before` is a fire time, for the next page."""
        await self.get(name, tenant=tenant)
        return await self.jobs.stores.schedules.history(
            tenant, name, before=before, limit=min(limit, LARGEST_PAGE)
        )

    async def _target(
        self, job: Handler[..., Any] | BoundHandler[..., Any] | str
    ) -> tuple[HandlerSpec, JobOptions]:
        if isinstance(job, BoundHandler):
            return job.spec, job._options
        if isinstance(job, Handler):
            return job.spec, NO_OPTIONS
        return await self.jobs.spec_of(job), NO_OPTIONS

    async def _change(
        self, name: str, tenant: str, change: Any, *, actor: str, action: str, reason: str | None
    ) -> None:
        schedules = self.jobs.stores.schedules
        for _ in range(TRIES):
            schedule = await self.get(name, tenant=tenant)
            changed: Schedule = change(schedule, await schedules.now())
            if await schedules.rewrite(changed, actor=actor, action=action, reason=reason):
                self.jobs.wakeups.send(SCHEDULES)
                return
        raise StoreBusy(f"schedule {name!r} was changed {TRIES} times meanwhile: try again")

    async def _fire_apart(
        self, schedule: Schedule, fires: Sequence[Fire], trigger: Trigger, actor: str
    ) -> Fired:
        jobs = [job_for(schedule, fire, JobId(self.jobs.env.new_id())) for fire in fires]
        fired = await self.jobs.stores.schedules.fire_apart(
            schedule, fires, jobs, trigger=trigger, actor=actor
        )
        self.jobs.wakeups.send(*map(queue_hint, fired.queues), LATER, SCHEDULES)
        return fired

    async def _back_fill(self, schedule: Schedule, first: datetime, last: datetime, most: int) -> BackFill:
        if first.tzinfo is None or last.tzinfo is None or first > last:
            raise InvalidSchedule(
                schedule.name, "a range needs two moments with a time zone, the earlier one first"
            )
        wanted = schedule.definition
        now = await self.jobs.stores.schedules.now()
        until = min(last, now - timedelta(microseconds=1))
        limit = min(most, MOST_BACK_FILL)
        found, has_more = fires_between(wanted.rule, zone_of(wanted.zone), first, until, most=MOST_BACK_FILL)
        existing = await self.jobs.stores.schedules.existing(schedule, first, until)
        new = [moment for moment in found if moment not in existing]
        if has_more or len(new) > limit:
            count = f"more than {MOST_BACK_FILL:,}" if has_more else f"{len(new):,}"
            raise InvalidSchedule(
                schedule.name,
                f"{count} fires are in this range and {limit:,} are the most at once: take a shorter range"
                + ("" if has_more else ", or a larger `most`"),
            )
        return BackFill(new, len(found) - len(new))
