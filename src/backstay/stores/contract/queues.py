"""What is asked of a store about pauses and quotas: part of the contract, in a file of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

from backstay.model.pauses import Pause, Quota


class Queues(Protocol):
    """Pausing and resuming."""

    async def depth(self, queue: str, most: int) -> int:
        """How many jobs of a queue could run now, counted up to `most`."""
        ...

    async def pause(
        self,
        *,
        queue: str | None = None,
        kind: str | None = None,
        tenant: str | None = None,
        actor: str,
        reason: str,
        until: datetime | None = None,
        length: timedelta | None = None,
    ) -> None:
        """Stop claims of a queue or a kind, or put aside what a tenant has waiting and what it will have.

        Until that moment or for so long, or else until it is resumed.
        """
        ...

    async def resume(
        self, *, queue: str | None = None, kind: str | None = None, tenant: str | None = None, actor: str
    ) -> bool:
        """Let them be claimed again; False when nothing was paused."""
        ...

    async def pauses(self) -> list[Pause]:
        """What is paused."""
        ...

    async def tend(self) -> list[str]:
        """End pauses whose time is over, and hold what paused tenants have; returns queues that go on, '' for a kind.

        Also finishes a pause or resumption of a tenant that was interrupted.
        """
        ...


class Quotas(Protocol):
    """How many jobs of a tenant may wait. A quota of a tenant's own counts instead of the one for each."""

    async def set(self, *, tenant: str | None, queue: str | None, most: int, actor: str, reason: str) -> None:
        """Let at most `most` wait; None stands for each tenant, and for all queues together."""
        ...

    async def remove(self, *, tenant: str | None, queue: str | None, actor: str) -> bool:
        """Let any number wait again; False when there was no such quota."""
        ...

    async def all(self) -> list[Quota]:
        """Every quota."""
        ...
