"""The blocking twin of the quotas, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.pauses import Quota


class SyncQuotas:
    """The quotas of one application's tenants, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def set(
        self,
        most: int,
        *,
        tenant: str | None = None,
        queue: str | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Limit how many jobs may wait: of one tenant or of each, in one queue or in all together.

        Enqueueing more raises QuotaExceeded. Jobs that wait already stay; a tenant's own quota counts instead of the
        one for each.
        """
        self._loop.run(
            lambda: self._app.quotas.set(most, tenant=tenant, queue=queue, reason=reason, by=by),
            name="sync.quotas.set",
        )

    def unset(self, *, tenant: str | None = None, queue: str | None = None, by: str = "client") -> bool:
        """Let any number wait again; False when there was no such quota."""
        return self._loop.run(
            lambda: self._app.quotas.unset(tenant=tenant, queue=queue, by=by), name="sync.quotas.unset"
        )

    def all(self) -> list[Quota]:
        """Every quota, with who set it and why."""
        return self._loop.run(lambda: self._app.quotas.all(), name="sync.quotas.all")
