"""Follows the ends of jobs that nobody followed, because a process died or two committed at the same moment."""

from __future__ import annotations

from backstay.model.job import JobId
from backstay.model.records import MaintenanceLook
from backstay.stores.contract import Flows

PAGE = 5000


class DependentsSweeper:
    """Looks at a page of parents at every tick, and only while some job waits for another."""

    def __init__(self, flows: Flows) -> None:
        self._flows = flows
        self._after: JobId | None = None

    async def sweep(self, look: MaintenanceLook) -> None:
        """Look at the next page; the last one is followed by the first."""
        if look.has_waiting_children:
            self._after = await self._flows.sweep(after=self._after, limit=PAGE)
