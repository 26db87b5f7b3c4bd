"""Job types: what a payload must be, and what is done with it. Others can be added without touching this package.

A module that `AEON_HANDLERS` names calls `add(MyType())` when it is imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from backstay import Context
from backstay_aeon.domain.errors import BadRequest


@dataclass(frozen=True)
class Envelope:
    """Who a job is for."""

    team_id: str
    created_by: UUID | None
    job_category: str


class JobType(ABC):
    """One type of job. `name` is at most 100 characters, `queue` is where its jobs wait."""

    name: ClassVar[str]
    queue: ClassVar[str] = "general"
    title: ClassVar[str] = ""
    policy: ClassVar[Mapping[str, Any]] = {}
    """Numbers of the engine's policy that are this type's own."""
    runs_in_process: ClassVar[bool] = False
    """Whether it needs much processor time: then it has a process of its own, which is measured and can be killed."""

    @abstractmethod
    def validate(self, payload: dict[str, Any]) -> None:
        """Raise BadRequest with the field, if the payload can never be processed."""

    @abstractmethod
    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        """Do it, and return a result that JSON can hold."""

    async def on_failure(self, ctx: Context, payload: dict[str, Any], error: Exception) -> None:  # noqa: B027 - most types have nothing to do
        """Told of each failed attempt before it is settled; nothing by default."""


_TYPES: dict[str, JobType] = {}


def add(job_type: JobType) -> JobType:
    """Make a job type known; a name is taken once."""
    known = _TYPES.get(job_type.name)
    if known is not None and type(known) is not type(job_type):
        raise ValueError(f"there is a job type {job_type.name!r} already: {type(known).__qualname__}")
    if not 0 < len(job_type.name) <= 100:
        raise ValueError("the name of a job type has 1 to 100 characters")
    _TYPES[job_type.name] = job_type
    return job_type


def known() -> Mapping[str, JobType]:
    """Every job type by its name."""
    return dict(_TYPES)


def get(name: str) -> JobType:
    """One job type; an unknown name is refused with those there are."""
    if name not in _TYPES:
        raise BadRequest(
            f"there is no job type {name!r}; there are {', '.join(sorted(_TYPES))}", field="job_type"
        )
    return _TYPES[name]
