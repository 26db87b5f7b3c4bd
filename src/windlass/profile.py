"""An application's own words and numbers: its status names, categories, lanes and priority direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from windlass.classify import Rules
from windlass.errors import InvalidPolicy
from windlass.policy import PolicyChange, PolicyFields
from windlass.states import WAITING, State

RETRYING = "retrying"
"""The detail of a job that waits for another attempt after a failed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityScale:
    """How an application writes priorities; the engine's rank is 1 to 10, lower first."""

    first: Literal["low", "high"] = "low"
    names: Mapping[str | int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.first not in ("low", "high"):
            raise InvalidPolicy("priority.first", self.first, needs='"low" or "high"')
        for rank in self.names.values():
            if type(rank) is not int or not 1 <= rank <= 10:
                raise InvalidPolicy("priority.names", rank, needs="ranks that are whole numbers from 1 to 10")

    def rank(self, priority: int | str) -> int:
        """The engine's rank for an application's priority; names are matched in any case."""
        if type(priority) is int:
            if priority in self.names:
                return self.names[priority]
            if 1 <= priority <= 10:
                return priority if self.first == "low" else 11 - priority
        if isinstance(priority, str):
            for name, rank in self.names.items():
                if isinstance(name, str) and name.casefold() == priority.casefold():
                    return rank
        raise InvalidPolicy("priority", priority, needs=self._needs())

    def _needs(self) -> str:
        words = sorted(name for name in self.names if isinstance(name, str))
        names = f", or one of {', '.join(words)}" if words else ""
        return f"a whole number from 1 to 10 ({self.first}est first){names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What an application calls things, and the numbers it brings.

    `words` maps (state, detail) to a word. The detail is a reason (`exhausted`, `paused`), `retrying` for a
    job between two attempts, or "" for the state in general. A state without a word keeps its own name.
    An empty `categories` or `lanes` allows any. Policies are written as dictionaries of policy fields.
    """

    name: str
    words: Mapping[tuple[State, str], str] = field(default_factory=dict)
    policy: PolicyChange | PolicyFields = field(default_factory=PolicyChange)
    queues: Mapping[str, PolicyChange | PolicyFields] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    priority: PriorityScale = field(default_factory=PriorityScale)
    tenant_alias: str = "tenant"
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        # Checked here, where they were written, and not when the first job needs them.
        for fields in (self.policy, *self.queues.values()):
            _layer(fields)

    def layers(self, queue: str) -> tuple[PolicyChange, PolicyChange]:
        """The profile's two policy layers for jobs of a queue, in the order `resolve` takes them."""
        return _layer(self.policy), _layer(self.queues.get(queue, _NO_CHANGE))

    def word_for(self, state: State, attempt: int = 0, reason: str | None = None) -> str:
        """What this application calls a job in that state."""
        is_retrying = attempt > 0 and state in WAITING
        details = ([reason] if reason else []) + ([RETRYING] if is_retrying else []) + [""]
        known = (self.words[state, detail] for detail in details if (state, detail) in self.words)
        return next(known, state.value)

    def meanings(self, word: str) -> frozenset[tuple[State, str]]:
        """Every (state, detail) that this application calls `word`, in any case."""
        table = {(state, ""): state.value for state in State} | dict(self.words)
        found = frozenset(key for key, known in table.items() if known.casefold() == word.casefold())
        if not found:
            raise InvalidPolicy("state", word, needs=f"one of {', '.join(sorted(set(table.values())))}")
        return found

    def state_for(self, word: str) -> frozenset[State]:
        """The states that `word` may stand for; for an unknown word `InvalidPolicy` lists the known ones."""
        return frozenset(state for state, _ in self.meanings(word))

    def rank(self, priority: int | str) -> int:
        """The engine's rank, 1 to 10 and lower first, for a priority as this application writes it."""
        return self.priority.rank(priority)

    def check_category(self, category: str) -> str:
        """The category, or `InvalidPolicy` when the profile declares others."""
        return _declared("category", category, self.categories)

    def check_lane(self, lane: str) -> str:
        """The lane, or `InvalidPolicy` when the profile declares others."""
        return _declared("lane", lane, self.lanes)


def _layer(fields: PolicyChange | PolicyFields) -> PolicyChange:
    return fields if isinstance(fields, PolicyChange) else PolicyChange(dict(fields))


def _declared(what: str, value: str, allowed: Iterable[str]) -> str:
    names = tuple(allowed)
    if names and value not in names:
        raise InvalidPolicy(what, value, needs=f"one of {', '.join(names)}")
    return value


_NO_CHANGE = PolicyChange()

DEFAULT = Profile(name="default")
