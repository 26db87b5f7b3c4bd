"""Failures, for somebody who acts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.client.acting.scope import Scope
from backstay.model.failures import Failure
from backstay.model.text.durations import Duration


@dataclass(frozen=True, slots=True)
class ActingFailures:
    """The causes that the tenant's jobs died of."""

    scope: Scope

    async def all(
        self,
        last: Duration = timedelta(days=1),
        *,
        kind: str | None = None,
        queue: str | None = None,
        limit: int = 100,
    ) -> list[Failure]:
        """The causes of the last while, those that struck last first, with deaths an hour."""
        self.scope.need("failures.read")
        return await self.scope.app.failures.all(
            last, kind=kind, queue=queue, tenant=self.scope.only_tenant, limit=limit
        )

    async def assign(self, fingerprint: str, owner: str) -> None:
        """Say who looks after a cause; raises NotFound."""
        self.scope.need("failures.assign")
        await self.scope.app.failures.assign(
            fingerprint, owner, by=self.scope.actor, tenant=self.scope.only_tenant
        )

    async def close(self, fingerprint: str, *, reason: str) -> None:
        """Say that a cause was dealt with: if it strikes again, it has regressed."""
        self.scope.need("failures.close")
        await self.scope.app.failures.close(
            fingerprint, reason=reason, by=self.scope.actor, tenant=self.scope.only_tenant
        )
