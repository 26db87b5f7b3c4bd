"""Which job is stored because another one has ended, and with which arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict
from uuid import UUID

from backstay.model.job import JobId, NewJob
from backstay.model.limits.keys import bounded, filled
from backstay.model.states import State

EVENTS = {
    "on_completed": State.COMPLETED,
    "on_dead": State.DEAD,
    "on_cancelled": State.CANCELLED,
    "on_resolved": State.RESOLVED,
}
"""The fields of a kind that name a reaction, and the end each is for."""

ARGUMENT = "ended"
"""What the argument of a reaction is taken to be called where its handler is not known."""

_OURS = "reaction:"
_LEFT_OUT = ("traceback",)
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH_TEXT = "1970-01-01T00:00:00+00:00"


class ReactionFields(TypedDict, total=False):
    """The reactions of a kind as keyword arguments of `@app.job(…)`: a handler, or the name of a kind."""

    on_completed: Any
    on_dead: Any
    on_cancelled: Any
    on_resolved: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """What a reaction receives about the job that has ended: which and how, but not its arguments or its result."""

    job_id: UUID
    kind: str
    queue: str
    tenant: str
    state: State
    reason: str | None
    error: dict[str, Any] | None
    """The last error, without its traceback."""
    attempt: int
    run: int
    epoch: int
    """Tells this end from others of the same job: one that died may be retried and die again."""
    ended_at: datetime
    created_by: str | None = None
    correlation_id: str | None = None
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """The kind that is enqueued for an end, as far as storing a job of it needs to know."""

    kind: str
    queue: str
    argument: str = ARGUMENT
    priority: int = 5
    ageing_seconds: float = 3600.0
    ordered_by: str | None = None


def to_json(reactions: Mapping[State, Reaction]) -> dict[str, Any]:
    """The reactions of a kind as the database keeps them."""
    return {state.value: asdict(reaction) for state, reaction in reactions.items()}


def is_reaction(key: str | None) -> bool:
    """Whether a job with this key is a reaction itself, whose own end has none."""
    return key is not None and key.startswith(_OURS)


def job_for(reactions: Mapping[str, Any], ended: JobEnded) -> NewJob | None:
    """The job that an end brings about; None if its kind has no reaction to it."""
    if (known := reactions.get(ended.state.value)) is None:
        return None
    reaction = Reaction(**known)
    args = {reaction.argument: _told(ended)}
    template = reaction.ordered_by
    return NewJob(
        id=_id(ended),
        kind=reaction.kind,
        queue=reaction.queue,
        args=json.dumps(args, ensure_ascii=False, separators=(",", ":")),
        priority=reaction.priority,
        ageing_step=timedelta(seconds=reaction.ageing_seconds),
        tenant=ended.tenant,
        parent_id=JobId(ended.job_id),
        correlation_id=ended.correlation_id or str(ended.job_id),
        created_by=ended.created_by,
        idempotency_key=f"{_OURS}{ended.job_id}:{ended.epoch}:{ended.state.value}",
        order_key=None if template is None else bounded(filled(template, args, ended.tenant)),
    )


def _told(ended: JobEnded) -> dict[str, Any]:
    told = asdict(ended)
    told["job_id"] = str(ended.job_id)
    told["parent_id"] = None if ended.parent_id is None else str(ended.parent_id)
    told["state"] = ended.state.value
    told["ended_at"] = ended.ended_at.isoformat()
    if ended.error is not None:
        told["error"] = {name: value for name, value in ended.error.items() if name not in _LEFT_OUT}
    return told


def _id(ended: JobEnded) -> JobId:
    """The same for the same end, so that it cannot be stored twice; ordered by time, as all ids are."""
    what = f"{ended.job_id}:{ended.epoch}:{ended.state.value}"
    chance = int.from_bytes(hashlib.sha256(what.encode()).digest()[:10], "big")
    moment = (ended.ended_at - datetime.fromisoformat(_EPOCH_TEXT)) // _MILLISECOND
    number = (moment & ((1 << 48) - 1)) << 80 | chance
    number = number & ~(0xF << 76) | 0x7 << 76
    return JobId(UUID(int=number & ~(0x3 << 62) | 0x2 << 62))
