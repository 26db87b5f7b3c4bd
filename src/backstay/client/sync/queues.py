"""The blocking twin of the queues, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from datetime import datetime

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.pauses import Pause
from backstay.model.text.durations import Duration


class SyncQueues:
    """The queues of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def pause(
        self,
        queue: str | None = None,
        *,
        kind: str | None = None,
        tenant: str | None = None,
        reason: str,
        until: datetime | Duration | None = None,
        by: str = "client",
    ) -> None:
        """Stop claims of a queue or a kind, or hold what a tenant has waiting and will enqueue.

        What runs finishes, and nothing waiting is lost. `until` is a moment or a length of time after which everything
        goes on by itself.
        """
        self._loop.run(
            lambda: self._app.queues.pause(
                queue, kind=kind, tenant=tenant, reason=reason, until=until, by=by
            ),
            name="sync.queues.pause",
        )

    def resume(
        self,
        queue: str | None = None,
        *,
        kind: str | None = None,
        tenant: str | None = None,
        by: str = "client",
    ) -> bool:
        """Let a queue, a kind or a tenant go on; False when it was not paused."""
        return self._loop.run(
            lambda: self._app.queues.resume(queue, kind=kind, tenant=tenant, by=by), name="sync.queues.resume"
        )

    def pauses(self) -> list[Pause]:
        """What is paused, by whom and why."""
        return self._loop.run(lambda: self._app.queues.pauses(), name="sync.queues.pauses")
