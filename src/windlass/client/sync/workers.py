"""The blocking twin of the workers, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from windlass.client.sync.app import App
from windlass.client.sync_loop import SyncLoop
from windlass.records import KindRecord, WorkerRecord


class SyncWorkers:
    """The workers of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        """Workers, the living first."""
        return self._loop.run(lambda: self._app.workers.all(limit=limit), name="sync.workers.all")

    def kinds(self) -> list[KindRecord]:
        """Every kind that any worker has declared."""
        return self._loop.run(lambda: self._app.workers.kinds(), name="sync.workers.kinds")
