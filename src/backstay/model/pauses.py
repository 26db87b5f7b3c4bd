"""What operators hold back: paused queues, kinds and tenants, and quotas on waiting jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

TENANT_PAUSED = "tenant paused"
"""Why the jobs of a paused tenant are held, as people and statements read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A queue or a kind whose jobs are not claimed, or a tenant whose jobs are held; exactly one of the three."""

    queue: str | None
    kind: str | None
    paused_at: datetime
    paused_by: str
    reason: str
    tenant: str | None = None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many jobs may wait: of one tenant or, if None, of each; in one queue or, if None, in all together."""

    tenant: str | None
    queue: str | None
    most: int
    set_at: datetime
    set_by: str
    reason: str
