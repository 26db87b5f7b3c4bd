"""Webhooks as values: who is told of which ends, and what they are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay.model.reactions import JobEnded

TEST = "webhook.test"
EVENTS = ("job.completed", "job.dead", "job.cancelled", "job.resolved")
"""The events that a webhook can receive."""

FORMS = ("standard", "sha256")
"""How a delivery is signed: as Standard Webhooks, or `sha256=<hex>` over the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A subscription to the ends of jobs, without its secrets. The tenant `"*"` stands for all tenants."""

    id: UUID
    tenant: str
    name: str
    url: str
    events: tuple[str, ...]
    kinds: tuple[str, ...] | None
    """The kinds it hears of; None for all."""
    form: str
    is_enabled: bool
    created_at: datetime
    created_by: str
    updated_at: datetime
    old_secret_until: datetime | None
    """Until when deliveries are also signed with the secret before the last rotation."""

    def hears(self, event: str, kind: str) -> bool:
        """Return True if it receives this event of this kind."""
        return self.is_enabled and event in self.events and (self.kinds is None or kind in self.kinds)


@dataclass(frozen=True, slots=True)
class CreatedWebhook:
    """A webhook with its secret, at the moment when that is told."""

    webhook: Webhook
    secret: str

    def __repr__(self) -> str:
        return f"CreatedWebhook({self.webhook.id})"


def event_of(ended: JobEnded) -> str:
    """The event that an end is."""
    return f"job.{ended.state.value}"


def message_id(webhook: UUID, ended: JobEnded) -> str:
    """The id of a message, the same whenever it is sent again."""
    return f"msg_{webhook.hex}_{ended.job_id.hex}_{ended.epoch}"


def body_of(ended: JobEnded) -> str:
    """What is sent: who ended and how, without arguments, result and the error's text, which may be private."""
    error: Mapping[str, Any] = ended.error or {}
    told = {
        "job_id": str(ended.job_id),
        "kind": ended.kind,
        "queue": ended.queue,
        "tenant": ended.tenant,
        "state": ended.state.value,
        "reason": ended.reason,
        "error_type": error.get("type"),
        "attempt": ended.attempt,
        "run": ended.run,
        "correlation_id": ended.correlation_id,
        "parent_id": None if ended.parent_id is None else str(ended.parent_id),
    }
    return written(event_of(ended), ended.ended_at, told)


def written(event: str, at: datetime, data: Mapping[str, Any]) -> str:
    """A message as JSON text."""
    whole = {"type": event, "timestamp": at.isoformat(), "data": dict(data)}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
