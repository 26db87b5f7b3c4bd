"""What operations, actions on many jobs, ask of a store."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol
from uuid import UUID

from backstay.model.operations import Advance, Operation, TakenOperation, Target, Verb


class Operations(Protocol):
    """Actions on many jobs, and how far they are."""

    async def start(
        self,
        operation_id: UUID,
        *,
        tenant: str,
        name: str,
        verb: Verb,
        target: Target,
        reason: str,
        pace: float,
        total: int | None,
        actor: str,
    ) -> None:
        """Keep a new operation; its first step is due at once."""
        ...

    async def get(self, operation_id: UUID) -> Operation | None:
        """One operation."""
        ...

    async def all(self, *, tenant: str | None, limit: int) -> list[Operation]:
        """Operations, the newest first."""
        ...

    async def stop(self, operation_id: UUID, *, actor: str) -> bool:
        """Let an operation end after the step that is under way; False when it does not run, or stops already."""
        ...

    async def take(self, *, hold: timedelta) -> TakenOperation | None:
        """Take the operation whose step is due, for a while; None where none is."""
        ...

    async def advance(self, taken: TakenOperation, step: Advance, *, pause: timedelta) -> bool:
        """Note what a step came to, and when the next is due; False when somebody else has taken it."""
        ...

    async def next_due(self) -> timedelta | None:
        """How long until a step is due; None where no operation runs."""
        ...

    async def forget(self, *, keep: timedelta) -> None:
        """Remove operations that ended long ago."""
        ...
