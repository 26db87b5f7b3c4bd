"""The chain of the audit trail: each link holds the hash of its line and of the link before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backstay.model.records import AuditEntry

FIRST = "0" * 64
"""What stands for the link before the first."""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last link of a tenant's chain."""

    tenant: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """One link; `line` is None if the line that it is about is gone."""

    sequence: int
    audit_id: int
    previous_hash: str
    hash: str
    line: AuditEntry | None


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """The first link of a chain that does not hold, and why."""

    tenant: str
    sequence: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What a look through every chain came to."""

    links: int
    unchained: int
    """Lines at the end that no chain has yet."""
    broken: tuple[BrokenLink, ...]
    heads: tuple[ChainHead, ...]

    @property
    def is_whole(self) -> bool:
        """True if every link holds."""
        return not self.broken


def content(tenant: str, sequence: int, previous: str, line: AuditEntry) -> dict[str, Any]:
    """What is hashed: everything that the line says, its place, and the link before."""
    return {
        "tenant": tenant,
        "sequence": sequence,
        "previous": previous,
        "id": line.id,
        "at": line.at.isoformat(timespec="microseconds"),
        "actor": line.actor,
        "action": line.action,
        "job_id": None if line.job_id is None else str(line.job_id),
        "from_state": line.from_state,
        "to_state": line.to_state,
        "reason": line.reason,
        "source": line.source,
        "details": line.details,
    }
