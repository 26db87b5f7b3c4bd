"""What is asked of a store about removing jobs of a person or a tenant for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from backstay.model.job import JobId


class Erasing(Protocol):
    """Removes jobs and what is known of them, whatever retention says."""

    async def remove(self, job_ids: Sequence[JobId]) -> tuple[int, int]:
        """Remove those that have ended and are waited for by nobody; returns how many jobs and how many letters."""
        ...

    async def remove_left(
        self, *, tenant: str | None, kind: str | None, field: str | None, value: str | None
    ) -> int:
        """Remove dead letters whose jobs are gone already; returns how many."""
        ...

    async def note(self, *, tenant: str, actor: str, reason: str, details: Mapping[str, Any]) -> None:
        """Write into the audit trail that it was done."""
        ...
