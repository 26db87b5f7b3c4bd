"""When a worker process is replaced, and how soon after its death the next one starts."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.worker.supervisor_link import Report

STEADY_AFTER = 60.0
"""A process that lived this long was no part of a series of deaths."""
STUCK_AFTER = 60.0
"""Silent for a lease: whatever its engine held has been taken from it by then."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker process may come to before it is replaced; None is no limit."""

    jobs: int | None = None
    memory_mb: int | None = None


def why_replace(report: Report, rss_mb: int, limits: Limits) -> str | None:
    """Why a process should finish its jobs and be replaced; None if it should go on."""
    if limits.jobs is not None and report.settled >= limits.jobs:
        return f"it has settled {report.settled} jobs"
    if limits.memory_mb is not None and rss_mb > limits.memory_mb:
        return f"it uses {rss_mb} MB"
    if report.tainted and report.tainted * 2 >= report.slots:
        return (
            f"{report.tainted} of its {report.slots} slots are kept by handlers that ignore their time limit"
        )
    return None


def pause_before_restart(deaths: int) -> float:
    """Seconds to wait before the next start after this number of deaths in a row; 0 after the first."""
    if deaths <= 1:
        return 0.0
    return min(FIRST_PAUSE * 2.0 ** min(deaths - 2, 16), LONGEST_PAUSE)
