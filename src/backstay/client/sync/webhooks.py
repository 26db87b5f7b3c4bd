"""The blocking twin of the webhooks, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.job import Job, JobId
from backstay.model.text.durations import Duration
from backstay.model.webhooks import (
    CreatedWebhook,
    Webhook,
)


class SyncWebhooks:
    """The webhooks of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def create(
        self,
        name: str,
        url: str,
        *,
        events: Iterable[str] = ("job.dead",),
        kinds: Iterable[str] | None = None,
        form: str = "standard",
        tenant: str = "",
        by: str = "client",
    ) -> CreatedWebhook:
        """Tell somebody of ends from now on; the secret that deliveries are signed with is told now.

        Every end of the tenant's jobs counts, or of the `kinds`, however it comes about. `events` are some of
        `job.completed`, `job.dead`, `job.cancelled` and `job.resolved`; `form` is `standard` (Standard Webhooks) or
        `sha256` (the header `X-Signature-256`). The tenant `"*"` hears of all tenants.
        """
        return self._loop.run(
            lambda: self._app.webhooks.create(
                name, url, events=events, kinds=kinds, form=form, tenant=tenant, by=by
            ),
            name="sync.webhooks.create",
        )

    def get(self, webhook_id: UUID) -> Webhook:
        """One webhook; raises NotFound."""
        return self._loop.run(lambda: self._app.webhooks.get(webhook_id), name="sync.webhooks.get")

    def all(self, *, tenant: str | None = None, limit: int = 200) -> list[Webhook]:
        """Webhooks by name."""
        return self._loop.run(
            lambda: self._app.webhooks.all(tenant=tenant, limit=limit), name="sync.webhooks.all"
        )

    def change(
        self,
        webhook_id: UUID,
        *,
        name: str | None = None,
        url: str | None = None,
        events: Iterable[str] | None = None,
        is_enabled: bool | None = None,
        by: str = "client",
    ) -> Webhook:
        """Change a webhook; what is left out stays."""
        return self._loop.run(
            lambda: self._app.webhooks.change(
                webhook_id, name=name, url=url, events=events, is_enabled=is_enabled, by=by
            ),
            name="sync.webhooks.change",
        )

    def rotate(self, webhook_id: UUID, *, overlap: Duration = "1d", by: str = "client") -> CreatedWebhook:
        """Sign with a new secret; deliveries carry a signature of the old one as well for `overlap`."""
        return self._loop.run(
            lambda: self._app.webhooks.rotate(webhook_id, overlap=overlap, by=by), name="sync.webhooks.rotate"
        )

    def remove(self, webhook_id: UUID, *, by: str = "client") -> bool:
        """Tell it nothing any more; False when it was gone already."""
        return self._loop.run(
            lambda: self._app.webhooks.remove(webhook_id, by=by), name="sync.webhooks.remove"
        )

    def test(self, webhook_id: UUID, *, by: str = "client") -> JobId:
        """Store a delivery that only shows whether the webhook can be reached; returns the id of its job."""
        return self._loop.run(lambda: self._app.webhooks.test(webhook_id, by=by), name="sync.webhooks.test")

    def redeliver(self, webhook_id: UUID, delivery: UUID, *, by: str = "client") -> JobId:
        """Send the message of a delivery again, under the same id; returns the id of the new job."""
        return self._loop.run(
            lambda: self._app.webhooks.redeliver(webhook_id, delivery, by=by), name="sync.webhooks.redeliver"
        )

    def deliveries(self, webhook_id: UUID, *, limit: int = 50) -> list[Job]:
        """What was sent to a webhook, or is to be, newest first."""
        return self._loop.run(
            lambda: self._app.webhooks.deliveries(webhook_id, limit=limit), name="sync.webhooks.deliveries"
        )

    def signing_secrets(self, webhook_id: UUID) -> Sequence[str]:
        """What deliveries are signed with now, the newest first; for what delivers."""
        return self._loop.run(
            lambda: self._app.webhooks.signing_secrets(webhook_id), name="sync.webhooks.signing_secrets"
        )
