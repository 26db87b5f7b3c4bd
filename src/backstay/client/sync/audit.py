"""The blocking twin of the audit, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.records import AuditEntry, AuditFilter


class SyncAudit:
    """The audit trail of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def search(
        self, filters: AuditFilter | None = None, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """Lines of the trail, newest first; `before` is the id of the last line of the page before.

        Failures, what operators do and changes of settings are all in it, also those that are about no job.
        """
        return self._loop.run(
            lambda: self._app.audit.search(filters, before=before, limit=limit), name="sync.audit.search"
        )
