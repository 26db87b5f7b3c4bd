"""The blocking twin of the failures, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from datetime import timedelta

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.failures import Failure
from backstay.model.text.durations import Duration


class SyncFailures:
    """The failures of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def all(
        self,
        last: Duration = timedelta(days=1),
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        limit: int = 100,
    ) -> list[Failure]:
        """The causes of the last while, those that struck last first, with deaths an hour.

        Letters that were decided about count as well, so that a cause that comes back is seen.
        """
        return self._loop.run(
            lambda: self._app.failures.all(last, kind=kind, queue=queue, tenant=tenant, limit=limit),
            name="sync.failures.all",
        )

    def assign(self, fingerprint: str, owner: str, *, by: str, tenant: str | None = None) -> None:
        """Say who looks after a cause; raises NotFound for one that no job died of."""
        self._loop.run(
            lambda: self._app.failures.assign(fingerprint, owner, by=by, tenant=tenant),
            name="sync.failures.assign",
        )

    def close(self, fingerprint: str, *, by: str, reason: str, tenant: str | None = None) -> None:
        """Say that a cause was dealt with: if it strikes again, it has regressed. Dead letters stay as they are."""
        self._loop.run(
            lambda: self._app.failures.close(fingerprint, by=by, reason=reason, tenant=tenant),
            name="sync.failures.close",
        )
