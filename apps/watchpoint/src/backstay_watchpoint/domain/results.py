"""What became of a verification or a calibration that the provider was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay_watchpoint.domain.payloads import TaskType
from backstay_watchpoint.domain.reconcile import ProviderState

MAX_REQUESTS = 3
ASKED_AGAIN_FOR = timedelta(days=6)
"""How old a forecast may be whose verification failed and is asked for again; its output is kept a week at least."""
FORGOTTEN = "the provider does not know it and there are no results"


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has come to its end; without an error its results are stored."""

    error: str | None = None


def ending(state: ProviderState, *, has_results: bool) -> Ended | None:
    """Return how a request has ended, None if it has not or if that cannot be known now.

    `has_results` matters where the provider has forgotten the job: finished ones are forgotten after half an hour.
    """
    match state:
        case ProviderState.COMPLETED:
            return Ended()
        case ProviderState.FAILED | ProviderState.CANCELLED | ProviderState.TIMED_OUT:
            return Ended(f"the provider says {state}")
        case ProviderState.UNKNOWN:
            return Ended() if has_results else Ended(FORGOTTEN)
        case _:
            return None


def failed_alert(task_type: TaskType) -> str:
    """Name the alert about requests that failed."""
    return f"{task_type.capitalize()}Failed"


def missing_alert(task_type: TaskType) -> str:
    """Name the alert about results that have not arrived in time."""
    return f"{task_type.capitalize()}ResultsMissing"
