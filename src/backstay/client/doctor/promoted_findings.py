"""What to say about promoted fields that are not as they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backstay.client.doctor.findings import Finding, Severity
from backstay.client.doctor.text import counted
from backstay.model.job import JobId

MOST_LINES = 5


def promoted_drift(lines: Sequence[str]) -> list[Finding]:
    """What to say about columns that are not as the kinds declare."""
    if not lines:
        return []
    more = f"; and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return [
        Finding(
            code="promoted_drift",
            severity=Severity.ERROR,
            title="the database does not have the promoted fields as the kinds declare them",
            detail="; ".join(line[:160] for line in lines[:MOST_LINES]) + more,
            advice="run 'backstay db migrate --app module:app' with the code that is deployed",
            count=len(lines),
        )
    ]


def promoted_unfilled(unfilled: Mapping[str, Sequence[JobId]]) -> list[Finding]:
    """What to say about jobs that a search by a promoted field would miss."""
    return [
        Finding(
            code="promoted_unfilled",
            severity=Severity.WARNING,
            title=f"promoted fields of {kind!r} are not filled",
            detail=f"{counted(len(jobs), 'job')} of the newest, for example {jobs[0]}; a search misses them",
            advice="expected after a field was added; run 'backstay db fill --app module:app'",
            count=len(jobs),
        )
        for kind, jobs in unfilled.items()
        if jobs
    ]
