"""The blocking twin of the doctor, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from uuid import UUID

from backstay.client.doctor.findings import Finding
from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop


class SyncDoctor:
    """Looks at one application's jobs and workers, by blocking calls; changes nothing."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def check(self) -> list[Finding]:
        """Everything worth knowing, the worst first; empty when there is nothing to report."""
        return self._loop.run(lambda: self._app.doctor.check(), name="sync.doctor.check")

    def why(self, job_id: UUID | str) -> list[str]:
        """Why the job does not run now, in sentences, the decisive one first; raises JobNotFound."""
        return self._loop.run(lambda: self._app.doctor.why(job_id), name="sync.doctor.why")
