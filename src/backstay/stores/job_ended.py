"""What follows from the end of jobs, however they ended: every store that ends a job calls this, after its commit.

After, not in the same transaction: a new statement sees what others have committed meanwhile, and nobody who settles a
job waits for another job's row. What a crash keeps from happening here is found by the leader's sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from backstay.errors import StoreError
from backstay.model.flows import Followed
from backstay.model.job import JobId
from backstay.model.limits.declared import ORDER
from backstay.stores.database.interface import Lane
from backstay.stores.dependents import follow
from backstay.stores.limits import release

SendHints = Callable[[Followed], None]
"""Wakes workers and callers for whom there is something new."""


def send_no_hints(_: Followed) -> None:
    """Workers find the jobs when they poll."""


@dataclass(frozen=True, slots=True)
class AfterEnd:
    """Lets jobs go on that waited for others to end, and sends hints to the queues that have work because of it."""

    lane: Lane
    send_hints: SendHints = send_no_hints

    async def follow(self, job_ids: Iterable[JobId]) -> None:
        """Let jobs go on that waited for these; does not fail, because the ends are committed already."""
        try:
            await self.follow_or_raise(job_ids)
        except StoreError as error:
            self.send_hints(Followed(problem=str(error)))

    async def follow_or_raise(self, job_ids: Iterable[JobId]) -> None:
        """Do the same, and raise if the database is not available."""
        ended = list(job_ids)
        if ended:
            self.send_hints(await follow(self.lane, ended))

    async def follow_waiting(self, job_ids: Iterable[JobId]) -> None:
        """Do the same for jobs that ended without having run; also those that stood in line behind one go on."""
        ended = list(job_ids)
        await self.follow(ended)
        try:
            found = await self.lane.fetch_each("limits/lines", [{"job_id": job_id} for job_id in ended])
            queues = await release(self.lane, {ORDER + row["order_key"] for row in found})
        except StoreError as error:
            self.send_hints(Followed(problem=str(error)))
            return
        self.hint(queues)

    def hint(self, queues: Iterable[str]) -> None:
        """Wake the workers of these queues."""
        if told := frozenset(queues):
            self.send_hints(Followed(queues=told))
