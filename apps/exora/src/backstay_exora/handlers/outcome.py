"""What a pass comes to: what is written, what follows, what the job's result is."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from backstay_exora.domain.failures import ExoraError
from backstay_exora.store.connections import Connection


@dataclass(frozen=True, slots=True)
class NextPass:
    """The pass that follows; with `needs_review` it is held until a person has decided."""

    pass_number: int
    patient_id: UUID
    needs_review: bool = False
    narrative_id: UUID | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class PassOutcome:
    """One transaction's worth."""

    write: Callable[[Connection, UUID | None], Awaitable[None]]
    """Takes the connection and the id of the job that follows, if any."""
    result: Mapping[str, Any]
    follows: NextPass | None = None
    failure: ExoraError | None = None
    """What the job fails with, together with what is written."""


@dataclass(frozen=True, slots=True)
class PassCall:
    """The arguments of a pass."""

    pass_number: int
    document_id: UUID
    patient_id: UUID
    session: UUID
    correlation_id: str
    lane: str
    narrative_id: UUID | None = None
    needs_review: bool = False
