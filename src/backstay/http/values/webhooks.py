"""Webhooks as the API takes and shows them."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, KeyText, Length, NameText, Time
from backstay.kit.bodies import StrictModel
from backstay.model.job import Job
from backstay.model.states import State

Event = Literal["job.completed", "job.dead", "job.cancelled", "job.resolved"]
Url = Field(min_length=8, max_length=2000, examples=["https://example.com/hooks"])


class NewWebhook(StrictModel):
    """Somebody to be told when jobs end."""

    name: KeyText
    url: str = Url
    events: list[Event] = Field(default=["job.dead"], min_length=1, max_length=4)
    kinds: list[NameText] | None = Field(
        None, min_length=1, max_length=100, description="Otherwise all kinds."
    )
    form: Literal["standard", "sha256"] = Field(
        "standard", description="Standard Webhooks, or X-Signature-256: sha256=<hex> over the body."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "pager", "url": "https://example.com/hooks", "events": ["job.dead"]}]
        },
    )


class WebhookChange(StrictModel):
    """What changes of a webhook; what is left out stays."""

    name: KeyText | None = None
    url: str | None = Field(None, min_length=8, max_length=2000)
    events: list[Event] | None = Field(None, min_length=1, max_length=4)
    is_enabled: bool | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"is_enabled": False}]})


class SecretRotation(StrictModel):
    """How long deliveries are signed with the old secret as well."""

    overlap: Length = "1d"

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap": "1d"}]})


class WebhookShown(Answer):
    """Somebody who is told when jobs end; the secret is not shown."""

    id: UUID
    tenant: str
    name: str
    url: str
    events: list[str]
    kinds: list[str] | None = None
    form: str
    is_enabled: bool
    created_at: Time
    created_by: str
    updated_at: Time
    old_secret_until: Time | None = None


class WebhookMade(Answer):
    """A webhook with the secret that its deliveries are signed with, shown this once."""

    webhook: WebhookShown
    secret: str = Field(examples=["whsec_…"])


class DeliveryShown(Answer):
    """One delivery: the job that sends it, and what became of it."""

    job_id: UUID
    message: str = Field(description="The id of the message, the same when it is sent again.")
    state: State
    attempt: int
    created_at: Time
    finished_at: Time | None = None
    run_at: Time
    status: int | None = Field(None, description="What the receiver answered, once it took the message.")
    error: str | None = None


class DeliveryStored(Answer):
    """The job that will send a message."""

    job_id: UUID


def delivery(job: Job) -> DeliveryShown:
    """A delivery as it is shown."""
    result = job.result if isinstance(job.result, dict) else {}
    return DeliveryShown(
        job_id=job.id,
        message=str(job.args.get("message", "")),
        state=job.state,
        attempt=job.attempt,
        created_at=job.created_at,
        finished_at=job.finished_at,
        run_at=job.run_at,
        status=result.get("status"),
        error=None if job.error is None else str(job.error.get("message", "")),
    )
