"""The blocking twin of the limits, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.limits.admission import LimitRecord, PermitHolder
from backstay.model.records import Override


class SyncLimits:
    """The limits of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def all(self, *, limit: int = 200) -> list[LimitRecord]:
        """Every limit that was asked for, those that jobs wait for first.

        Who waits is counted up to 1,000 jobs of each; where it `is_capped` there are more.
        """
        return self._loop.run(lambda: self._app.limits.all(limit=limit), name="sync.limits.all")

    def holders(self, key: str, *, limit: int = 200) -> list[PermitHolder]:
        """The jobs that hold permits of a limit now."""
        return self._loop.run(lambda: self._app.limits.holders(key, limit=limit), name="sync.limits.holders")

    def set(
        self,
        field: str,
        value: int | str,
        *,
        kind: str | None = None,
        queue: str | None = None,
        burst: int | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Change a limit of a kind or a queue for every worker; what runs finishes, and a deploy keeps the change.

        `field` is `limit`, `rate`, `key_limit` or `key_rate` of a kind, `limit`, `rate` or `per_worker` of a queue; the
        queue "*" stands for all jobs together. Raises InvalidSettings for what cannot be; then nothing is stored.
        """
        self._loop.run(
            lambda: self._app.limits.set(
                field, value, kind=kind, queue=queue, burst=burst, reason=reason, by=by
            ),
            name="sync.limits.set",
        )

    def unset(
        self, field: str, *, kind: str | None = None, queue: str | None = None, by: str = "client"
    ) -> bool:
        """Restore the limit that the code declares; False when it was not changed."""
        return self._loop.run(
            lambda: self._app.limits.unset(field, kind=kind, queue=queue, by=by), name="sync.limits.unset"
        )

    def changes(self) -> list[Override]:
        """What operators have changed, by whom and why."""
        return self._loop.run(lambda: self._app.limits.changes(), name="sync.limits.changes")
