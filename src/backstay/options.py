"""Every option one job can be enqueued with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from backstay.model.backoff import Backoff
from backstay.model.policy.policy import PolicyChange, PolicyFields
from backstay.model.text.durations import Duration


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
    category: str | None = None
    """One of the categories that the profile declares."""
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
    policy: PolicyChange | PolicyFields | None = None
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
    category: str | None
    held_for: str | None
    wait_for: str | None
    wait_timeout: Duration | None
    max_attempts: int | None
    max_crashes: int | None
    timeout: Duration | None
    lease: Duration | None
    backoff: Backoff | None
    policy: PolicyChange | PolicyFields | None
    tx: Any


NO_OPTIONS = JobOptions()


def refuse_unknown(names: Iterable[str]) -> None:
    """Raise TypeError, as for any call with a wrong name, for the first that is no option."""
    for name in names:
        if name not in Options.__annotations__:
            near = difflib.get_close_matches(name, Options.__annotations__, n=1)
            meant = f"did you mean {near[0]}?" if near else f"they are {', '.join(Options.__annotations__)}"
            raise TypeError(f"there is no option {name!r}: {meant}")
