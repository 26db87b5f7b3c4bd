"""Dead letters as the API takes and shows them."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, JsonObject, KeyText, Length, NameText, Reason, Time
from backstay.kit.bodies import StrictModel
from backstay.model.records import DeadLetterFilter

WRONG_VERSION = "The version of the letter that was read; 409 if it has changed since."


class DeadLetterLine(Answer):
    """One death of a job, as lists show it."""

    job_id: UUID
    epoch: int
    tenant: str
    kind: str
    queue: str
    reason: str = Field(examples=["exhausted"])
    fingerprint: str
    attempts: int
    first_attempted_at: Time | None = None
    died_at: Time
    status: str = Field(examples=["new"])
    owner: str | None = None
    note: str | None = None
    resolution: str | None = None
    resolved_by: str | None = None
    resolved_at: Time | None = None
    changed_by: str | None = None
    changed_at: Time | None = None
    version: int = Field(examples=[1])


class DeadLetterShown(DeadLetterLine):
    """One death of a job, with its error."""

    error: JsonObject | None = None


class DeadLetterGroupShown(Answer):
    """Open dead letters that have most likely the same cause."""

    fingerprint: str
    kind: str
    error_type: str
    message: str
    letters: int
    first_died_at: Time
    last_died_at: Time
    job_id: UUID
    last_closed_at: Time | None = None
    is_capped: bool = Field(description="There are more letters than were counted.")
    is_regressed: bool = Field(description="It struck again after somebody had decided about it.")


class Retry(StrictModel):
    """Run a dead job again."""

    reason: Reason
    delay: Length | None = None
    version: int | None = Field(None, description=WRONG_VERSION, ge=0, le=2**31 - 1)
    args: JsonObject | None = Field(None, description="Other arguments, in place of all of them.")
    as_new: bool = Field(False, description="Make a new job in its place.")

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "the bug is mended", "delay": "5m"}]}
    )


class Retried(Answer):
    """The job that will run."""

    job_id: UUID


class Resolve(StrictModel):
    """Close a dead job without running it."""

    reason: Reason
    version: int | None = Field(None, description=WRONG_VERSION, ge=0, le=2**31 - 1)

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "paid by hand", "version": 1}]}
    )


class Investigate(StrictModel):
    """Say that the caller looks into a dead job."""

    note: str | None = Field(None, min_length=1, max_length=2000, pattern=r"\S")
    version: int | None = Field(None, description=WRONG_VERSION, ge=0, le=2**31 - 1)

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"note": "asking the bank"}]})


class Version(Answer):
    """The version of the letter after the change."""

    version: int


class Many(StrictModel):
    """Decide about every open dead letter that fits; a filter that is left out lets all through."""

    reason: Reason
    kind: NameText | None = None
    queue: NameText | None = None
    tenant: KeyText | None = None
    fingerprint: str | None = Field(None, max_length=128)
    older_than_seconds: float | None = Field(None, ge=0, le=3_153_600_000)
    limit: int = Field(1000, ge=1, le=10_000, description="At most this many in this request.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"reason": "the mail server is back", "kind": "send_welcome"}]},
    )

    def filters(self) -> DeadLetterFilter:
        """Which letters are meant."""
        older = self.older_than_seconds
        return DeadLetterFilter(
            kind=self.kind,
            queue=self.queue,
            tenant=self.tenant,
            fingerprint=self.fingerprint,
            older_than=None if older is None else timedelta(seconds=older),
        )


class Decided(Answer):
    """What came of a decision about many dead letters."""

    done: int
    skipped: int = Field(description="Decided by others meanwhile, or with a key that another job has taken.")
