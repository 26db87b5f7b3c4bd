"""What operators change and look at: pauses, quotas, limits, overrides, workers, locks, findings, the audit trail."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.client.doctor.findings import Severity
from backstay.http.values.common import (
    Answer,
    JsonObject,
    KeyText,
    Length,
    Moment,
    NameText,
    Reason,
    Seconds,
    Time,
)
from backstay.kit.bodies import StrictModel


class AuditLine(Answer):
    """Who did what, when and why."""

    id: int
    at: Time
    tenant: str
    actor: str
    action: str = Field(examples=["job.cancelled"])
    job_id: UUID | None = None
    from_state: str | None = None
    to_state: str | None = None
    reason: str | None = None
    source: str | None = Field(None, examples=["10.0.0.7, api key QjX2kD9a"])
    details: JsonObject | None = None


class PauseShown(Answer):
    """A queue, a kind or a tenant that is paused."""

    queue: str | None = None
    kind: str | None = None
    tenant: str | None = None
    paused_at: Time
    paused_by: str
    reason: str
    ends_at: Time | None = None


class NewPause(StrictModel):
    """Pause a queue, a kind or a tenant: exactly one of them."""

    queue: NameText | None = None
    kind: NameText | None = None
    tenant: KeyText | None = None
    reason: Reason
    until: Length | Moment | None = Field(
        None, description="A moment, or a length of time; otherwise for good."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"queue": "mail", "reason": "the mail server is down", "until": "1h"}]
        },
    )


class QuotaShown(Answer):
    """How many jobs may wait, of one tenant or of each, in one queue or in all together."""

    tenant: str | None = None
    queue: str | None = None
    most: int
    set_at: Time
    set_by: str
    reason: str


class NewQuota(StrictModel):
    """Limit how many jobs may wait."""

    most: int = Field(ge=0, le=1_000_000_000)
    tenant: KeyText | None = Field(None, description="One tenant; otherwise each.")
    queue: NameText | None = Field(None, description="One queue; otherwise all together.")
    reason: Reason

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"most": 10000, "tenant": "acme", "reason": "their contract"}]},
    )


class LimitShown(Answer):
    """A limit as it is now: permits in use, or tokens left."""

    key: str
    most: int
    every: Seconds | None = None
    in_use: int
    tokens: int | None = None
    waiting: int
    next_at: Time | None = None
    is_capped: bool = False


class HolderShown(Answer):
    """A job that holds a permit."""

    job_id: UUID
    kind: str
    worker: str | None = None
    started_at: Time


class ChangeShown(Answer):
    """A number of a queue or a kind that somebody has changed."""

    scope: Literal["queue", "kind"]
    name: str
    field: str
    change: Any = Field(description="The changed policy, as JSON.")
    set_at: Time
    set_by: str
    reason: str


class NewChange(StrictModel):
    """Another number for a kind or a queue: exactly one of them."""

    field: str = Field(min_length=1, max_length=40, examples=["timeout"])
    value: int | float | bool | str | JsonObject | None
    kind: NameText | None = None
    queue: NameText | None = None
    reason: Reason

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"field": "timeout", "value": "5m", "kind": "report", "reason": "the source is slow"}
            ]
        },
    )


class NewLimit(StrictModel):
    """Another limit for a kind or a queue: exactly one of them."""

    field: Literal["limit", "rate", "key_limit", "key_rate", "per_worker"]
    value: int | str = Field(examples=[10])
    kind: NameText | None = None
    queue: NameText | None = Field(None, description='The queue "*" stands for all jobs together.')
    burst: int | None = Field(None, ge=1, le=1_000_000)
    reason: Reason

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"field": "rate", "value": "100/1m", "kind": "send_welcome", "reason": "their new limit"}
            ]
        },
    )


class WorkerShown(Answer):
    """A worker process."""

    id: str
    state: str = Field(examples=["alive"])
    host: str
    pid: int
    version: str
    kinds: list[str]
    queues: list[str]
    concurrency: int
    running: int
    started_at: Time
    heartbeat_at: Time
    silent_for: Seconds
    type: str
    settled: int
    tainted: int
    cpu_percent: float | None = None
    rss_mb: int | None = None
    loop_lag_ms: int | None = None
    told: str | None = Field(None, description="What somebody told it to do last: drain, resume or stop.")
    told_by: str | None = None
    told_at: Time | None = None


class KindShown(Answer):
    """A kind that workers have declared."""

    kind: str
    queue: str
    description: str | None = None
    policy: JsonObject
    arguments: JsonObject | None = Field(None, description="The JSON schema of its arguments.")
    declared_by: str | None = None
    updated_at: Time | None = None
    is_limited: bool


class LockShown(Answer):
    """A lock that somebody holds."""

    id: str
    tenant: str
    holder: str
    job_id: UUID | None = None
    fence: int
    locked_at: Time
    expires_at: Time


class FindingShown(Answer):
    """One thing worth knowing."""

    code: str = Field(examples=["no_worker"])
    severity: Severity
    title: str
    detail: str
    advice: str
    count: int


class BrokenLinkShown(Answer):
    """The first link of a chain that does not hold."""

    tenant: str
    sequence: int
    problem: str = Field(examples=["the line 7 was changed"])


class ChainShown(Answer):
    """What a look through every chain of the audit trail came to."""

    is_whole: bool = Field(description="True if every link holds.")
    links: int
    unchained: int = Field(description="Lines that no chain has yet.")
    broken: list[BrokenLinkShown]
