"""What an archive of jobs is made of: which tables belong to a job, and what is told about a file of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

FORMAT = 1
"""The form of the files; a release that writes another one still reads this."""

JOBS = "jobs"


def _columns(names: str) -> tuple[str, tuple[str, ...]]:
    key, *others = names.split()
    return key, tuple(others)


TABLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    JOBS: _columns(
        "id run_at turn created_at updated_at lease_epoch run priority attempt crashes crashes_in_row is_suspect "
        "is_awaited state kind queue tenant args worker started_at finished_at heartbeat_at lease_expires_at "
        "reason result settled_epoch settled_by claim_id duration_ms max_attempts lease timeout error "
        "own_max_attempts own_timeout own_lease policy tags metadata name description parent_id correlation_id "
        "created_by idempotency_key unique_key expires_at deadline cancel_requested_at cancel_reason parked_for "
        "order_key first_due_at profile category"
    ),
    "attempts": _columns(
        "job_id lease_epoch attempt run status worker started_at finished_at duration_ms error"
    ),
    "measures": _columns("job_id lease_epoch cpu_ms peak_rss_mb"),
    "dead_letters": _columns(
        "job_id lease_epoch kind queue tenant reason fingerprint attempts error status first_attempted_at died_at "
        "owner note resolution resolved_by resolved_at changed_at changed_by version args"
    ),
    "progress": _columns("job_id lease_epoch current total message updated_at"),
    "signals": _columns("job_id name position key payload sent_at sent_by"),
    "steps": _columns("job_id name position lease_epoch attempt run result worker duration_ms finished_at"),
}
"""What is kept of a job: for each table the column that names the job, and the others. A job's own row comes first."""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One file of an archive, as its manifest tells."""

    name: str
    """Where it is in the archive, without its ending."""
    jobs: int
    """How many jobs it holds."""
    states: Mapping[str, int]
    """How many of them ended how."""
    rows: Mapping[str, int]
    """How many rows of each table it holds."""
    first: str
    """The id of its oldest job."""
    last: str
    """The id of its youngest job."""
    size: int
    """Its size in bytes."""
    sha256: str
    """The hash of its bytes."""
    made_at: datetime
    """When it was written."""
    release: str
    """The release of Backstay that wrote it."""
    format: int = FORMAT
    """The form of its lines."""


@dataclass(frozen=True, slots=True)
class Archived:
    """What one run of archiving has done."""

    jobs: int
    """How many jobs were written."""
    removed: int
    """How many of them were removed from the database afterwards; the others are in use and follow later."""
    files: tuple[ArchiveFile, ...]
    """The files that hold them."""


@dataclass(frozen=True, slots=True)
class ArchiveCheck:
    """Whether a file is what its manifest says."""

    name: str
    """The name of the file."""
    jobs: int
    """How many jobs it should hold."""
    problem: str | None
    """What is wrong with it; none where it is whole."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back of a file."""

    jobs: int
    """How many jobs are in the database again."""
    there: int
    """How many had been there already, and were left alone."""
