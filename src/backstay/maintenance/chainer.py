"""Adds new lines of the audit trail to their chains."""

from __future__ import annotations

from backstay.errors import StoreConflict
from backstay.handlers.audit_links import linked
from backstay.stores.contract.service import AuditChain

BATCH = 1000
MOST_BATCHES = 10


class AuditChainer:
    """Chains what has no link yet, a bounded number of lines at a time."""

    def __init__(self, chain: AuditChain) -> None:
        self._chain = chain

    async def run(self) -> None:
        """Add links; what is left waits for the next time."""
        for _ in range(MOST_BATCHES):
            try:
                added = await self._chain.extend(linked, limit=BATCH)
            except StoreConflict:
                # Somebody else chains at this moment.
                return
            if added < BATCH:
                return
