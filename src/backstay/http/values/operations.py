"""Operations as the API takes and shows them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, field_validator

from backstay.http.values.common import Answer, KeyText, Moment, NameText, Reason, Time
from backstay.kit.bodies import StrictModel
from backstay.model.operations import FASTEST, SLOWEST, Verb
from backstay.model.records import DeadLetterFilter, JobFilter

LetterVerb = Literal["dead_letters.retry", "dead_letters.resolve"]
JobVerb = Literal["jobs.cancel", "jobs.hold", "jobs.release", "jobs.run_now"]


class LetterFilters(StrictModel):
    """Which open dead letters are meant; a filter that is left out lets all through."""

    kind: NameText | None = None
    queue: NameText | None = None
    tenant: KeyText | None = None
    fingerprint: str | None = Field(default=None, max_length=128)
    older_than_seconds: float | None = Field(default=None, ge=0, le=3_153_600_000)


class JobFilters(StrictModel):
    """Which jobs are meant; a filter that is left out lets all through."""

    state: list[NameText] | None = Field(
        None, max_length=20, description="States, or the application's words."
    )
    kind: NameText | None = None
    queue: NameText | None = None
    tenant: KeyText | None = None
    tag: KeyText | None = None
    correlation_id: KeyText | None = None
    created_by: KeyText | None = None
    error_class: NameText | None = None
    created_from: Moment | None = None
    created_to: Moment | None = None


class NewOperation(StrictModel):
    """One thing to be done with every job that fits now: dead letters by `letters`, jobs by `jobs`."""

    verb: LetterVerb | JobVerb
    letters: LetterFilters | None = None
    jobs: JobFilters | None = None
    reason: Reason
    pace: float = Field(100.0, ge=SLOWEST, le=FASTEST, description="At most this many jobs a second.")
    name: str | None = Field(None, min_length=1, max_length=200, pattern=r"\S")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "verb": "dead_letters.retry",
                    "letters": {"kind": "add"},
                    "reason": "the mail server is back",
                    "pace": 20,
                }
            ]
        },
    )

    @field_validator("jobs")
    @classmethod
    def _only_one(cls, jobs: JobFilters | None, found: Any) -> JobFilters | None:
        if jobs is not None and found.data.get("letters") is not None:
            raise ValueError("give letters or jobs, not both")
        return jobs

    def filters(self) -> DeadLetterFilter | JobFilter:
        """Which jobs are meant."""
        if self.jobs is not None:
            return JobFilter(**self.jobs.model_dump())
        if self.letters is None and not Verb(self.verb).is_about_letters:
            return JobFilter()
        given = (self.letters or LetterFilters()).model_dump()
        older = given.pop("older_than_seconds")
        return DeadLetterFilter(**given, older_than=None if older is None else timedelta(seconds=older))


class OperationShown(Answer):
    """One action on many jobs, and how far it is."""

    id: UUID
    name: str
    verb: str
    tenant: str = Field(description='"*" for all tenants.')
    filters: dict[str, Any] = Field(description="Which jobs it is about, fixed when it was started.")
    reason: str
    pace: float
    status: str = Field(description="running, completed or stopped.")
    total: int | None = Field(
        description="How many there were at the start, where they can be counted quickly."
    )
    done: int
    skipped: int = Field(description="Jobs that could not be acted on any more.")
    problem: str | None = Field(description="Why, of the last one that was skipped.")
    started_at: Time
    started_by: str
    stopped_by: str | None
    ended_at: Time | None
