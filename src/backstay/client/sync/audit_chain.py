"""The blocking twin of the audit chain, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.audit_chain import ChainHead, ChainReport


class SyncAuditChain:
    """The chains of one application's audit trail, one for each tenant, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def extend(self) -> int:
        """Add every line that no chain has yet; returns how many. Several may do so at once."""
        return self._loop.run(lambda: self._app.audit_chain.extend(), name="sync.audit_chain.extend")

    def heads(self) -> list[ChainHead]:
        """The last link of every chain: kept elsewhere, it shows later that nothing was cut off."""
        return self._loop.run(lambda: self._app.audit_chain.heads(), name="sync.audit_chain.heads")

    def verify(self, checkpoint: Iterable[ChainHead] = ()) -> ChainReport:
        """Look through every chain for the first link that does not hold.

        With the heads that were kept elsewhere it also finds chains that were cut off or made anew.
        """
        return self._loop.run(
            lambda: self._app.audit_chain.verify(checkpoint), name="sync.audit_chain.verify"
        )
