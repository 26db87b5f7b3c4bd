"""Jobs as the API takes and shows them."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, JsonObject, KeyText, Length, Moment, NameText, Reason, Time
from backstay.kit.bodies import StrictModel
from backstay.model.states import State
from backstay.options import JobOptions

MOST_AT_ONCE = 1000
EXAMPLE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
ARGUMENTS: dict[str, Any] = {"user_id": 7}

Priority = Annotated[
    int | str, Field(description="1 to 10, lower first, or a word of the application.", examples=[5])
]


class NewJob(StrictModel):
    """A job to be stored; options left out are decided by its kind, its queue and the policy."""

    kind: NameText
    args: JsonObject = Field(default_factory=dict, description="The arguments of its handler, by name.")
    queue: NameText | None = None
    priority: Priority | None = None
    delay: Length | None = None
    run_at: Moment | None = None
    tenant: KeyText | None = Field(
        None, description="For those who act for all tenants; otherwise their own."
    )
    name: KeyText | None = None
    description: str | None = Field(None, max_length=2000)
    tags: list[KeyText] | None = Field(None, max_length=50)
    metadata: JsonObject | None = None
    parent: UUID | None = None
    correlation_id: KeyText | None = None
    key: KeyText | None = Field(
        None,
        description="The idempotency key: the same job sent again under it is stored once. "
        "The header Idempotency-Key says the same.",
    )
    unique: KeyText | bool | None = None
    unique_for: Length | None = None
    expires: Length | Moment | None = None
    deadline: Length | Moment | None = None
    wait_for: KeyText | None = Field(None, description="The signal that must come before it runs.")
    wait_timeout: Length | None = None
    max_attempts: int | None = Field(None, ge=1, le=1000)
    timeout: Length | None = None

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"kind": "send_welcome", "args": ARGUMENTS, "delay": "5m"}]},
    )

    def options(self, key: str | None = None) -> JobOptions:
        """The options of the job; `key` is what the request itself came with."""
        given = self.model_dump(exclude={"kind", "args"}, exclude_none=True)
        return JobOptions(**{**({"key": key} if key else {}), **given})


class NewJobs(StrictModel):
    """Jobs that are stored together, all or none."""

    jobs: list[NewJob] = Field(min_length=1, max_length=MOST_AT_ONCE)

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"jobs": [{"kind": "send_welcome", "args": ARGUMENTS}]}]},
    )


class NewPriority(StrictModel):
    """Another priority for a waiting job."""

    priority: Priority
    reason: Reason | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"priority": 1, "reason": "the customer called"}]}
    )


class Clone(StrictModel):
    """A new job like another one; arguments that are left out are those of the other."""

    args: JsonObject | None = Field(None, description="All arguments, in place of those of the other job.")
    delay: Length | None = None
    reason: Reason | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "run again with the mended template"}]}
    )


class StoredJob(Answer):
    """A job that was stored, or found under its key."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    kind: str = Field(examples=["send_welcome"])
    is_new: bool = Field(description="False if it was there already under its key.", examples=[True])


class ProgressShown(Answer):
    """How far a job has come, as its handler tells it."""

    current: float
    total: float | None = None
    percent: float | None = None
    message: str | None = None
    updated_at: Time | None = None


class JobLine(Answer):
    """A job as lists show it: without arguments, result and errors."""

    id: UUID = Field(examples=[EXAMPLE_ID])
    kind: str = Field(examples=["send_welcome"])
    queue: str = Field(examples=["mail"])
    state: State
    status: str = Field("", description="The application's own word for the state.", examples=["running"])
    reason: str | None = None
    priority: int = Field(examples=[5])
    tenant: str = Field(examples=["acme"])
    attempt: int = Field(examples=[1])
    max_attempts: int | None = None
    run: int
    run_at: Time
    created_at: Time
    updated_at: Time
    started_at: Time | None = None
    finished_at: Time | None = None
    duration_ms: int | None = None
    worker: str | None = None
    name: str | None = None
    tags: list[str]
    parent_id: UUID | None = None
    correlation_id: str | None = None
    created_by: str | None = None
    progress: ProgressShown | None = None


class JobShown(JobLine):
    """A job whole; arguments and result need the right payloads.read."""

    description: str | None = None
    crashes: int
    is_suspect: bool
    heartbeat_at: Time | None = None
    lease_expires_at: Time | None = None
    expires_at: Time | None = None
    deadline: Time | None = None
    cancel_requested_at: Time | None = None
    settled_by: str | None = None
    policy: JsonObject
    metadata: JsonObject
    error: JsonObject | None = None
    payloads_shown: bool = Field(False, description="Whether the caller may see arguments and result.")
    args: JsonObject | None = None
    result: Any = None


class JobResult(Answer):
    """What a job has returned."""

    id: UUID
    result: Any = Field(None, examples=[{"sent": 3}])


class AttemptShown(Answer):
    """One run of a job."""

    epoch: int
    attempt: int
    run: int
    status: str = Field(examples=["failed"])
    started_at: Time
    finished_at: Time | None = None
    duration_ms: int | None = None
    worker: str | None = None
    error: JsonObject | None = None
    cpu_ms: int | None = None
    peak_rss_mb: int | None = None


class StepShown(Answer):
    """A part of a job that is done and not repeated."""

    name: str
    position: int
    result: Any = None
    attempt: int
    run: int
    worker: str | None = None
    duration_ms: int
    finished_at: Time


class SignalShown(Answer):
    """Something that a job has received."""

    name: str
    position: int
    key: str
    payload: Any = None
    sent_by: str
    sent_at: Time


class NewSignal(StrictModel):
    """A signal for a job."""

    name: KeyText
    payload: Any = None
    key: KeyText | None = Field(None, description="Sent again under it, the signal is there once.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "approved", "payload": {"by": "ann"}, "key": "approval-7"}]},
    )


class SentSignal(Answer):
    """What became of a signal."""

    is_new: bool = Field(description="False if it was there already under its key.")


class Rescheduled(StrictModel):
    """Another time for a job that waits."""

    run_at: Moment

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"run_at": "2030-05-17T12:00:00Z"}]}
    )


class Cancelled(Answer):
    """What a job is after it was cancelled: `running` until its handler has stopped."""

    state: State = Field(examples=["cancelled"])


class QueueCountShown(Answer):
    """How many jobs share a queue, kind and state."""

    queue: str
    kind: str
    state: State
    jobs: int
    oldest_run_at: Time | None = None
