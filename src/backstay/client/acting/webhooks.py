"""Webhooks, for somebody who acts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from backstay.client.acting.scope import Scope
from backstay.errors import NotFound
from backstay.model.job import Job, JobId
from backstay.model.text.durations import Duration
from backstay.model.webhooks import CreatedWebhook, Webhook


@dataclass(frozen=True, slots=True)
class ActingWebhooks:
    """The webhooks of the tenant; those who act for all tenants make webhooks that hear of all of them."""

    scope: Scope

    async def create(
        self,
        name: str,
        url: str,
        *,
        events: Iterable[str] = ("job.dead",),
        kinds: Iterable[str] | None = None,
        form: str = "standard",
    ) -> CreatedWebhook:
        """Tell somebody of ends from now on."""
        self.scope.need("webhooks.create")
        return await self.scope.app.webhooks.create(
            name, url, events=events, kinds=kinds, form=form, tenant=self.scope.tenant, by=self.scope.actor
        )

    async def all(self, *, limit: int = 200) -> list[Webhook]:
        """Webhooks by name."""
        self.scope.need("webhooks.read")
        return await self.scope.app.webhooks.all(tenant=self.scope.only_tenant, limit=limit)

    async def get(self, webhook_id: UUID) -> Webhook:
        """One webhook; raises NotFound."""
        return await self._own(webhook_id, "webhooks.read")

    async def change(
        self,
        webhook_id: UUID,
        *,
        name: str | None = None,
        url: str | None = None,
        events: Iterable[str] | None = None,
        is_enabled: bool | None = None,
    ) -> Webhook:
        """Change a webhook; what is left out stays."""
        webhook = await self._own(webhook_id, "webhooks.change")
        return await self.scope.app.webhooks.change(
            webhook.id, name=name, url=url, events=events, is_enabled=is_enabled, by=self.scope.actor
        )

    async def rotate(self, webhook_id: UUID, *, overlap: Duration = "1d") -> CreatedWebhook:
        """Sign with a new secret."""
        webhook = await self._own(webhook_id, "webhooks.rotate")
        return await self.scope.app.webhooks.rotate(webhook.id, overlap=overlap, by=self.scope.actor)

    async def remove(self, webhook_id: UUID) -> bool:
        """Tell it nothing any more."""
        webhook = await self._own(webhook_id, "webhooks.remove")
        return await self.scope.app.webhooks.remove(webhook.id, by=self.scope.actor)

    async def test(self, webhook_id: UUID) -> JobId:
        """Send a message that only shows whether the webhook can be reached."""
        webhook = await self._own(webhook_id, "webhooks.send")
        return await self.scope.app.webhooks.test(webhook.id, by=self.scope.actor)

    async def deliveries(self, webhook_id: UUID, *, limit: int = 50) -> list[Job]:
        """What was sent to a webhook, or is to be, newest first."""
        webhook = await self._own(webhook_id, "webhooks.read")
        return await self.scope.app.webhooks.deliveries(webhook.id, limit=limit)

    async def redeliver(self, webhook_id: UUID, delivery: UUID) -> JobId:
        """Send the message of a delivery again."""
        webhook = await self._own(webhook_id, "webhooks.send")
        return await self.scope.app.webhooks.redeliver(webhook.id, delivery, by=self.scope.actor)

    async def _own(self, webhook_id: UUID, right: str) -> Webhook:
        self.scope.need(right)
        webhook = await self.scope.app.webhooks.get(webhook_id)
        if not self.scope.sees(webhook.tenant):
            raise NotFound("webhook", webhook_id)
        return webhook
