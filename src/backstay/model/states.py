"""Which states a job can be in, and every way it may move between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a job stands; the only eight values the database ever stores."""

    SCHEDULED = "scheduled"
    HELD = "held"
    AVAILABLE = "available"
    RUNNING = "running"
    COMPLETED = "completed"
    DEAD = "dead"
    RESOLVED = "resolved"
    CANCELLED = "cancelled"


WAITING = frozenset({State.SCHEDULED, State.HELD, State.AVAILABLE})
"""Not started yet, or between two attempts."""

FINAL = frozenset({State.COMPLETED, State.RESOLVED, State.CANCELLED})
"""Never left again; running such a job once more means a new job."""

FINISHED = FINAL | {State.DEAD}
"""No worker will touch it; `dead` can still be reopened by a person."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One arrow of the state picture: what moves a job, and the statement that does it."""

    verb: str
    source: State | None
    target: State
    sql: str


def _arrows(
    verb: str, sources: tuple[State | None, ...], targets: tuple[State, ...], sql: str
) -> list[Transition]:
    return [Transition(verb, source, target, sql) for source in sources for target in targets]


_S = State
_WAITING_ROWS = (_S.SCHEDULED, _S.HELD, _S.AVAILABLE)

TRANSITIONS: tuple[Transition, ...] = tuple(
    _arrows("enqueue", (None,), (_S.SCHEDULED, _S.HELD, _S.AVAILABLE), "jobs/enqueue")
    + _arrows("promote", (_S.SCHEDULED,), (_S.AVAILABLE,), "jobs/promote")
    + _arrows("reschedule", (_S.SCHEDULED, _S.AVAILABLE), (_S.SCHEDULED,), "jobs/reschedule")
    + _arrows("hold", (_S.SCHEDULED, _S.AVAILABLE), (_S.HELD,), "jobs/hold")
    + _arrows("release", (_S.HELD,), (_S.SCHEDULED, _S.AVAILABLE), "jobs/release")
    + _arrows("claim", (_S.AVAILABLE,), (_S.RUNNING,), "jobs/claim")
    + _arrows("complete", (_S.RUNNING,), (_S.COMPLETED,), "jobs/complete")
    + _arrows(
        "settle", (_S.RUNNING,), (_S.SCHEDULED, _S.HELD, _S.AVAILABLE, _S.DEAD, _S.CANCELLED), "jobs/settle"
    )
    + _arrows("cancel", _WAITING_ROWS, (_S.CANCELLED,), "jobs/cancel")
    + _arrows("expire", _WAITING_ROWS, (_S.CANCELLED,), "jobs/expire")
    + _arrows("miss deadline", _WAITING_ROWS, (_S.DEAD,), "jobs/miss_deadline")
    + _arrows("give up misfit", (_S.HELD,), (_S.DEAD,), "misfits/give_up")
    + _arrows("retry", (_S.DEAD,), (_S.SCHEDULED, _S.AVAILABLE), "dead_letters/retry")
    + _arrows("resolve", (_S.DEAD,), (_S.RESOLVED,), "dead_letters/resolve")
)


def is_allowed(source: State | None, target: State) -> bool:
    """Whether any verb moves a job from `source` to `target`."""
    return any(arrow.source is source and arrow.target is target for arrow in TRANSITIONS)


def sources_of(verb: str) -> frozenset[State]:
    """The states from which `verb` may act."""
    return frozenset(arrow.source for arrow in TRANSITIONS if arrow.verb == verb and arrow.source is not None)
