"""An application's own words and numbers: its status names, categories, lanes and priority direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from backstay.errors import InvalidPolicy
from backstay.model.classify import ErrorRules
from backstay.model.policy.policy import PolicyChange, PolicyFields
from backstay.model.state_match import StateMatch, state_match
from backstay.model.states import WAITING, State

Places = tuple[str, ...] | Mapping[str, Sequence[str]]
"""Names of lanes or categories; a mapping says for which kinds each is."""

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
    Empty `categories` or `lanes` allow any. Otherwise a job's queue must be a lane and its category, if it has one,
    a category: for all kinds, or where they are mappings for the kinds that they name (none stands for all). The
    database refuses others as well, once `backstay db migrate --app` has told it.
    Policies are written as dictionaries of policy fields.
    """

    name: str
    words: Mapping[tuple[State, str], str] = field(default_factory=dict)
    policy: PolicyChange | PolicyFields = field(default_factory=PolicyChange)
    queues: Mapping[str, PolicyChange | PolicyFields] = field(default_factory=dict)
    categories: Places = ()
    lanes: Places = ()
    priority: PriorityScale = field(default_factory=PriorityScale)
    tenant_alias: str = "tenant"
    rules: ErrorRules = field(default_factory=ErrorRules)

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

    def match(self, wanted: State | str | Iterable[State | str]) -> StateMatch:
        """The jobs that are in these states or are called by these words; an unknown word raises InvalidPolicy."""
        asked = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        return state_match(self.words, [self._known(one) for one in asked], retrying=RETRYING)

    def _known(self, asked: State | str) -> State | str:
        """The word, or the state whose own name it is where the application has no such word."""
        if isinstance(asked, State):
            return asked
        try:
            self.meanings(asked)
        except InvalidPolicy:
            if asked not in set(State):
                raise
            return State(asked)
        return asked

    def rank(self, priority: int | str) -> int:
        """The engine's rank, 1 to 10 and lower first, for a priority as this application writes it."""
        return self.priority.rank(priority)

    @property
    def has_places(self) -> bool:
        """Whether it declares lanes or categories, so that jobs have to be in them."""
        return bool(self.lanes or self.categories)

    def check_category(self, category: str, kind: str = "") -> str:
        """The category, or `InvalidPolicy` when the profile declares others, or this one for other kinds."""
        return _declared("category", category, places(self.categories), kind)

    def check_lane(self, lane: str, kind: str = "") -> str:
        """The lane, or `InvalidPolicy` when the profile declares others, or this one for other kinds."""
        return _declared("lane", lane, places(self.lanes), kind)


def _layer(fields: PolicyChange | PolicyFields) -> PolicyChange:
    return fields if isinstance(fields, PolicyChange) else PolicyChange(dict(fields))


def places(declared: Places) -> dict[str, tuple[str, ...]]:
    """Lanes or categories with the kinds that each is for; no kinds stand for all."""
    if isinstance(declared, Mapping):
        return {name: tuple(kinds) for name, kinds in declared.items()}
    return dict.fromkeys(declared, ())


def _declared(what: str, value: str, allowed: Mapping[str, tuple[str, ...]], kind: str) -> str:
    fitting = [name for name, kinds in allowed.items() if not kinds or not kind or kind in kinds]
    if allowed and value not in fitting:
        whose = f" for {kind!r}" if kind else ""
        raise InvalidPolicy(what, value, needs=f"one of {', '.join(fitting) or 'none'}{whose}")
    return value


_NO_CHANGE = PolicyChange()

DEFAULT = Profile(name="default")
