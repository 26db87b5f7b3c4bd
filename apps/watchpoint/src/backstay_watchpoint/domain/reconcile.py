"""What to do with a forecast run that takes too long: a pure state machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

MAX_RETRIES = 3
TIMEOUT_REASON = "Timeout"


class ProviderState(StrEnum):
    """What the provider says of a job; the last two are ours: it knows no such id, it does not answer."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class CancelAndFail:
    """Stop the job, which costs money, and give the run up."""

    reason: str = TIMEOUT_REASON


@dataclass(frozen=True, slots=True)
class Resubmit:
    """Send the run again; its time starts anew."""

    retry_count: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Mark the run failed: it was sent as often as it may be."""

    retry_count: int
    reason: str


@dataclass(frozen=True, slots=True)
class MarkComplete:
    """The output is there; only the row did not learn of it."""


@dataclass(frozen=True, slots=True)
class LeaveAlone:
    """Nothing can be known now; the next hour looks again."""

    reason: str


Action = CancelAndFail | Resubmit | GiveUp | MarkComplete | LeaveAlone


def is_overdue(submitted_at: datetime, now: datetime, timeout: timedelta) -> bool:
    """Tell whether a run has been running for longer than its model may."""
    return now - submitted_at > timeout


def decide(provider: ProviderState | None, *, retry_count: int, has_output: bool) -> Action:
    """Decide what becomes of an overdue run; `provider` is None if it was never accepted there.

    `has_output` matters where the provider has forgotten the job: finished ones are forgotten after half an hour.
    """
    match provider:
        case None:
            return _retry(retry_count, "it was never accepted by the provider")
        case ProviderState.QUEUED | ProviderState.RUNNING:
            return CancelAndFail()
        case ProviderState.COMPLETED:
            return MarkComplete()
        case ProviderState.FAILED | ProviderState.CANCELLED | ProviderState.TIMED_OUT:
            return _retry(retry_count, f"the provider says {provider}")
        case ProviderState.UNKNOWN:
            if has_output:
                return MarkComplete()
            return _retry(retry_count, "the provider does not know it and there is no output")
        case ProviderState.UNREACHABLE:
            return LeaveAlone("the provider does not answer")
        case _:
            assert_never(provider)


def _retry(retry_count: int, reason: str) -> Resubmit | GiveUp:
    retries = retry_count + 1
    if retries < MAX_RETRIES:
        return Resubmit(retries)
    return GiveUp(retries, f"{reason}; given up after {MAX_RETRIES} submissions")
