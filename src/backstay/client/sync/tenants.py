"""The blocking twin of the tenants, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop


class SyncTenants:
    """The row security of one application's tables, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def enforce(self, *, engine: str, application: str) -> None:
        """Let the role `engine` see every row, and the role `application` those of its tenant alone.

        Workers, the dashboard and the API connect as `engine`; programs that store and read jobs with SQL connect
        as `application`, and name their tenant in each transaction: `SET LOCAL backstay.tenant = 'acme'`. Neither
        may be a superuser or have BYPASSRLS. To be called by the owner of the tables, and again after a migration.
        """
        self._loop.run(
            lambda: self._app.tenants.enforce(engine=engine, application=application),
            name="sync.tenants.enforce",
        )

    def relax(self) -> None:
        """Take row security away again; the roles and their rights stay."""
        self._loop.run(lambda: self._app.tenants.relax(), name="sync.tenants.relax")
