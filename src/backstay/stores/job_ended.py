"""What must happen after jobs have ended, however they ended: every store that ends a job calls this, after its commit.

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

Tell = Callable[[Followed], None]


def tell_nobody(_: Followed) -> None:
    """Workers find the jobs when they look by themselves."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """Does on one lane what follows from ends, and tells which queues have work because of it."""

    lane: Lane
    tell: Tell = tell_nobody

    async def of(self, job_ids: Iterable[JobId]) -> None:
        """Let go on what waited for these jobs; does not fail, because what it follows is committed already."""
        try:
            await self.surely_of(job_ids)
        except StoreError as error:
            self.tell(Followed(problem=str(error)))

    async def surely_of(self, job_ids: Iterable[JobId]) -> None:
        """Do the same, and fail if it cannot be done now."""
        ended = list(job_ids)
        if ended:
            self.tell(await follow(self.lane, ended))

    async def of_waiting(self, job_ids: Iterable[JobId]) -> None:
        """The same for jobs that ended without having run; who stood in line behind one of them goes on, too."""
        ended = list(job_ids)
        await self.of(ended)
        try:
            found = await self.lane.fetch_each("limits/lines", [{"job_id": job_id} for job_id in ended])
            queues = await release(self.lane, {ORDER + row["order_key"] for row in found})
        except StoreError as error:
            self.tell(Followed(problem=str(error)))
            return
        self.tell_of(queues)

    def tell_of(self, queues: Iterable[str]) -> None:
        """Tell that these queues have work."""
        if told := frozenset(queues):
            self.tell(Followed(queues=told))
