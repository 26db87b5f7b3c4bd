"""How many workers there should be."""

from __future__ import annotations

from dataclasses import dataclass

UP_PENDING, DOWN_PENDING, UP_WAIT_SECONDS, UP_CPU = 100, 10, 300, 80.0
COOL_DOWN_SECONDS = 300


@dataclass(frozen=True)
class Load:
    """What decides."""

    workers: int
    pending: int
    average_wait_seconds: float
    cpu_percent: float
    seconds_since_change: float | None = None


@dataclass(frozen=True)
class Decision:
    """So many workers, because of this."""

    desired: int
    reason: str


def decide(load: Load, *, least: int = 1, most: int = 10) -> Decision:
    """One step up or down, within bounds, and not sooner than five minutes after the last one."""
    wanted, reason = load.workers, "nothing asks for a change"
    if load.pending > UP_PENDING:
        wanted, reason = load.workers + 1, f"{load.pending} jobs wait, more than {UP_PENDING}"
    elif load.average_wait_seconds > UP_WAIT_SECONDS:
        wanted, reason = load.workers + 1, f"jobs wait {load.average_wait_seconds:.0f} s on average"
    elif load.cpu_percent > UP_CPU:
        wanted, reason = load.workers + 1, f"workers use {load.cpu_percent:.0f} % of their processors"
    elif load.pending < DOWN_PENDING:
        wanted, reason = load.workers - 1, f"only {load.pending} jobs wait, fewer than {DOWN_PENDING}"
    bounded = max(least, min(most, wanted))
    if bounded == load.workers:
        return Decision(
            bounded, reason if wanted == load.workers else f"{reason}, but {bounded} is the bound"
        )
    since = load.seconds_since_change
    if since is not None and since < COOL_DOWN_SECONDS:
        return Decision(load.workers, f"{reason}, but the last change is {since:.0f} s ago")
    return Decision(bounded, reason)
