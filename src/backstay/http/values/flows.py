"""Flows as the API takes and shows them."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from backstay.http.values.common import Answer, JsonObject, KeyText, NameText, Time
from backstay.http.values.jobs import Priority
from backstay.kit.bodies import StrictModel
from backstay.model.flows import DependencyRecord
from backstay.model.states import State


class FlowParent(StrictModel):
    """A job that another one waits for."""

    job: KeyText
    wait_for: Literal["completion", "success"] | None = None
    on_failure: Literal["cancel", "run", "hold"] | None = None
    place: str | None = Field(None, max_length=1000, description="Where in the arguments its result belongs.")
    when: list[Any] | None = Field(None, min_length=2, max_length=3, examples=[["/score", ">", 5]])


class NewFlowJob(StrictModel):
    """One job of a flow; `after` names those it waits for."""

    name: KeyText
    kind: NameText
    args: JsonObject | None = None
    after: list[KeyText | FlowParent] | None = Field(None, max_length=1000)
    queue: NameText | None = None
    priority: Priority | None = None


class NewFlow(StrictModel):
    """A flow to be stored, all its jobs or none."""

    name: str = Field("", max_length=255)
    jobs: list[NewFlowJob] = Field(min_length=1, max_length=1000)

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "import",
                    "jobs": [
                        {"name": "fetch", "kind": "fetch_page"},
                        {"name": "store", "kind": "store_page", "after": ["fetch"]},
                    ],
                }
            ]
        },
    )

    def described(self) -> list[dict[str, Any]]:
        """The jobs as plain values."""
        return [job.model_dump(exclude_none=True) for job in self.jobs]


class FlowShown(Answer):
    """A flow, and how many of its jobs are in which state."""

    id: UUID
    tenant: str
    name: str
    callback_id: UUID | None = None
    created_by: str | None = None
    created_at: Time
    jobs: dict[State, int]
    total: int
    ended: int
    is_finished: bool


class FlowJobShown(Answer):
    """A job of a flow."""

    id: UUID
    kind: str
    queue: str
    state: State
    reason: str | None = None
    label: str | None = None
    started_at: Time | None = None
    finished_at: Time | None = None


class DependencyShown(Answer):
    """What one job waits or waited for; without a verdict it is open."""

    job_id: UUID
    parent_id: UUID
    type: str = Field(examples=["success"])
    on_failure: str = Field(examples=["cancel"])
    place: str
    condition: str | None = None
    verdict: str | None = None
    decided_at: Time | None = None


class StoredFlow(Answer):
    """A flow that was stored, and its jobs by their names."""

    id: UUID
    jobs: list[UUID]


class Reached(Answer):
    """How many jobs an action has reached."""

    jobs: int


class RunAgain(Answer):
    """The jobs that will run."""

    jobs: list[UUID]


def dependency(record: DependencyRecord) -> DependencyShown:
    """A dependency as it is shown."""
    tie = record.dependency
    return DependencyShown(
        job_id=tie.job_id,
        parent_id=tie.parent_id,
        type=tie.type.value,
        on_failure=tie.on_failure.value,
        place=tie.place,
        condition=None if tie.condition is None else str(tie.condition),
        verdict=record.verdict,
        decided_at=record.decided_at,
    )
