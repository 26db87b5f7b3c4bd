"""What is asked of a store about removing jobs of a person or a tenant for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from backstay.model.job import JobId


@dataclass(frozen=True, slots=True)
class Erasure:
    """Who erases, why, and what was asked for, as the audit trail may keep it."""

    tenant: str
    actor: str
    reason: str
    filter: Mapping[str, Any] = field(default_factory=dict)


class Erasing(Protocol):
    """Removes jobs and what is known of them, whatever retention says.

    What is removed and its line in the audit trail are one transaction, so that nothing goes without a trace.
    """

    async def remove(self, job_ids: Sequence[JobId], erasure: Erasure) -> tuple[int, int]:
        """Remove those that have ended and are waited for by nobody; returns how many jobs and how many letters."""
        ...

    async def remove_left(
        self, erasure: Erasure, *, tenant: str | None, kind: str | None, field: str | None, value: str | None
    ) -> int:
        """Remove dead letters whose jobs are gone already; returns how many."""
        ...

    async def note(self, erasure: Erasure, **counts: int) -> None:
        """Write a line into the audit trail about an erasure."""
        ...
