"""A job as the database function takes it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from backstay.model.job import NewJob
from backstay.model.text.durations import seconds


def to_object(job: NewJob) -> dict[str, Any]:
    """A job as the database function takes it: only what is set, times in seconds or ISO 8601."""
    policy = None if job.policy is None else msgspec.json.decode(job.policy)
    own = {"max_attempts": job.max_attempts, "timeout_seconds": job.timeout, "lease_seconds": job.lease}
    named = {name: _plain(value) for name, value in own.items() if value is not None}
    fields = {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        # As text, so that it is stored byte for byte: jsonb would reorder keys and rewrite floats.
        "args_text": job.args,
        "priority": job.priority,
        "ageing_step_seconds": job.ageing_step,
        "delay_seconds": job.delay if job.run_at is None else None,
        "run_at": job.run_at,
        "held_for": job.held_for,
        "tenant": job.tenant or None,
        "name": job.name,
        "description": job.description,
        "tags": None if job.tags is None else msgspec.json.decode(job.tags),
        "metadata": None if job.metadata is None else msgspec.json.decode(job.metadata),
        "policy": {**(policy or {}), **named} if policy or named else None,
        "parent_id": job.parent_id,
        "correlation_id": job.correlation_id,
        "created_by": job.created_by,
        "idempotency_key": job.idempotency_key,
        "fingerprint": job.fingerprint,
        "unique_key": job.unique_key,
        "unique_for_seconds": job.unique_for,
        "expires_in_seconds": job.expires_in if job.expires_at is None else None,
        "expires_at": job.expires_at,
        "deadline_in_seconds": job.deadline_in if job.deadline is None else None,
        "deadline": job.deadline,
        "order_key": job.order_key,
        "profile": job.profile,
        "category": job.category,
    }
    return {name: _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return seconds(value)
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value
