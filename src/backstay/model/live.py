"""What watchers of jobs receive: topics, changes, and the events of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from backstay.errors import InvalidSettings

TOPICS = "write all, tenant:<name>, queue:<name>, kind:<name>, flow:<id> or job:<id>"


class Scope(StrEnum):
    """What a topic is about."""

    ALL = "all"
    TENANT = "tenant"
    QUEUE = "queue"
    KIND = "kind"
    FLOW = "flow"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Topic:
    """What somebody listens to, written `all` or as in `queue:mail` and `job:0190…`."""

    scope: Scope
    name: str = ""

    def __str__(self) -> str:
        return self.scope.value if self.scope is Scope.ALL else f"{self.scope.value}:{self.name}"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a job: of its state, or of its progress. Positions rise in the order in which changes happened."""

    position: int
    at: datetime
    job_id: UUID
    kind: str
    queue: str
    tenant: str
    flow_id: UUID | None
    from_state: str | None
    to_state: str | None
    reason: str | None
    attempt: int
    progress: Mapping[str, Any] | None

    @property
    def topics(self) -> list[str]:
        """The topics that it belongs to."""
        topics = [
            Topic(Scope.ALL),
            Topic(Scope.TENANT, self.tenant),
            Topic(Scope.QUEUE, self.queue),
            Topic(Scope.KIND, self.kind),
            Topic(Scope.JOB, str(self.job_id)),
        ]
        if self.flow_id is not None:
            topics.append(Topic(Scope.FLOW, str(self.flow_id)))
        return [str(topic) for topic in topics]


@dataclass(frozen=True, slots=True)
class OutboxLook:
    """How far positions were given, and whether changes have none yet.

    Changes were removed up to the position `forgotten`; webhooks were told of those up to `told`.
    """

    last: int
    forgotten: int
    has_new: bool
    told: int = 0

    def has_all_after(self, position: int) -> bool:
        """Return True if every change after a position is still kept."""
        return self.forgotten <= position <= self.last


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """One event of a live stream: first the state, then the changes; `reset` is the state again after a gap.

    `position` is where to go on after a lost connection.
    """

    type: Literal["state", "change", "reset"]
    position: int
    data: Any


def topic_of(written: str) -> Topic:
    """Read a topic; raises InvalidSettings."""
    scope, colon, name = written.partition(":")
    if scope not in list(Scope) or (scope == Scope.ALL) is bool(colon) or bool(name) is not bool(colon):
        raise InvalidSettings(f"the topic cannot be {written!r}: {TOPICS}")
    if scope not in (Scope.FLOW, Scope.JOB):
        return Topic(Scope(scope), name)
    try:
        return Topic(Scope(scope), str(UUID(name)))
    except ValueError:
        raise InvalidSettings(f"the topic cannot be {written!r}: {scope} is followed by an id") from None


def described(change: Change) -> dict[str, Any]:
    """A change as plain values, without what it does not have."""
    told = {
        "job_id": str(change.job_id),
        "kind": change.kind,
        "queue": change.queue,
        "tenant": change.tenant,
        "flow_id": None if change.flow_id is None else str(change.flow_id),
        "from": change.from_state,
        "state": change.to_state,
        "reason": change.reason,
        "attempt": change.attempt,
        "progress": change.progress,
        "updated_at": change.at.isoformat(),
    }
    return {name: value for name, value in told.items() if value is not None}
