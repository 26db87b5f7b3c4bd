"""Erasing: the jobs of a person or a tenant go for good, with their letters, keys and all that belongs to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from backstay.errors import InvalidPolicy, WrongState
from backstay.model.job import Job
from backstay.model.records import Erased, JobFilter
from backstay.model.states import State
from backstay.model.text.salted import salted
from backstay.stores.contract import Stores
from backstay.stores.contract.erasing import Erasure

if TYPE_CHECKING:
    from backstay.client.jobs import Jobs

PAGE = 200
PATIENCE = "10m"
"""How long a page is looked for: what is to go may be rare among very many others."""


@dataclass(frozen=True)
class Eraser:
    """Erases through the client, so that children of what is erased are decided about as always."""

    jobs: Jobs
    stores: Stores
    secret: Callable[[], Awaitable[bytes]]

    async def erase(self, filters: JobFilter, *, actor: str, reason: str) -> Erased:
        """Erase all jobs that fit; those that run are asked to stop, and go with the next call."""
        refuse_everything(filters)
        erasure = Erasure(filters.tenant or "", actor, reason, await self._told(filters))
        done = Erased()
        cursor: str | None = None
        while True:
            page = await self.jobs.search(filters, cursor=cursor, limit=PAGE, timeout=PATIENCE)
            ended, running = await self._end(page.jobs, actor=actor, reason=reason)
            jobs, letters = await self.stores.erasing.remove([job.id for job in ended], erasure)
            done = replace(
                done,
                jobs=done.jobs + jobs,
                letters=done.letters + letters,
                running=done.running + running,
                awaited=done.awaited + len(ended) - jobs,
            )
            cursor = page.cursor
            if cursor is None:
                break
        done = replace(done, letters=done.letters + await self._letters_left(filters, erasure))
        if done.jobs == done.letters == 0:
            await self.stores.erasing.note(erasure, **asdict(done))
        return done

    async def _end(self, jobs: Sequence[Job], *, actor: str, reason: str) -> tuple[list[Job], int]:
        """End what has not ended; returns those that have, and how many were asked to stop."""
        ended: list[Job] = []
        running = 0
        for job in jobs:
            try:
                if job.state is State.DEAD:
                    await self.stores.dead_letters.resolve(
                        job.id, actor=actor, reason=reason, ignored=True, version=None
                    )
                elif not job.is_finished and (
                    await self.jobs.cancel(job.id, reason=reason, by=actor) is State.RUNNING
                ):
                    running += 1
                    continue
            except WrongState:
                # It ran on meanwhile, or its policy lets no running job be stopped.
                running += 1
                continue
            ended.append(job)
        return ended, running

    async def _letters_left(self, filters: JobFilter, erasure: Erasure) -> int:
        """Remove letters of jobs that retention has removed before; what they know is tenant, kind and arguments."""
        known = {"tenant", "kind", "promoted"}
        asked = {name for name, value in asdict(filters).items() if value is not None}
        fields = list((filters.promoted or {}).items())
        if asked - known or len(fields) > 1:
            return 0
        field, value = fields[0] if fields else (None, None)
        return await self.stores.erasing.remove_left(
            erasure,
            tenant=filters.tenant,
            kind=filters.kind,
            field=field,
            value=None if value is None else _as_text(value),
        )

    async def _told(self, filters: JobFilter) -> dict[str, Any]:
        """What was asked for, with a hash in the place of each value: the trail must not keep what is erased."""
        secret = await self.secret()
        given = {name: value for name, value in asdict(filters).items() if value is not None}
        promoted: Mapping[str, Any] = given.pop("promoted", {})
        given |= {f"promoted.{name}": value for name, value in promoted.items()}
        return {name: salted(secret, _as_text(value)) for name, value in sorted(given.items())}


def refuse_everything(filters: JobFilter) -> None:
    """Raise InvalidPolicy for a filter that names neither a tenant nor a promoted field."""
    if filters.tenant is None and not filters.promoted:
        raise InvalidPolicy(
            "filters", None, needs="a tenant or a promoted field, because erased jobs cannot be brought back"
        )


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)
