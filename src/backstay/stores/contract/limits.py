"""What services ask of a store about limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Protocol

from backstay.model.job import Claim
from backstay.model.limits.admission import LimitRecord, PermitHolder


class Limits(Protocol):
    """Room under limits, and who waits for it."""

    async def let_go(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Give back the permits of claims that have ended; returns the queues where jobs can go on, "*" for all."""
        ...

    async def release(self, keys: Iterable[str]) -> frozenset[str]:
        """Let as many jobs go on as these limits have room for; returns their queues."""
        ...

    async def release_due(self, *, limit: int) -> tuple[bool, frozenset[str]]:
        """The same for limits whose next token has come; False when there was none."""
        ...

    async def next_due(self) -> timedelta | None:
        """How long until the next token comes that a job waits for."""
        ...

    async def repair(self, after: str, *, limit: int) -> tuple[str | None, frozenset[str]]:
        """Look at the next limits that jobs wait for and let go on what can; returns where to go on, None at the end.

        This finds what a process that died between two statements has left.
        """
        ...

    async def rooms(self, keys: Iterable[str]) -> dict[str, int]:
        """How many more jobs may start under each of these limits, of those that were ever asked for."""
        ...

    async def all(self, *, limit: int, most: int) -> list[LimitRecord]:
        """What is known of each limit; who waits is counted up to `most`."""
        ...

    async def holders(self, key: str, *, limit: int) -> list[PermitHolder]:
        """Who holds the permits of a limit now."""
        ...
