"""What failures, causes of death over time, ask of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from backstay.model.failures import CauseCount, CauseHistory


class Failures(Protocol):
    """Causes of death, and what people have said of them."""

    async def causes(
        self, *, since: datetime, kind: str | None, queue: str | None, tenant: str | None, limit: int
    ) -> list[CauseCount]:
        """The causes of deaths since a moment, those that struck last first."""
        ...

    async def history(self, fingerprint: str, *, tenant: str | None) -> CauseHistory | None:
        """What is known of one cause; None where no job died of it."""
        ...

    async def hours(
        self,
        fingerprints: Sequence[str],
        *,
        since: datetime,
        kind: str | None,
        queue: str | None,
        tenant: str | None,
    ) -> Mapping[str, Mapping[int, int]]:
        """How often each of these causes struck in each hour since a moment."""
        ...

    async def note(
        self,
        fingerprint: str,
        *,
        tenant: str,
        owner: str | None,
        closes: bool,
        reason: str | None,
        actor: str,
    ) -> None:
        """Note who looks after a cause, or that it was dealt with."""
        ...
