"""Webhooks as values: who is told of which ends, and what they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay.model.job import Job, JobId, NewJob
from backstay.model.live import Change, Scope, Topic
from backstay.model.rights import EVERYTHING, OWN_KINDS

DELIVER = f"{OWN_KINDS}webhooks.deliver"
"""The kind of the jobs that send messages to webhooks."""
QUEUE = "webhooks"
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

    @property
    def own_tenant(self) -> str:
        """The tenant of its deliveries; none for a webhook that hears of all tenants."""
        return "" if self.tenant == EVERYTHING else self.tenant

    @property
    def tag(self) -> str:
        """What its deliveries are found by."""
        return f"webhook:{self.id}"

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


def topics_of(webhooks: Iterable[tuple[str, Iterable[str] | None]]) -> set[str]:
    """What is listened to for webhooks, each a tenant and its kinds: kinds where they are named, as few as can be."""
    topics: set[str] = set()
    for tenant, kinds in webhooks:
        if kinds is not None:
            topics |= {str(Topic(Scope.KIND, kind)) for kind in kinds}
        elif tenant == EVERYTHING:
            topics.add(str(Topic(Scope.ALL)))
        else:
            topics.add(str(Topic(Scope.TENANT, tenant)))
    return topics


def hears_of(webhook: Webhook, change: Change) -> bool:
    """Return True if it receives this change; Backstay's own jobs, deliveries among them, are never told."""
    return (
        change.at >= webhook.created_at
        and webhook.tenant in (EVERYTHING, change.tenant)
        and not change.kind.startswith(OWN_KINDS)
        and webhook.hears(event_of(change), change.kind)
    )


def event_of(change: Change) -> str:
    """The event that a change is, if it is one."""
    return f"job.{change.to_state}"


def message_id(webhook: UUID, change: Change) -> str:
    """The id of a message, the same whenever it is sent again."""
    return f"msg_{webhook.hex}_{change.job_id.hex}_{change.position}"


def body_of(change: Change, job: Job | None) -> str:
    """What is sent: who ended and how, without arguments, result and the error's text, which may be private.

    What only the job's row knows is left empty if the row is gone.
    """
    error: Mapping[str, Any] = (job and job.error) or {}
    told = {
        "job_id": str(change.job_id),
        "kind": change.kind,
        "queue": change.queue,
        "tenant": change.tenant,
        "state": change.to_state,
        "reason": change.reason,
        "error_type": error.get("type"),
        "attempt": change.attempt,
        "run": job and job.run,
        "correlation_id": job and job.correlation_id,
        "parent_id": str(job.parent_id) if job and job.parent_id else None,
    }
    return written(event_of(change), change.at, told)


def delivery_of(
    webhook: Webhook, job_id: JobId, message: str, body: str, *, by: str, is_again: bool = False
) -> NewJob:
    """The job that sends a message; the message is stored once unless it is to be sent again."""
    args = {"webhook_id": str(webhook.id), "message": message, "body": body}
    return NewJob(
        id=job_id,
        kind=DELIVER,
        queue=QUEUE,
        args=_json(args),
        tenant=webhook.own_tenant,
        tags=_json([webhook.tag]),
        created_by=by,
        idempotency_key=None if is_again else message,
        fingerprint=None if is_again else message,
    )


def written(event: str, at: datetime, data: Mapping[str, Any]) -> str:
    """A message as JSON text."""
    whole = {"type": event, "timestamp": at.isoformat(), "data": dict(data)}
    return _json(whole)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
