"""Failures as the API shows them."""

from __future__ import annotations

from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, KeyText, Time
from backstay.kit.bodies import StrictModel


class FailureShown(Answer):
    """One cause of death; job, error and message are of the newest one."""

    fingerprint: str
    kind: str
    error_type: str
    message: str
    job_id: UUID
    deaths: int = Field(description="In the time that was asked for.")
    open_letters: int = Field(description="How many of these nobody has decided about.")
    first_died_at: Time
    last_died_at: Time
    hours: list[int] = Field(description="Deaths in each hour of that time, the oldest first.")
    is_new: bool = Field(description="It struck for the first time in that time.")
    is_regressed: bool = Field(description="It struck again after somebody had dealt with it.")
    owner: str | None


class NewOwner(StrictModel):
    """Who looks after a cause."""

    owner: KeyText

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"owner": "ada"}]})
