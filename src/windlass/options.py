"""Every option one job can be enqueued with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from windlass.backoff import Backoff
from windlass.durations import Duration
from windlass.policy import PolicyChange


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What was asked for one job; None means that kind, queue and policy decide."""

    queue: str | None = None
    priority: int | str | None = None
    delay: Duration | None = None
    run_at: datetime | None = None
    tenant: str | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    parent: UUID | None = None
    correlation_id: str | None = None
    created_by: str | None = None
    key: str | None = None
    """The idempotency key: enqueueing with it again finds the first job."""
    unique: str | bool | None = None
    """At most one unfinished job with this key; True makes the key from the arguments."""
    unique_for: Duration | None = None
    debounce: Duration | None = None
    """Wait until nothing more comes under `key` for so long; what comes replaces the arguments."""
    debounce_limit: Duration | None = None
    """But no longer than this in all; ten times `debounce` if left out."""
    throttle: str | None = None
    """At most one job of `key`, or of the kind, in each window: "1/10s"; others find the first one."""
    expires: Duration | datetime | None = None
    """Cancelled if it has not started by then."""
    deadline: Duration | datetime | None = None
    """Dead if it has not finished by then."""
    held_for: str | None = None
    """What a job waits for besides time."""
    wait_for: str | None = None
    """The signal that must come before the job runs."""
    wait_timeout: Duration | None = None
    """Run without the signal after this long; its handler's `ctx.wait_for` then raises SignalTimeout."""
    max_attempts: int | None = None
    max_crashes: int | None = None
    timeout: Duration | None = None
    lease: Duration | None = None
    backoff: Backoff | None = None
    policy: PolicyChange | None = None
    """Further policy fields, for those without an option of their own."""
    tx: Any = None
    """The caller's open transaction, which the job is to be part of; False keeps it out of any."""


class Options(TypedDict, total=False):
    """The same options as keyword arguments, so that a type checker knows their names."""

    queue: str | None
    priority: int | str | None
    delay: Duration | None
    run_at: datetime | None
    tenant: str | None
    tags: Sequence[str] | None
    metadata: Mapping[str, Any] | None
    name: str | None
    description: str | None
    parent: UUID | None
    correlation_id: str | None
    created_by: str | None
    key: str | None
    unique: str | bool | None
    unique_for: Duration | None
    debounce: Duration | None
    debounce_limit: Duration | None
    throttle: str | None
    expires: Duration | datetime | None
    deadline: Duration | datetime | None
    held_for: str | None
    wait_for: str | None
    wait_timeout: Duration | None
    max_attempts: int | None
    max_crashes: int | None
    timeout: Duration | None
    lease: Duration | None
    backoff: Backoff | None
    policy: PolicyChange | None
    tx: Any


NO_OPTIONS = JobOptions()
