"""Operations, for somebody who acts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from backstay.client.acting.scope import Scope
from backstay.errors import JobNotFound, NotFound
from backstay.model.operations import Operation
from backstay.model.records import DeadLetterFilter, JobFilter


@dataclass(frozen=True, slots=True)
class ActingOperations:
    """The operations on the tenant's jobs."""

    scope: Scope

    async def start(
        self,
        verb: str,
        filters: DeadLetterFilter | JobFilter,
        *,
        reason: str,
        pace: float = 100.0,
        name: str | None = None,
    ) -> Operation:
        """Start doing one thing with every job of the tenant that fits now; needs the right to do it to one."""
        self.scope.need("operations.start")
        self.scope.need(verb)
        return await self.scope.app.operations.start(
            verb, self._own(filters), reason=reason, pace=pace, name=name, by=self.scope.actor
        )

    async def get(self, operation_id: UUID | str) -> Operation:
        """One operation as it is now; raises NotFound."""
        return await self._found(operation_id, "operations.read")

    async def all(self, *, limit: int = 100) -> list[Operation]:
        """Operations, the newest first."""
        self.scope.need("operations.read")
        return await self.scope.app.operations.all(tenant=self.scope.only_tenant, limit=limit)

    async def stop(self, operation_id: UUID | str) -> bool:
        """End an operation after the step that is under way."""
        operation = await self._found(operation_id, "operations.stop")
        return await self.scope.app.operations.stop(operation.id, by=self.scope.actor)

    async def _found(self, operation_id: UUID | str, right: str) -> Operation:
        self.scope.need(right)
        operation = await self.scope.app.operations.get(operation_id)
        # One that is about all tenants is for those who act for all of them.
        if self.scope.only_tenant not in (None, operation.tenant):
            raise NotFound("operation", operation_id)
        return operation

    def _own(self, filters: DeadLetterFilter | JobFilter) -> DeadLetterFilter | JobFilter:
        if self.scope.only_tenant is None:
            return filters
        if filters.tenant not in (None, self.scope.tenant):
            raise JobNotFound(f"jobs of {filters.tenant}")
        return replace(filters, tenant=self.scope.tenant)
