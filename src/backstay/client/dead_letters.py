"""Dead letters: jobs that are out of attempts or hopeless, until a person has decided about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.client.arguments import job_id as to_id
from backstay.client.arguments import who, why
from backstay.client.cloning import known_spec
from backstay.client.dead_letters_bulk import died_until, in_chunks
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.jobs import Jobs
from backstay.model.job import JobId
from backstay.model.records import BulkDecision, DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetterHour
from backstay.model.text.durations import duration
from backstay.stores.contract.dead_letters import OtherArgs
from backstay.wakeups.contract import LATER, queue_hint

MOST_COUNTED = 10_000


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of one application, from one event loop."""

    _enqueuer: Enqueuer
    _jobs: Jobs

    async def open(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        fingerprint: str | None = None,
        owner: str | None = None,
        limit: int = 100,
    ) -> list[DeadLetter]:
        """Dead letters nobody has closed, newest first.

        `owner` is who looks into them, an empty text for those that nobody has taken yet.
        """
        return await self._enqueuer.stores.dead_letters.open(
            kind=kind, queue=queue, tenant=tenant, fingerprint=fingerprint, owner=owner, limit=limit
        )

    async def groups(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        limit: int = 100,
    ) -> list[DeadLetterGroup]:
        """Dead letters nobody has closed, by their cause, the most frequent first.

        Two deaths have the same cause when kind, class and type of the error, the place in your code and the
        message agree; numbers, ids, quoted texts and paths in the message do not count. Each cause is counted up to
        10,000 letters; where it `is_capped` there are more.
        """
        return await self._enqueuer.stores.dead_letters.groups(
            kind=kind, queue=queue, tenant=tenant, limit=limit, most=MOST_COUNTED
        )

    async def by_hour(
        self, last: timedelta | float | str = timedelta(days=1), *, tenant: str | None = None
    ) -> list[DeadLetterHour]:
        """How many letters that nobody has closed each cause has from each hour of the last while.

        Hours without one are left out. Of very many only the newest 10,000 are counted.
        """
        stores = self._enqueuer.stores
        since = (await stores.insights.engine()).now - duration(last, field="last")
        return await stores.dead_letters.by_hour(since=since, tenant=tenant, limit=MOST_COUNTED)

    async def of_job(self, job_id: UUID | str) -> list[DeadLetter]:
        """Every death of one job, newest first."""
        return await self._enqueuer.stores.dead_letters.of_job(to_id(job_id))

    async def arguments(self, job_id: UUID | str) -> list[dict[str, Any] | None]:
        """The arguments that a job died with each time, newest first, also where a retry has given it others."""
        return await self._enqueuer.stores.dead_letters.arguments(to_id(job_id))

    async def investigate(
        self, job_id: UUID | str, *, by: str, note: str | None = None, version: int | None = None
    ) -> int:
        """Say that somebody looks into a dead job; returns the version of its letter.

        The letter stays open, with an owner and a note; the next person who does the same takes it over.
        """
        return await self._enqueuer.stores.dead_letters.investigate(
            to_id(job_id), actor=who(by), note=None if note is None else why(note), version=version
        )

    async def retry(
        self,
        job_id: UUID | str,
        *,
        by: str,
        reason: str,
        delay: timedelta | float | str = 0,
        version: int | None = None,
        args: Mapping[str, Any] | None = None,
        as_new: bool = False,
    ) -> JobId:
        """Run a dead job again with a fresh budget of attempts; returns the id of the job that will run.

        It is the same job, whose history and fence go on, or with `as_new` a new one in its place, whose metadata
        has `retried_from`. Other `args` replace all arguments and are checked as for an enqueue. With the `version`
        of the letter that was read, raises DeadLetterChanged when somebody has changed it since.
        """
        old_id, actor, because, after = to_id(job_id), who(by), why(reason), duration(delay, field="delay")
        other = None if args is None else await self._checked(old_id, args)
        letters = self._enqueuer.stores.dead_letters
        if as_new:
            new_id = JobId(self._enqueuer.env.new_id())
            queue = await letters.retry_as_new(
                old_id, new_id=new_id, actor=actor, reason=because, delay=after, version=version, args=other
            )
        else:
            new_id = old_id
            queue = await letters.retry(
                old_id, actor=actor, reason=because, delay=after, version=version, args=other
            )
        self._enqueuer.wakeups.send(queue_hint(queue), LATER)
        return new_id

    async def _checked(self, job_id: JobId, args: Mapping[str, Any]) -> OtherArgs:
        """Other arguments for a stored job, held against what is known of its kind here or in the database."""
        spec = await known_spec(self._enqueuer, (await self._jobs.get(job_id)).kind)
        return OtherArgs(spec.bind((), args), await self._jobs._secret())

    async def resolve(self, job_id: UUID | str, *, by: str, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because the matter is settled; `version` as for `retry`."""
        await self._enqueuer.stores.dead_letters.resolve(
            to_id(job_id), actor=who(by), reason=why(reason), ignored=False, version=version
        )

    async def ignore(self, job_id: UUID | str, *, by: str, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because it does not matter; `version` as for `retry`."""
        await self._enqueuer.stores.dead_letters.resolve(
            to_id(job_id), actor=who(by), reason=why(reason), ignored=True, version=version
        )

    async def count(self, filters: DeadLetterFilter) -> int:
        """How many open letters `retry_all` or `resolve_all` would be about."""
        stores = self._enqueuer.stores
        return await stores.dead_letters.count(filters, died_until=await died_until(stores, filters))

    async def retry_all(
        self,
        filters: DeadLetterFilter,
        *,
        by: str,
        reason: str,
        delay: timedelta | float | str = 0,
        limit: int | None = None,
        pace: float | None = None,
    ) -> BulkDecision:
        """Retry every dead job the filter lets through, oldest first, at most `pace` a second.

        It works in chunks, each a transaction of its own: stopped in the middle, it goes on when called again.
        Jobs that somebody else decides meanwhile, or whose unique key is taken, are skipped.
        """
        actor, because, after = who(by), why(reason), duration(delay, field="delay")

        async def decide(job_ids: Sequence[JobId]) -> int:
            queues = await self._enqueuer.stores.dead_letters.retry_many(
                job_ids, actor=actor, reason=because, delay=after
            )
            self._enqueuer.wakeups.send(*(queue_hint(queue) for queue in sorted(set(queues.values()))), LATER)
            return len(queues)

        return await in_chunks(
            self._enqueuer.stores, filters, decide, limit=limit, pace=pace, env=self._enqueuer.env
        )

    async def resolve_all(
        self,
        filters: DeadLetterFilter,
        *,
        by: str,
        reason: str,
        limit: int | None = None,
        pace: float | None = None,
    ) -> BulkDecision:
        """Close every dead job the filter lets through without running it, in the way of `retry_all`."""
        actor, because = who(by), why(reason)

        async def decide(job_ids: Sequence[JobId]) -> int:
            closed = await self._enqueuer.stores.dead_letters.resolve_many(
                job_ids, actor=actor, reason=because, ignored=False
            )
            return len(closed)

        return await in_chunks(
            self._enqueuer.stores, filters, decide, limit=limit, pace=pace, env=self._enqueuer.env
        )
