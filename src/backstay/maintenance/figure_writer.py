"""Adds up in the database what this process has counted: attempts of its worker, and crashes that it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from backstay.errors import StoreError
from backstay.model.events import Emit
from backstay.model.figures import Ended, Tallied
from backstay.model.job import Claim
from backstay.stores.contract import FigureCounts


class FigureWriter:
    """Writes figures every few seconds; what the database does not take is given up, because nothing depends on it."""

    def __init__(self, store: FigureCounts, take: Callable[[], list[Tallied]], *, emit: Emit) -> None:
        self._store, self._take, self._emit = store, take, emit
        self._crashed: list[Tallied] = []

    def note_crashes(self, claims: Iterable[Claim]) -> None:
        """Count attempts whose worker is gone."""
        self._crashed += [
            Tallied(queue=claim.queue, kind=claim.kind, ended=Ended.CRASHED, bucket=0, jobs=1, run_ms=0)
            for claim in claims
        ]

    async def write(self) -> None:
        """Add up what was counted since the last time, if anything was."""
        crashed, self._crashed = self._crashed, []
        counted = [*self._take(), *crashed]
        if not counted:
            return
        try:
            await self._store.add(counted)
        except StoreError as error:
            self._emit("store.failed", doing="add figures", error=str(error))
