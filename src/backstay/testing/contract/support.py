"""The words in which the contract's tests are written."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.model.job import Claim, Job, JobId, NewJob, Stored
from backstay.model.outcome import Crashed, ErrorInfo, Fail, Outcome
from backstay.model.policy.policy import Policy
from backstay.model.records import NewWorker, Seized, Settled, Wanted
from backstay.model.settlement import Settlement, settle
from backstay.model.states import State
from backstay.stores.contract import Stores
from backstay.stores.contract.dead_letters import OtherArgs
from backstay.testing.clock import FrozenClock

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LEASE = timedelta(seconds=60)
TIMEOUT = timedelta(seconds=300)

POLICY = Policy(max_attempts=4)
BOOM = ErrorInfo(type="ValueError", message="boom", error_class="unknown", traceback="Traceback …")
REPORT = Wanted(
    queue="default", kind="report", lease=LEASE, timeout=TIMEOUT, max_attempts=POLICY.max_attempts
)


def wanted(kind: str, queue: str = "default", **numbers: Any) -> Wanted:
    """A kind that a worker can run, with other numbers than usual where given."""
    return replace(REPORT, kind=kind, queue=queue, **numbers)


def other_args(text: str) -> OtherArgs:
    """Other arguments for a retry."""
    return OtherArgs(text, b"a secret")


class Store:
    """A store under test, with a clock that stands still and verbs that make tests read as prose."""

    def __init__(self, stores: Stores, clock: FrozenClock) -> None:
        self.stores, self.clock = stores, clock
        self._numbers = itertools.count()
        self._registered: set[str] = set()

    def now(self) -> datetime:
        """The time in the store."""
        return self.clock()

    def later(self, by: timedelta) -> None:
        """Let time pass."""
        self.clock.advance(by)

    def new_id(self) -> UUID:
        """A version-7 UUID of the store's time; within a millisecond they rise one by one."""
        milliseconds = int(self.clock().timestamp() * 1000)
        return UUID(int=(milliseconds << 80) | (0x7 << 76) | (0b10 << 62) | next(self._numbers))

    def new_job(self, **options: Any) -> NewJob:
        """A small job, ready to be stored."""
        given = {"id": JobId(self.new_id()), "kind": "report", "queue": "default", "args": "{}", **options}
        return NewJob(**given)

    async def enqueue(self, **options: Any) -> JobId:
        """Store one job."""
        job = self.new_job(**options)
        await self.stores.enqueuing.enqueue([job])
        return job.id

    async def enqueue_many(self, count: int, **options: Any) -> list[JobId]:
        """Store several jobs at once."""
        jobs = [self.new_job(**options) for _ in range(count)]
        await self.stores.enqueuing.enqueue(jobs)
        return [job.id for job in jobs]

    async def enqueue_keyed(self, **options: Any) -> Stored:
        """Store a job that has a key."""
        return (await self.stores.enqueuing.enqueue_keyed([self.new_job(**options)]))[0]

    async def job(self, job_id: JobId) -> Job:
        """The job as it is stored now."""
        found = await self.stores.jobs.get(job_id)
        assert found is not None, f"job {job_id} is not stored"
        return found

    async def state(self, job_id: JobId) -> State:
        """The state the job is in now."""
        return (await self.job(job_id)).state

    async def forget_unused(self, *, fires: timedelta = DAY) -> None:
        """Drop what ended more than a day ago, or, of fires, longer than this."""
        await self.stores.upkeep.forget_unused(fires=fires, locks=DAY, workers=DAY)

    async def register(self, worker: str = "w", **facts: Any) -> None:
        """Enter a worker, once."""
        if worker not in self._registered:
            self._registered.add(worker)
            await self.stores.workers.register(new_worker(worker, **facts))

    async def claim(
        self,
        *pairs: Wanted,
        worker: str = "w",
        limit: int = 1,
        suspects: int = 1,
        claim_id: UUID | None = None,
        since: datetime | None = None,
    ) -> list[Claim]:
        """Claim reports, or what `pairs` names, for a worker that is registered if need be."""
        await self.register(worker)
        return await self.stores.claims.claim(
            pairs or (REPORT,),
            worker=worker,
            claim_id=claim_id or self.new_id(),
            limit=limit,
            suspects=suspects,
            since=since,
        )

    async def claim_one(self, worker: str = "w", pair: Wanted = REPORT) -> Claim:
        """Claim the one job that is there."""
        claims = await self.claim(pair, worker=worker)
        assert len(claims) == 1, f"claimed {len(claims)} jobs, not one"
        return claims[0]

    async def claimed(self, worker: str = "w", **options: Any) -> Claim:
        """Store one job and claim it."""
        job_id = await self.enqueue(**options)
        claims = await self.claim(
            wanted(options.get("kind", "report"), options.get("queue", "default")), worker=worker
        )
        assert [claim.id for claim in claims] == [job_id]
        return claims[0]

    async def complete(self, claim: Claim, result: str | None = None) -> Settled:
        """Report success."""
        return await self.stores.claims.complete([(claim, result)])

    async def settle(self, claim: Claim, settlement: Settlement) -> Settled:
        """Report what was decided."""
        return await self.stores.claims.settle([(claim, settlement)])

    async def end(self, claim: Claim, outcome: Outcome, *, policy: Policy = POLICY) -> Settlement:
        """Decide by the policy what the outcome leads to, and report it."""
        decided = settle(claim, outcome, policy, chance=0.5)
        settled = await self.settle(claim, decided)
        assert claim.id in settled.done, f"the claim on {claim.id} was lost"
        return decided

    async def fail(self, claim: Claim, *, policy: Policy = POLICY, **facts: Any) -> Settlement:
        """Report that the handler raised."""
        return await self.end(claim, Fail(BOOM, **facts), policy=policy)

    async def fail_for_good(self, claim: Claim) -> None:
        """Report that the handler raised and no other attempt can help."""
        await self.fail(claim, hopeless=True)

    async def dead(self, **options: Any) -> JobId:
        """Store a job, run it once and let it die."""
        claim = await self.claimed(**options)
        await self.fail_for_good(claim)
        return claim.id

    async def seize(self, *, limit: int = 100, hold_for: timedelta = 10 * SECOND) -> list[Seized]:
        """Take over what ran out or overran."""
        return await self.stores.claims.seize(limit=limit, hold_for=hold_for, overrun=10 * SECOND)

    async def crash_again(self, claim: Claim) -> None:
        """Report that the worker died, and not for the first time: the job is a suspect from now on."""
        await self.end(claim._replace(crashes_in_row=1), Crashed(claim.worker))

    async def rescue(self, *, policy: Policy = POLICY, again: bool = False) -> list[JobId]:
        """Take over what ran out, and decide as after a crash, or as after a second one in a row."""
        seized = await self.seize()
        for one in seized:
            claim = one.claim._replace(crashes_in_row=1) if again else one.claim
            await self.end(claim, Crashed(claim.worker), policy=policy)
        return [one.claim.id for one in seized]

    async def promote(self, *, limit: int = 100) -> list[str]:
        """Make due jobs available."""
        return await self.stores.upkeep.promote(limit=limit)

    async def cancel(self, job_id: JobId, *, running: bool = True, reason: str = "not needed") -> State:
        """Cancel as an operator would."""
        return await self.stores.jobs.cancel(job_id, actor="ann", reason=reason, running=running)

    async def investigate(
        self, job_id: JobId, *, by: str = "ann", note: str | None = None, version: int | None = None
    ) -> int:
        """Look into a dead job as an operator would."""
        return await self.stores.dead_letters.investigate(job_id, actor=by, note=note, version=version)

    async def retry(
        self, job_id: JobId, *, delay: timedelta = timedelta(0), version: int | None = None
    ) -> str:
        """Retry a dead job as an operator would."""
        return await self.stores.dead_letters.retry(
            job_id, actor="ann", reason="fixed", delay=delay, version=version
        )

    async def resolve(
        self, job_id: JobId, *, ignored: bool = False, by: str = "ann", version: int | None = None
    ) -> None:
        """Close a dead job as an operator would."""
        await self.stores.dead_letters.resolve(
            job_id, actor=by, reason="done by hand", ignored=ignored, version=version
        )


def new_worker(name: str, **facts: Any) -> NewWorker:
    """A worker about to start."""
    given = {
        "host": "host",
        "boot_id": "boot",
        "pid": 1,
        "process_started": None,
        "version": "1.0",
        "kinds": ("report",),
        "queues": ("default",),
        "concurrency": 5,
        **facts,
    }
    return NewWorker(id=name, **given)


def ids(claims: Sequence[Claim]) -> list[JobId]:
    """The jobs that were claimed, in order."""
    return [claim.id for claim in claims]
