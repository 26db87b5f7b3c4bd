"""Whether the job system as a whole is well."""

from __future__ import annotations


def status(*, stale: int, unresolved: int, failures: int) -> str:
    """Grade the job system: healthy, degraded or unhealthy."""
    if stale > 10 or unresolved > 50:
        return "unhealthy"
    if stale > 0 or unresolved > 10 or failures > 20:
        return "degraded"
    return "healthy"
