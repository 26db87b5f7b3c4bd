"""Progress for PostgreSQL, and its percent for Redis."""

from __future__ import annotations

from collections.abc import Sequence

from backstay.dispatch.mirror import Mirror
from backstay.model.job import Claim, Progress
from backstay.stores.contract import Telling


class MirroredProgress:
    """What is written is told as well."""

    def __init__(self, progress: Telling, mirror: Mirror) -> None:
        self._progress, self._mirror = progress, mirror

    async def write(self, told: Sequence[tuple[Claim, Progress]]) -> None:
        """Keep the newest word of each claim that is still held."""
        await self._progress.write(told)
        for claim, progress in told:
            if progress.percent is not None:
                self._mirror.progressed(claim.id, progress.percent)
