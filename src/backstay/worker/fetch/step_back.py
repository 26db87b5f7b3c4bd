"""Leaves kinds to workers of another release, while what comes of them does not fit the code of this one."""

from __future__ import annotations

from backstay.model.outcome import Misfit, Outcome
from backstay.runtime.env import Env

AFTER = 5
"""So many refusals of a kind in a row, without a job of it that fitted."""

SECONDS = 12.0
"""Longer than a refused job is held at first, so that it finds the other worker when it goes on."""


class StepBack:
    """Which kinds are not asked for at the moment. Outcomes may be noted from any thread."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self.other_code: frozenset[str] = frozenset()
        """The kinds that a living worker reads by other code than this one."""
        self._in_a_row: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def note(self, kind: str, outcome: Outcome) -> None:
        """Learn from what came of a job of this kind whether such jobs fit."""
        if isinstance(outcome, Misfit):
            count = self._in_a_row[kind] = self._in_a_row.get(kind, 0) + 1
            if count >= AFTER:
                self._until[kind] = self._env.monotonic() + SECONDS
        elif self._in_a_row:
            self._in_a_row.pop(kind, None)

    def leaves(self, kind: str) -> bool:
        """Whether the kind is left to others now: only where there are any that may fit."""
        until = self._until.get(kind)
        if until is None or kind not in self.other_code:
            return False
        if until > self._env.monotonic():
            return True
        self._until.pop(kind, None)
        return False

    @property
    def is_active(self) -> bool:
        """Whether any kind may be left to others."""
        return bool(self._until)
