"""Jobs that are suggested to workers, and what lists of them are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A job that may be claimed: its id, and the line in which that stands; later if it has a time."""

    id: UUID
    queue: str
    kind: str
    rank: int
    tenant: str = ""
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the database says of jobs that have not ended, in the order of their turns."""

    waiting: Sequence[Suggestion] = ()
    later: Sequence[Suggestion] = ()
    running: Sequence[UUID] = ()
    dead: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What the lists hold after they were made anew."""

    waiting: int
    """Jobs that stand in line."""
    later: int
    """Jobs that are due later."""
    running: int
    """Jobs that run, and are shown as active."""
    dead: int
    """Dead letters that are shown."""
