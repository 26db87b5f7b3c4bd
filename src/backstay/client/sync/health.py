"""The blocking twin of the health, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.health import HealthReport


class SyncHealth:
    """The health of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def check(self) -> HealthReport:
        """Judge stale jobs, open dead letters and the failures of the last hour; never reads ended jobs."""
        return self._loop.run(lambda: self._app.health.check(), name="sync.health.check")

    def ping(self) -> None:
        """Ask the database for its time; raises StoreError where it cannot be reached or lacks our tables."""
        self._loop.run(lambda: self._app.health.ping(), name="sync.health.ping")
