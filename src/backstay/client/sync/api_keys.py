"""The blocking twin of the api keys, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.api_keys import ApiKey, CreatedApiKey
from backstay.model.text.durations import Duration


class SyncApiKeys:
    """The API keys of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def create(
        self,
        name: str,
        *,
        role: str = "viewer",
        tenant: str = "",
        scopes: Iterable[str] | None = None,
        sees_payloads: bool = False,
        expires: Duration | datetime | None = None,
        by: str = "client",
    ) -> CreatedApiKey:
        """Make a key; its text is known now and never again.

        `scopes` narrow its role to some rights, as in `["jobs.read", "jobs.enqueue"]`. The tenant `"*"` stands for all
        tenants. `expires` is a moment or a length of time.
        """
        return self._loop.run(
            lambda: self._app.api_keys.create(
                name,
                role=role,
                tenant=tenant,
                scopes=scopes,
                sees_payloads=sees_payloads,
                expires=expires,
                by=by,
            ),
            name="sync.api_keys.create",
        )

    def get(self, prefix: str) -> ApiKey:
        """The key with this prefix; raises NotFound."""
        return self._loop.run(lambda: self._app.api_keys.get(prefix), name="sync.api_keys.get")

    def all(self, *, tenant: str | None = None, limit: int = 200) -> list[ApiKey]:
        """Keys, newest first, also those that are no longer valid."""
        return self._loop.run(
            lambda: self._app.api_keys.all(tenant=tenant, limit=limit), name="sync.api_keys.all"
        )

    def rotate(self, prefix: str, *, overlap: Duration = 0, by: str = "client") -> CreatedApiKey:
        """Make a key that takes over from another: the same name, role and scopes. Both are valid for `overlap`."""
        return self._loop.run(
            lambda: self._app.api_keys.rotate(prefix, overlap=overlap, by=by), name="sync.api_keys.rotate"
        )

    def revoke(self, prefix: str, *, reason: str, by: str = "client") -> bool:
        """Let a key open nothing any more, from its next request on; False when there is none that does."""
        return self._loop.run(
            lambda: self._app.api_keys.revoke(prefix, reason=reason, by=by), name="sync.api_keys.revoke"
        )

    def recognise(self, text: str) -> ApiKey | None:
        """Whose key this is; None if it is unknown, expired or revoked."""
        return self._loop.run(lambda: self._app.api_keys.recognise(text), name="sync.api_keys.recognise")
