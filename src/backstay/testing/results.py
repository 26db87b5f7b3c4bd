"""What came of everything that was run, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from backstay.model.outcome import (
    Complete,
    Crashed,
    Fail,
    Misfit,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Waiting,
)
from backstay.model.states import State
from backstay.testing.runner import Ran


@dataclass(frozen=True)
class Drained:
    """The attempts that were made, in order, and how many ended in which way."""

    attempts: tuple[Ran, ...] = ()

    @property
    def completed(self) -> int:
        """Jobs that are done."""
        return self._counts["completed"]

    @property
    def retrying(self) -> int:
        """Attempts that failed and have another one before them."""
        return self._counts["retrying"]

    @property
    def dead(self) -> int:
        """Jobs that are out of attempts or hopeless."""
        return self._counts["dead"]

    @property
    def cancelled(self) -> int:
        """Jobs that ended without having failed."""
        return self._counts["cancelled"]

    @property
    def snoozed(self) -> int:
        """Attempts that asked to be made later."""
        return self._counts["snoozed"]

    @property
    def waiting(self) -> int:
        """Runs that ended waiting for a signal."""
        return self._counts["waiting"]

    @property
    def failed(self) -> int:
        """Attempts whose handler raised, whatever became of the job."""
        return sum(isinstance(ran.outcome, Fail) for ran in self.attempts)

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(_word(ran.outcome, ran.job.state) for ran in self.attempts)

    def __len__(self) -> int:
        return len(self.attempts)

    def __repr__(self) -> str:
        return f"Drained({', '.join(f'{word}={count}' for word, count in sorted(self._counts.items()))})"


def _word(outcome: Outcome, state: State) -> str:
    match outcome:
        case Snoozed() if state is State.SCHEDULED:
            return "snoozed"
        case Waiting():
            return "waiting"
        case Misfit():
            return "misfit"
        case Fail() | Crashed() if state in (State.SCHEDULED, State.AVAILABLE):
            return "retrying"
        case Complete() | Stopped() | Released() | Snoozed() | Fail() | Crashed():
            return state.value
