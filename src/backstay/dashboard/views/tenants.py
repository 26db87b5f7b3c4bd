"""Tenants: what each has waiting and running, and its share of what runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.kit.hrefs import with_query
from backstay.model.figures import TenantDepths
from backstay.model.pauses import Pause


@dataclass(frozen=True)
class TenantRow:
    """One tenant; `share` is its part of all running jobs of tenants, None while nothing runs."""

    depths: TenantDepths
    share: float | None
    pause: Pause | None

    @property
    def waiting(self) -> int:
        return self.depths.available + self.depths.scheduled + self.depths.held

    def jobs_href(self, state: str) -> str:
        """Return the address of its jobs in one state."""
        return with_query("/jobs", [], tenant=self.depths.tenant, state=state)


def tenant_rows(found: Sequence[TenantDepths], pauses: Sequence[Pause]) -> list[TenantRow]:
    """Return the tenants, those with most to do first."""
    paused = {pause.tenant: pause for pause in pauses}
    running = sum(one.running for one in found)
    rows = [
        TenantRow(one, one.running / running if running else None, paused.get(one.tenant)) for one in found
    ]
    return sorted(rows, key=lambda row: (-row.waiting - row.depths.running, row.depths.tenant))
