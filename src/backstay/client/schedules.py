"""Schedules: creating, changing, pausing, previewing and running them, and what became of their fires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Unpack

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.scheduling import (
    TRIES,
    Asked,
    Declared,
    Timing,
    checked_override,
    declare,
    define,
    first_fire,
    standing,
)
from backstay.errors import InvalidSchedule, ScheduleNotFound, StoreBusy
from backstay.handle import JobHandle
from backstay.handler import BoundHandler, Handler
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import JobId
from backstay.model.schedules.cron import fires_between
from backstay.model.schedules.cron_parser import read_rule
from backstay.model.schedules.records import Fired, HistoryEntry
from backstay.model.schedules.schedule import Fire, Schedule, ScheduleOverride, Trigger, job_for, preview
from backstay.model.schedules.zones import tzdata_version, zone_of
from backstay.model.states import State
from backstay.options import NO_OPTIONS, JobOptions
from backstay.wakeups.contract import LATER, SCHEDULES, queue_hint

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

    _enqueuer: Enqueuer

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
        definition = define(name, spec, options, Asked(**asked), self._enqueuer.builder)
        schedules = self._enqueuer.stores.schedules
        now = await schedules.now()
        schedule = Schedule(
            id=self._enqueuer.env.new_id(),
            name=name,
            tenant=definition.job.tenant,
            declared=definition,
            source="runtime",
            declared_by=who(by),
            next_fire_at=first_fire(name, definition, now),
            tzdata=tzdata_version(),
        )
        await self._enqueuer.add_routes([(definition.job.queue, spec)])
        if not await schedules.add(schedule, actor=who(by)):
            raise InvalidSchedule(
                name, "a schedule of this name exists: change or remove that one, or choose another"
            )
        self._enqueuer.wakeups.send(SCHEDULES)
        return await self.get(name, tenant=schedule.tenant)

    async def get(self, name: str, *, tenant: str = "") -> Schedule:
        """One schedule as it is now; raises ScheduleNotFound."""
        found = await self._enqueuer.stores.schedules.get(tenant, name)
        if found is None:
            raise ScheduleNotFound(name)
        return found

    async def all(
        self,
        *,
        tenant: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        limit: int = 1000,
    ) -> list[Schedule]:
        """Schedules by name; without a tenant, those of all of them."""
        return await self._enqueuer.stores.schedules.all(
            tenant=tenant, kind=kind, name=name, limit=min(limit, LARGEST_PAGE)
        )

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
        now = await self._enqueuer.stores.schedules.now()
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

    async def set(
        self, name: str, field: str, value: Any, *, reason: str, by: str = "client", tenant: str = ""
    ) -> Schedule:
        """Change one field of a schedule; a deploy keeps it, until `unset` lets the declaration count again.

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

    async def unset(self, name: str, field: str, *, by: str = "client", tenant: str = "") -> Schedule:
        """Let the declaration of a field count again."""

        def change(schedule: Schedule, now: datetime) -> Schedule:
            left = {key: one for key, one in schedule.overrides.items() if key != field}
            changed = replace(schedule, overrides=left)
            return replace(changed, next_fire_at=standing(changed, now), tzdata=tzdata_version())

        await self._change(name, tenant, change, actor=who(by), action="schedule.reset", reason=field)
        return await self.get(name, tenant=tenant)

    async def remove(self, name: str, *, reason: str, by: str = "client", tenant: str = "") -> None:
        """Remove a schedule and its history; jobs that it made stay. One in code comes back with the next worker."""
        if not await self._enqueuer.stores.schedules.remove(tenant, name, actor=who(by), reason=why(reason)):
            raise ScheduleNotFound(name)

    async def run_now(
        self,
        name: str,
        *,
        reference_time: datetime | None = None,
        force: bool = False,
        by: str = "client",
        tenant: str = "",
    ) -> JobHandle[Any] | None:
        """Run it now, apart from its own times; `ctx.now` is the reference time. None if it would overlap.

        A reference time in the future raises InvalidSchedule, unless `force` is given.
        """
        schedule = await self.get(name, tenant=tenant)
        if not force and await self._is_future(reference_time):
            raise InvalidSchedule(
                name,
                f"the reference time {reference_time} is in the future: use force to run it all the same",
            )
        fire = Fire(await self._enqueuer.stores.schedules.now(), reference_time=reference_time)
        fired = await self._fire_apart(schedule, [fire], "run_now", who(by))
        if not fired.jobs:
            return None
        return self._enqueuer.handle(await self._enqueuer.spec_of(schedule.declared.job.kind), fired.jobs[0])

    async def _is_future(self, moment: datetime | None) -> bool:
        """Return True if this lies ahead, by the database's clock."""
        return moment is not None and moment > await self._enqueuer.stores.schedules.now()

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
        found = await self._enqueuer.stores.schedules.history(
            tenant, name, before=before, limit=min(limit, LARGEST_PAGE)
        )
        return [replace(entry, word=self._word(entry)) for entry in found]

    def _word(self, entry: HistoryEntry) -> str:
        if entry.status not in set(State):
            return entry.status
        profile = self._enqueuer.builder.profile
        return profile.word_for(State(entry.status), entry.attempt or 0, entry.reason)

    async def _run_declared(
        self,
        declared: Declared,
        call: tuple[HandlerSpec, str, JobOptions],
        *,
        reference_time: datetime | None,
    ) -> JobHandle[Any]:
        """Store a job as a run of a schedule that somebody asked for, so that the schedule's history tells of it."""
        enqueuer, (spec, args_text, options) = self._enqueuer, call
        tenant, by = declared.definition.job.tenant, options.created_by or "client"
        schedules = enqueuer.stores.schedules
        if (found := await schedules.get(tenant, declared.name)) is None:
            await declare(enqueuer.stores, [declared], by=by, emit=_quiet, new_id=enqueuer.env.new_id)
            found = await self.get(declared.name, tenant=tenant)
        # A run that was asked for by hand is stored, whatever the schedule says of fires that overlap.
        own = {field: kept for field, kept in found.overrides.items() if field != "overlap"}
        open_to_all = replace(found, declared=replace(found.declared, overlap="allow"), overrides=own)
        job = enqueuer.builder.build(spec, args_text, options)
        if job.queue != spec.queue:
            await enqueuer.add_routes([(job.queue, spec)])
        now = await schedules.now()
        for later in range(TRIES):
            # Two that are asked for in the same moment are two runs.
            fire = Fire(now + timedelta(microseconds=later), reference_time=reference_time)
            fired = await schedules.fire_apart(open_to_all, [fire], [job], trigger="run_now", actor=by)
            if fired.jobs:
                enqueuer.wakeups.send(*map(queue_hint, fired.queues), LATER)
                return enqueuer.handle(spec, job.id)
        raise StoreBusy(f"{TRIES} runs of {declared.name!r} were asked for in the same moment: try again")

    async def _target(
        self, job: Handler[..., Any] | BoundHandler[..., Any] | str
    ) -> tuple[HandlerSpec, JobOptions]:
        if isinstance(job, BoundHandler):
            return job.spec, job._options
        if isinstance(job, Handler):
            return job.spec, NO_OPTIONS
        return await self._enqueuer.spec_of(job), NO_OPTIONS

    async def _change(
        self, name: str, tenant: str, change: Any, *, actor: str, action: str, reason: str | None
    ) -> None:
        schedules = self._enqueuer.stores.schedules
        for _ in range(TRIES):
            schedule = await self.get(name, tenant=tenant)
            changed: Schedule = change(schedule, await schedules.now())
            if await schedules.rewrite(changed, actor=actor, action=action, reason=reason):
                self._enqueuer.wakeups.send(SCHEDULES)
                return
        raise StoreBusy(f"schedule {name!r} was changed {TRIES} times meanwhile: try again")

    async def _fire_apart(
        self, schedule: Schedule, fires: Sequence[Fire], trigger: Trigger, actor: str
    ) -> Fired:
        jobs = [job_for(schedule, fire, JobId(self._enqueuer.env.new_id())) for fire in fires]
        fired = await self._enqueuer.stores.schedules.fire_apart(
            schedule, fires, jobs, trigger=trigger, actor=actor
        )
        self._enqueuer.wakeups.send(*map(queue_hint, fired.queues), LATER, SCHEDULES)
        return fired

    async def _back_fill(self, schedule: Schedule, first: datetime, last: datetime, most: int) -> BackFill:
        if first.tzinfo is None or last.tzinfo is None or first > last:
            raise InvalidSchedule(
                schedule.name, "a range needs two moments with a time zone, the earlier one first"
            )
        wanted = schedule.definition
        now = await self._enqueuer.stores.schedules.now()
        until = min(last, now - timedelta(microseconds=1))
        limit = min(most, MOST_BACK_FILL)
        found, has_more = fires_between(wanted.rule, zone_of(wanted.zone), first, until, most=MOST_BACK_FILL)
        existing = await self._enqueuer.stores.schedules.existing(schedule, first, until)
        new = [moment for moment in found if moment not in existing]
        if has_more or len(new) > limit:
            count = f"more than {MOST_BACK_FILL:,}" if has_more else f"{len(new):,}"
            raise InvalidSchedule(
                schedule.name,
                f"{count} fires are in this range and {limit:,} are the most at once: take a shorter range"
                + ("" if has_more else ", or a larger `most`"),
            )
        return BackFill(new, len(found) - len(new))


def _quiet(event: str, /, **facts: Any) -> None:
    """A schedule of the same name that an operator has made is as good."""
