"""What dispatch asks of PostgreSQL, which is the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from backstay.model.job import Claim
from backstay.model.records import Wanted
from backstay.model.suggestions import Snapshot, Suggestion


class Named(Protocol):
    """Claims jobs by their ids, and says why it did not."""

    async def claim(
        self, wanted: Sequence[Wanted], ids: Sequence[UUID], *, worker: str, claim_id: UUID
    ) -> list[Claim]:
        """Claim those of the named jobs that can be, in order of turn."""
        ...

    async def paused(self, ids: Sequence[UUID]) -> list[Suggestion]:
        """Those of the named jobs that wait in a paused queue, or are of a paused kind, in the order given."""
        ...


class Truth(Named, Protocol):
    """PostgreSQL, as far as Redis is made from it."""

    async def waiting(self, limit: int) -> list[Suggestion]:
        """The jobs that are first in line."""
        ...

    async def snapshot(self, limit: int) -> Snapshot:
        """What the lists hold when they are made anew."""
        ...
