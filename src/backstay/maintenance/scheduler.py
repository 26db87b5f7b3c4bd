"""Makes jobs of schedules when their time comes."""

from __future__ import annotations

from datetime import datetime

from backstay.errors import InvalidJob, InvalidSchedule, StoreError
from backstay.maintenance.alarm import Alarm
from backstay.model.events import Emit
from backstay.model.job import JobId
from backstay.model.schedules.records import Fired, ScheduleLook
from backstay.model.schedules.schedule import Schedule, job_for, plan
from backstay.model.schedules.zones import tzdata_version
from backstay.runtime.env import Env
from backstay.stores.contract import Schedules
from backstay.wakeups.contract import LATER, SCHEDULES, Wakeups, queue_hint

BATCH = 100
SHORTEST_WAIT = 0.05
LET_GO_EVERY = 1.0
"""How soon a fire that waits for an earlier one is let go after that has ended."""
RETRY_AFTER = 30.0


class Scheduler:
    """Sleeps until the next schedule fires; woken when one is changed, and by the regular look at the tables."""

    def __init__(self, schedules: Schedules, wakeups: Wakeups, *, emit: Emit, env: Env) -> None:
        self._schedules, self._wakeups, self._emit, self._env = schedules, wakeups, emit, env
        self._alarm = Alarm(0.0, shortest=SHORTEST_WAIT)
        self._told: set[str] = set()

    def on_hint(self, hint: str) -> None:
        """Look again: a schedule is new or has changed."""
        if hint == SCHEDULES:
            self._alarm.set(0.0)

    def know(self, look: ScheduleLook) -> None:
        """What the regular look found."""
        self._alarm.set(_wait(look))

    async def run(self) -> None:
        """Fire until cancelled."""
        await self._alarm.call(self._serve)

    async def _serve(self) -> None:
        try:
            while await self.fire_due():
                pass
            freed = await self._schedules.let_go(limit=BATCH)
            self._wakeups.send(*map(queue_hint, set(freed)))
            self._alarm.due_in = _wait(await self._schedules.look())
            if self._alarm.due_in == 0:
                # What is due could not be fired; the reasons are told.
                self._alarm.due_in = RETRY_AFTER
        except StoreError as error:
            self._emit("store.failed", doing="schedule", error=str(error))
            self._alarm.due_in = LET_GO_EVERY

    async def fire_due(self) -> bool:
        """Fire what is due, a bounded number; False when nothing was, or nothing could be."""
        has_moved = False
        for schedule, now in await self._schedules.due(limit=BATCH):
            try:
                await self._fire(schedule, now)
                has_moved = True
            except (InvalidSchedule, InvalidJob) as error:
                # One that cannot fire must not keep the others from it.
                self._emit("schedule.failed", schedule=schedule.name, error=str(error))
        return has_moved

    async def _fire(self, schedule: Schedule, now: datetime) -> None:
        self._compare_rules(schedule)
        decided = plan(schedule, now)
        jobs = [job_for(schedule, fire, JobId(self._env.new_id())) for fire in decided.fires]
        fired = await self._schedules.fire(schedule, decided, jobs)
        if fired is None:
            # Another scheduler was faster, or somebody has changed it: it is read again.
            return
        if decided.dropped:
            self._emit("schedule.missed", schedule=schedule.name, missed=decided.dropped)
        self._announce(schedule, fired)

    def _announce(self, schedule: Schedule, fired: Fired) -> None:
        self._emit("schedule.fired", schedule=schedule.name, jobs=len(fired.jobs), skipped=fired.skipped)
        later = [LATER] if schedule.definition.jitter else []
        self._wakeups.send(*map(queue_hint, fired.queues), *later)

    def _compare_rules(self, schedule: Schedule) -> None:
        own = tzdata_version()
        if schedule.tzdata != own and schedule.tzdata not in self._told:
            self._told.add(schedule.tzdata)
            self._emit("schedule.rules_differ", schedule=schedule.name, stored=schedule.tzdata, here=own)


def _wait(look: ScheduleLook) -> float | None:
    fires_in = None if look.fires_in is None else look.fires_in.total_seconds()
    if not look.has_queued:
        return fires_in
    return LET_GO_EVERY if fires_in is None else min(fires_in, LET_GO_EVERY)
