"""The doctor: finds what is wrong with jobs and workers, and says why one job does not run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from backstay.client.arguments import job_id as to_id
from backstay.client.doctor.database_findings import lost_hints, no_hints
from backstay.client.doctor.diagnosis import Facts, Surroundings, diagnose, schema_drift, worst_first
from backstay.client.doctor.findings import Finding
from backstay.client.doctor.link_findings import unverified_link
from backstay.client.doctor.promoted_findings import promoted_drift, promoted_unfilled
from backstay.client.doctor.reasons import MOST_AHEAD, Situation, reasons
from backstay.client.doctor.schedule_findings import without_success
from backstay.client.doctor.text import MOST_COUNTED
from backstay.client.promoted import PromotedFields
from backstay.errors import JobNotFound, SchemaMismatch
from backstay.model.job import JobId
from backstay.model.limits.declared import shared_keys
from backstay.model.states import State
from backstay.stores.contract import Stores
from backstay.wakeups.contract import PROBE, Wakeups

TWO_SWEEPS = timedelta(seconds=10)
NEWEST = 50_000
HINT_WITHIN = timedelta(seconds=3)
MOST_WORKERS = 1000
MOST_SCHEDULES = 1000
NEWEST_FIRES = 100


@dataclass(frozen=True)
class Doctor:
    """Looks at one application's jobs and workers, from one event loop; changes nothing."""

    stores: Stores
    wakeups: Wakeups | None = None
    promoted: PromotedFields | None = None
    url: str = field(default="", repr=False)

    async def check(self) -> list[Finding]:
        """Everything worth knowing, the worst first; empty when there is nothing to report."""
        drift = schema_drift(await self.stores.insights.drift())
        try:
            found = [*diagnose(await self._facts()), *await self._schedules()]
            found += [*await self._promotions(), *await self._hints(), *unverified_link(self.url)]
            return [*drift, *worst_first(found)]
        except SchemaMismatch:
            if not drift:
                raise
            # Without its tables nothing else can be looked at, and the drift says which are missing.
            return drift

    async def _schedules(self) -> list[Finding]:
        schedules = self.stores.schedules
        known = await schedules.all(tenant=None, kind=None, limit=MOST_SCHEDULES)
        if not any(one.is_active for one in known):
            return []
        return without_success(known, await schedules.successes(newest=NEWEST_FIRES), await schedules.now())

    async def _promotions(self) -> list[Finding]:
        if self.promoted is None:
            return []
        lines = await self.promoted.drift()
        if lines:
            # Without their columns there is nothing to look for in them.
            return promoted_drift(lines)
        unfilled = {
            promotion.kind: await self.stores.promoted.unfilled(promotion, newest=NEWEST)
            for promotion in await self.promoted.known()
        }
        return promoted_unfilled(unfilled)

    async def why(self, job_id: UUID | str) -> list[str]:
        """Why the job does not run now, in sentences, the decisive one first; raises JobNotFound."""
        job = await self.stores.jobs.get(to_id(job_id))
        if job is None:
            raise JobNotFound(job_id)
        ahead, full = 0, list[str]()
        if job.state is State.AVAILABLE:
            ahead = await self.stores.insights.ahead(job.id, limit=MOST_AHEAD)
            rooms = await self.stores.limits.rooms(shared_keys(job.queue, job.kind))
            full = [key for key, room in rooms.items() if not room]
        parents: tuple[JobId, ...] = ()
        if job.state is State.HELD:
            ties = [one for one in await self.stores.flows.of_job(job.id) if one.verdict is None]
            parents = tuple(one.dependency.parent_id for one in ties if one.dependency.job_id == job.id)
        around = await self._surroundings()
        return reasons(Situation(job=job, around=around, ahead=ahead, parents=parents, full=tuple(full)))

    async def _surroundings(self) -> Surroundings:
        return Surroundings(
            workers=await self.stores.workers.all(limit=MOST_WORKERS),
            pauses=await self.stores.queues.pauses(),
            routes=await self.stores.insights.routes(),
            engine=await self.stores.insights.engine(),
        )

    async def _facts(self) -> Facts:
        insights = self.stores.insights
        return Facts(
            around=await self._surroundings(),
            waiting=await insights.waiting(most=MOST_COUNTED),
            kinds=await self.stores.kinds.all(),
            stuck=await insights.stuck(grace=TWO_SWEEPS, most=MOST_COUNTED),
            broken=await insights.broken(newest=NEWEST),
            dead_letters=await insights.open_dead_letters(most=MOST_COUNTED),
            misfits=await insights.misfits(most=MOST_COUNTED),
            health=await insights.health(),
            overrides=await self.stores.overrides.all(),
        )

    async def _hints(self) -> list[Finding]:
        """Send a hint to ourselves, and see whether it arrives."""
        if self.wakeups is None:
            return []
        if not self.wakeups.can_listen:
            return [no_hints()]
        arrived = asyncio.Event()

        def hear(hint: str) -> None:
            if hint == PROBE:
                arrived.set()

        ear = asyncio.create_task(self.wakeups.listen(hear))
        try:
            async with asyncio.timeout(HINT_WITHIN.total_seconds()):
                while not arrived.is_set():
                    # Sent again and again, because nobody tells when listening has begun.
                    self.wakeups.send(PROBE)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(arrived.wait(), timeout=0.1)
        except TimeoutError:
            return [lost_hints(HINT_WITHIN)]
        finally:
            ear.cancel()
            await asyncio.gather(ear, return_exceptions=True)
        return []
