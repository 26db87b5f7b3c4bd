"""Alerts as the API takes and shows them."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, Length, Reason, Time
from backstay.kit.bodies import StrictModel

RuleName = Literal[
    "high_queue_depth",
    "critical_queue_depth",
    "worker_down",
    "high_failure_rate",
    "dlq_accumulation",
    "slow_jobs",
]


class AlertShown(Answer):
    """A rule that began to hold, and holds until it is cleared."""

    id: UUID
    rule: str = Field(examples=["dlq_accumulation"])
    severity: str = Field(examples=["warning"])
    message: str
    action: str = Field(description="What to do about it.", examples=["review_dlq_jobs"])
    value: float
    threshold: float
    fired_at: Time
    announced_at: Time | None = None
    cleared_at: Time | None = None


class MuteShown(Answer):
    """A rule that is muted: it notifies nobody until the mute ends."""

    rule: str
    muted_until: Time
    muted_by: str
    reason: str


class NewMute(StrictModel):
    """Mute a rule: until then it notifies nobody."""

    length: Length
    reason: Reason

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"length": "2h", "reason": "we move the servers"}]}
    )
