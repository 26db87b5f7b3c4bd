"""The blocking twin of the overrides, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from typing import Any

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.records import Override


class SyncOverrides:
    """What operators have changed, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def set(
        self,
        field: str,
        value: Any,
        *,
        kind: str | None = None,
        queue: str | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Change a number of a kind or a queue, for every worker, from their next claim on; a deploy keeps it.

        Raises InvalidPolicy for a field or value that cannot be, UnknownKind for a kind no worker has declared; then
        nothing is stored.
        """
        self._loop.run(
            lambda: self._app.overrides.set(field, value, kind=kind, queue=queue, reason=reason, by=by),
            name="sync.overrides.set",
        )

    def unset(
        self, field: str, *, kind: str | None = None, queue: str | None = None, by: str = "client"
    ) -> bool:
        """Let the code's own number count again; False when it was not overridden."""
        return self._loop.run(
            lambda: self._app.overrides.unset(field, kind=kind, queue=queue, by=by),
            name="sync.overrides.unset",
        )

    def all(self) -> list[Override]:
        """What is overridden, by whom and why."""
        return self._loop.run(lambda: self._app.overrides.all(), name="sync.overrides.all")
