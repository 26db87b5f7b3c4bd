"""The blocking twin of the workers, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.records import KindRecord, WorkerRecord


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

    def drain(self, worker_id: str, *, reason: str, by: str = "client") -> None:
        """Let a living worker finish what it has and claim no more, until `resume`; raises NotFound.

        It stays and does its other duties. It hears of this within a tick, at once where the database has hints.
        """
        self._loop.run(
            lambda: self._app.workers.drain(worker_id, reason=reason, by=by), name="sync.workers.drain"
        )

    def resume(self, worker_id: str, *, by: str = "client") -> None:
        """Let a worker that was told to drain claim again; raises NotFound."""
        self._loop.run(lambda: self._app.workers.resume(worker_id, by=by), name="sync.workers.resume")

    def stop(self, worker_id: str, *, reason: str, by: str = "client") -> None:
        """Let a living worker finish what it has and leave, as after a signal; raises NotFound.

        What starts workers, such as a supervisor or a container's host, may start another in its place.
        """
        self._loop.run(
            lambda: self._app.workers.stop(worker_id, reason=reason, by=by), name="sync.workers.stop"
        )
