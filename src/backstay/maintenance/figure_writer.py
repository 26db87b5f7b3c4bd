"""Adds up in the database what this process has counted: attempts of its worker, and crashes that it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from backstay.errors import StoreError
from backstay.model.events import Emit
from backstay.model.figures import Measure, Tallied, counted
from backstay.model.job import Claim
from backstay.stores.contract import FigureCounts


class FigureWriter:
    """Writes figures every few seconds; what the database does not take is given up, because nothing depends on it."""

    def __init__(self, store: FigureCounts, take: Callable[[], list[Tallied]], *, emit: Emit) -> None:
        self._store, self._take, self._emit = store, take, emit
        self._found: list[Tallied] = []

    def note(self, measure: Measure, claims: Iterable[Claim]) -> None:
        """Count attempts whose worker is gone: that they crashed, or that they left their jobs dead."""
        self._found += [counted(measure, claim) for claim in claims]

    async def write(self) -> None:
        """Add up what was counted since the last time, if anything was."""
        found, self._found = self._found, []
        tallied = [*self._take(), *found]
        if not tallied:
            return
        try:
            await self._store.add(tallied)
        except StoreError as error:
            self._emit("store.failed", doing="add figures", error=str(error))
