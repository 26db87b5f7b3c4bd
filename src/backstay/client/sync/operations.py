"""The blocking twin of the operations, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from uuid import UUID

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.operations import Operation
from backstay.model.records import DeadLetterFilter, JobFilter


class SyncOperations:
    """The operations of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def start(
        self,
        verb: str,
        filters: DeadLetterFilter | JobFilter,
        *,
        reason: str,
        by: str,
        pace: float = 100.0,
        name: str | None = None,
    ) -> Operation:
        """Start doing one thing with every job that fits now, at most `pace` a second; later ones are left alone.

        `verb` is `dead_letters.retry` or `dead_letters.resolve`, with a `DeadLetterFilter` or a `JobFilter`, or
        `jobs.cancel`, `jobs.hold`, `jobs.release` or `jobs.run_now` with a `JobFilter`. The worker that leads
        carries it out, wherever it was started: it goes on when the person who started it has left. Jobs that cannot
        be acted on any more are skipped.
        """
        return self._loop.run(
            lambda: self._app.operations.start(verb, filters, reason=reason, by=by, pace=pace, name=name),
            name="sync.operations.start",
        )

    def get(self, operation_id: UUID | str) -> Operation:
        """One operation as it is now; raises NotFound."""
        return self._loop.run(lambda: self._app.operations.get(operation_id), name="sync.operations.get")

    def all(self, *, tenant: str | None = None, limit: int = 100) -> list[Operation]:
        """Operations, the newest first."""
        return self._loop.run(
            lambda: self._app.operations.all(tenant=tenant, limit=limit), name="sync.operations.all"
        )

    def stop(self, operation_id: UUID | str, *, by: str) -> bool:
        """End an operation after the step that is under way; what was done stays done. False when it has ended."""
        return self._loop.run(
            lambda: self._app.operations.stop(operation_id, by=by), name="sync.operations.stop"
        )
