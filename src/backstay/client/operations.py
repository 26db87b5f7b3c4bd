"""Operations: one thing done to many jobs, by maintenance, at a pace."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from backstay.client.arguments import job_id as to_id
from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings, NotFound
from backstay.model.operations import Operation, Target, Verb, checked_pace, job_target, letter_target
from backstay.model.records import DeadLetterFilter, JobFilter
from backstay.model.rights import EVERYTHING
from backstay.wakeups.contract import OPERATIONS

MOST_LISTED = 1000
LONGEST_NAME = 200


@dataclass(frozen=True)
class Operations:
    """The operations of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def start(
        self,
        verb: str,
        filters: DeadLetterFilter | JobFilter,
        *,
        reason: str,
        by: str,
        pace: float = 100.0,
        name: str | None = None,
    ) -> Operation:
        """Start doing one thing with every job that fits now, at most `pace` a second; later ones are left alone.

        `verb` is `dead_letters.retry` or `dead_letters.resolve`, with a `DeadLetterFilter` or a `JobFilter`, or
        `jobs.cancel`, `jobs.hold`, `jobs.release` or `jobs.run_now` with a `JobFilter`. The worker that leads
        carries it out, wherever it was started: it goes on when the person who started it has left. Jobs that cannot
        be acted on any more are skipped.
        """
        asked, actor, because = _verb(verb), who(by), why(reason)
        target = await self._target(asked, filters)
        total = await self._total(target)
        operation_id = self._enqueuer.env.new_id()
        await self._enqueuer.stores.service.operations.start(
            operation_id,
            tenant=EVERYTHING if filters.tenant is None else filters.tenant,
            name=_name(name, asked, total),
            verb=asked,
            target=target,
            reason=because,
            pace=checked_pace(pace),
            total=total,
            actor=actor,
        )
        self._enqueuer.wakeups.send(OPERATIONS)
        return await self.get(operation_id)

    async def get(self, operation_id: UUID | str) -> Operation:
        """One operation as it is now; raises NotFound."""
        found = await self._enqueuer.stores.service.operations.get(to_id(operation_id))
        if found is None:
            raise NotFound("operation", operation_id)
        return found

    async def all(self, *, tenant: str | None = None, limit: int = 100) -> list[Operation]:
        """Operations, the newest first."""
        most = min(max(limit, 1), MOST_LISTED)
        return await self._enqueuer.stores.service.operations.all(tenant=tenant, limit=most)

    async def stop(self, operation_id: UUID | str, *, by: str) -> bool:
        """End an operation after the step that is under way; what was done stays done. False when it has ended."""
        operation = await self.get(operation_id)
        stopped = await self._enqueuer.stores.service.operations.stop(operation.id, actor=who(by))
        self._enqueuer.wakeups.send(OPERATIONS)
        return stopped

    async def _target(self, verb: Verb, filters: DeadLetterFilter | JobFilter) -> Target:
        now = (await self._enqueuer.stores.insights.engine()).now
        if isinstance(filters, DeadLetterFilter):
            if not verb.is_about_letters:
                raise InvalidSettings(f"{verb} is about jobs: give a JobFilter")
            return letter_target(filters, now)
        match = None if filters.state is None else self._enqueuer.builder.profile.match(filters.state)
        return job_target(filters, match, now)

    async def _total(self, target: Target) -> int | None:
        """How many letters there are; jobs are not counted, which could take long."""
        if target.letters is None or target.died_until is None:
            return None
        return await self._enqueuer.stores.dead_letters.count(target.letters, died_until=target.died_until)


def _verb(asked: str) -> Verb:
    if asked not in list(Verb):
        raise InvalidSettings(f"the verb cannot be {asked!r}: choose one of {', '.join(Verb)}")
    return Verb(asked)


def _name(given: str | None, verb: Verb, total: int | None) -> str:
    noun, _, deed = verb.value.partition(".")
    counted = "" if total is None else f"{total:,} "
    return (given or f"{deed.replace('_', ' ')} {counted}{noun.replace('_', ' ')}")[:LONGEST_NAME]
