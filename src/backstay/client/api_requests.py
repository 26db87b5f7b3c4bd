"""Requests of the HTTP service: answers kept for their idempotency keys, and what its cursors are signed with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.model.api_keys import StoredRequest

KEPT = timedelta(hours=24)
PATIENCE = timedelta(minutes=2)
"""A request that has no answer after so long was lost with its process, and may be sent again."""


@dataclass(frozen=True)
class ApiRequests:
    """The requests of one application's HTTP service, from one event loop."""

    _enqueuer: Enqueuer
    _secret: Callable[[], Awaitable[bytes]]

    async def reserve(self, scope: str, key: str, fingerprint: str) -> StoredRequest | None:
        """Take an idempotency key if it is free and return None, else return what it was taken for."""
        return await self._enqueuer.stores.service.api_requests.reserve(
            scope, key, fingerprint=fingerprint, keep=KEPT, patience=PATIENCE
        )

    async def keep(self, scope: str, key: str, *, status: int, content_type: str, body: str) -> None:
        """Keep the answer of a reserved key for a day."""
        await self._enqueuer.stores.service.api_requests.keep(
            scope, key, status=status, content_type=content_type, body=body
        )

    async def release(self, scope: str, key: str) -> None:
        """Give a key back whose request changed nothing."""
        await self._enqueuer.stores.service.api_requests.release(scope, key)

    async def signing_secret(self) -> str:
        """A secret that every process on this database has in common."""
        return (await self._secret()).hex()
