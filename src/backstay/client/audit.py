"""The audit trail: who did what, when and why."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.model.records import AuditEntry, AuditFilter

LARGEST_PAGE = 1000


@dataclass(frozen=True)
class Audit:
    """The audit trail of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def search(
        self, filters: AuditFilter | None = None, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Lines of the trail, newest first; `before` is the id of the last line of the page before.

        Failures, what operators do and changes of settings are all in it, also those that are about no job.
        """
        page = max(1, min(limit, LARGEST_PAGE))
        return await self._enqueuer.stores.audit.search(filters or AuditFilter(), before=before, limit=page)
