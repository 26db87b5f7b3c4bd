"""Rows about flows as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from backstay.model.flows import (
    Condition,
    Dependency,
    DependencyRecord,
    DependencyType,
    FlowJob,
    FlowRecord,
    OnFailure,
    Verdict,
)
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.stores import rows
from backstay.stores.database.interface import Row


def dependency(row: Row) -> Dependency:
    """What one job waits for."""
    condition = row["condition"]
    return Dependency(
        job_id=rows.job_id(row["job_id"]),
        parent_id=rows.job_id(row["parent_id"]),
        type=DependencyType(row["type"]),
        on_failure=OnFailure(row["on_failure"]),
        place=row["place"],
        condition=None if condition is None else msgspec.json.decode(condition, type=Condition),
    )


def dependency_record(row: Row) -> DependencyRecord:
    """The same with what was decided."""
    verdict = row["verdict"]
    return DependencyRecord(
        dependency(row), None if verdict is None else Verdict(verdict), rows.maybe_moment(row["decided_at"])
    )


def flow(row: Row, jobs: Mapping[State, int]) -> FlowRecord:
    """A flow and its progress."""
    return FlowRecord(
        id=rows.job_id(row["id"]),
        tenant=row["tenant"],
        name=row["name"],
        callback_id=maybe_job_id(row["callback_id"]),
        created_by=row["created_by"],
        created_at=rows.moment(row["created_at"]),
        jobs=dict(jobs),
    )


def flow_job(row: Row) -> FlowJob:
    """A job of a flow."""
    return FlowJob(
        id=rows.job_id(row["id"]),
        kind=row["kind"],
        queue=row["queue"],
        state=State(row["state"]),
        reason=row["reason"],
        label=row["label"],
        started_at=rows.maybe_moment(row["started_at"]),
        finished_at=rows.maybe_moment(row["finished_at"]),
    )


def maybe_job_id(value: Any) -> JobId | None:
    """A job's id, or none."""
    return None if value is None else rows.job_id(value)
