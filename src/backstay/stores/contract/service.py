"""What the HTTP service asks of a store: API keys, answered requests, webhooks and alerts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from backstay.model.alerts import Alert, AlertMute, Firing
from backstay.model.api_keys import ApiKey, StoredRequest
from backstay.model.audit_chain import ChainHead, ChainLink
from backstay.model.job import NewJob
from backstay.model.records import AuditEntry
from backstay.model.webhooks import Webhook
from backstay.stores.contract.failures import Failures
from backstay.stores.contract.operations import Operations
from backstay.stores.contract.outbox import Outbox
from backstay.stores.contract.tenants import Tenants


class ApiKeys(Protocol):
    """Keys that let programs in."""

    async def add(
        self,
        prefix: str,
        digest: str,
        *,
        name: str,
        tenant: str,
        role: str,
        scopes: tuple[str, ...] | None,
        sees_payloads: bool,
        expires_at: datetime | None,
        expires_in: timedelta | None,
        actor: str,
    ) -> bool:
        """Keep a new key; False when its prefix is taken."""
        ...

    async def find(self, prefix: str) -> tuple[ApiKey, str] | None:
        """The key with this prefix and its digest."""
        ...

    async def used(self, prefix: str) -> None:
        """Note that a key has let somebody in."""
        ...

    async def all(self, *, tenant: str | None, limit: int) -> list[ApiKey]:
        """Keys, newest first."""
        ...

    async def replace(self, prefix: str, *, replaced_by: str, overlap: timedelta, actor: str) -> None:
        """Let a key end after the overlap, because another one takes over."""
        ...

    async def revoke(self, prefix: str, *, tenant: str | None, actor: str, reason: str) -> bool:
        """Let a key open nothing any more; False when there is none that does."""
        ...


class ApiRequests(Protocol):
    """Requests that were sent with an idempotency key."""

    async def reserve(
        self, scope: str, key: str, *, fingerprint: str, keep: timedelta, patience: timedelta
    ) -> StoredRequest | None:
        """Take the key if it is free and return None, else return what it was taken for."""
        ...

    async def keep(self, scope: str, key: str, *, status: int, content_type: str, body: str) -> None:
        """Keep the answer of a reserved key."""
        ...

    async def release(self, scope: str, key: str) -> None:
        """Give a key back that has no answer."""
        ...


class Webhooks(Protocol):
    """Who is told when jobs end."""

    async def add(
        self,
        webhook_id: UUID,
        *,
        tenant: str,
        name: str,
        url: str,
        events: Sequence[str],
        kinds: Sequence[str] | None,
        form: str,
        secret: str,
        actor: str,
    ) -> None:
        """Keep a new webhook."""
        ...

    async def get(self, webhook_id: UUID) -> tuple[Webhook, tuple[str, ...]] | None:
        """One webhook, and the secrets that deliveries are signed with now."""
        ...

    async def all(self, *, tenant: str | None, limit: int) -> list[Webhook]:
        """Webhooks by name."""
        ...

    async def deliver(self, deliveries: Sequence[NewJob]) -> None:
        """Store jobs that send messages, each once; no quota of their tenant keeps them back."""
        ...

    async def note(self, webhook: Webhook, action: str, *, actor: str, message: str) -> None:
        """Write down that somebody had a message sent."""
        ...

    async def listening(self, tenant: str) -> list[Webhook]:
        """Those that hear of what happens to a tenant."""
        ...

    async def change(
        self,
        webhook: Webhook,
        *,
        name: str | None,
        url: str | None,
        events: Sequence[str] | None,
        is_enabled: bool | None,
        actor: str,
    ) -> None:
        """Change a webhook; what is None stays."""
        ...

    async def rotate(self, webhook: Webhook, *, secret: str, overlap: timedelta, actor: str) -> None:
        """Sign with another secret; the old one goes on for the overlap."""
        ...

    async def remove(self, webhook: Webhook, *, actor: str) -> bool:
        """Tell it nothing any more; False when it was gone already."""
        ...


class Alerts(Protocol):
    """Rules that hold, each until it is cleared."""

    async def update(
        self, firings: Sequence[tuple[UUID, Firing]], cleared: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Note which rules hold and which do not; returns those that began to hold, and those that ceased."""
        ...

    async def active(self) -> list[Alert]:
        """Alerts that hold now."""
        ...

    async def newest(self, *, limit: int) -> list[Alert]:
        """What has fired, newest first."""
        ...

    async def to_announce(self) -> list[Alert]:
        """Alerts that hold and were not announced yet, without muted ones."""
        ...

    async def announced(self, alert_id: UUID) -> None:
        """Note that people were told."""
        ...

    async def mute(self, rule: str, *, length: timedelta, actor: str, reason: str) -> None:
        """Mute a rule: until then it notifies nobody."""
        ...

    async def unmute(self, rule: str, *, actor: str) -> bool:
        """Let people be told again; False when it was not muted."""
        ...

    async def mutes(self) -> list[AlertMute]:
        """Rules that are muted now."""
        ...


class AuditChain(Protocol):
    """The chains of the audit trail, one for each tenant."""

    async def extend(
        self,
        link: Callable[[Sequence[ChainHead], Sequence[AuditEntry]], list[dict[str, object]]],
        *,
        limit: int,
    ) -> int:
        """Add the links that `link` makes of the heads and of lines that no chain has; StoreConflict if others did."""
        ...

    async def heads(self) -> list[ChainHead]:
        """The last link of every chain."""
        ...

    async def links(self, tenant: str, *, after: int, limit: int) -> list[ChainLink]:
        """A part of one chain in order, with its lines."""
        ...

    async def unchained(self) -> int:
        """How many lines no chain has."""
        ...


@dataclass(frozen=True, slots=True)
class ServiceStores:
    """The stores of the HTTP service."""

    api_keys: ApiKeys
    api_requests: ApiRequests
    webhooks: Webhooks
    alerts: Alerts
    audit_chain: AuditChain
    outbox: Outbox
    operations: Operations
    failures: Failures
    tenants: Tenants
