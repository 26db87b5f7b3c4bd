"""Which of the jobs in line may start now under their limits, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from backstay.model.job import Claim, JobId
from backstay.model.limits.declared import NO_TIME, Bound
from backstay.model.text.durations import written


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a limit is used: permits held, or until when tokens are spent."""

    in_use: int
    spent_until: datetime


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that could start but for its limits; `is_next` says that no older job of its ordering key is in line."""

    id: JobId
    queue: str
    kind: str
    bounds: tuple[Bound, ...]
    is_next: bool = True


@dataclass(frozen=True, slots=True)
class Parked:
    """A job that is put aside until there is room under one of its limits."""

    id: JobId
    key: str
    reason: str
    due: datetime | None = None


@dataclass(slots=True)
class Decision:
    """What becomes of the candidates.

    `full` are the (queue, kind) pairs of which none can start, with how long that will surely last, as far as it is
    known. `left` could have started, had there been a slot.
    """

    starts: list[Candidate] = field(default_factory=list)
    parks: list[Parked] = field(default_factory=list)
    left: list[Candidate] = field(default_factory=list)
    full: dict[tuple[str, str], timedelta | None] = field(default_factory=dict)
    spent: dict[str, datetime] = field(default_factory=dict)


def decide(
    candidates: Sequence[Candidate], usage: Mapping[str, Usage], *, at: datetime, room: int
) -> Decision:
    """Let jobs start in the order given, as far as every limit of each has room and there are slots."""
    decision, ledger = Decision(), _Ledger(usage, at)
    for candidate in candidates:
        pair = (candidate.queue, candidate.kind)
        if pair in decision.full:
            continue
        short = next((bound for bound in candidate.bounds if not ledger.has_room(bound, candidate)), None)
        if short is not None and short.is_shared:
            decision.full[pair] = ledger.wait(short)
        elif short is not None:
            decision.parks.append(_park(candidate, short, at, ledger))
        elif len(decision.starts) < room:
            ledger.take(candidate.bounds)
            decision.starts.append(candidate)
        else:
            decision.left.append(candidate)
    decision.spent = ledger.spent
    return decision


def tokens(most: int, every: timedelta, spent_until: datetime, at: datetime) -> int:
    """How many jobs may start now; as if none were left where the clock was set back."""
    used = min(max(spent_until - at, NO_TIME), most * every)
    return (most * every - used) // every


def next_token(
    most: int, every: timedelta, spent_until: datetime, at: datetime, *, cost: int = 1
) -> timedelta:
    """How long until a job may start that takes this many tokens."""
    used = min(max(spent_until - at, NO_TIME), most * every)
    return max(used - (most - cost) * every, NO_TIME)


def spend(every: timedelta, spent_until: datetime, at: datetime, *, most: int, cost: int = 1) -> datetime:
    """Until when tokens are spent after one more start."""
    return at + min(max(spent_until - at, NO_TIME), most * every) + every * cost


def room_under(most: int, every: timedelta, usage: Usage, at: datetime) -> int:
    """How many more jobs may start under a limit."""
    if every > NO_TIME:
        return tokens(most, every, usage.spent_until, at)
    return max(most - usage.in_use, 0)


class _Ledger:
    """Usage as it changes while jobs are let start."""

    def __init__(self, usage: Mapping[str, Usage], at: datetime) -> None:
        self._at = at
        self._in_use = {key: used.in_use for key, used in usage.items()}
        self._spent = {key: used.spent_until for key, used in usage.items()}
        self.spent: dict[str, datetime] = {}

    def has_room(self, bound: Bound, candidate: Candidate) -> bool:
        if bound.is_ordered and not candidate.is_next:
            return False
        if bound.is_rate:
            return tokens(bound.most, bound.every, self._spent[bound.key], self._at) >= bound.cost
        return self._in_use[bound.key] < bound.most

    def wait(self, bound: Bound) -> timedelta | None:
        if not bound.is_rate:
            return None
        return next_token(bound.most, bound.every, self._spent[bound.key], self._at, cost=bound.cost)

    def take(self, bounds: Sequence[Bound]) -> None:
        for bound in bounds:
            if bound.is_rate:
                until = spend(bound.every, self._spent[bound.key], self._at, most=bound.most, cost=bound.cost)
                self._spent[bound.key] = self.spent[bound.key] = until
            else:
                self._in_use[bound.key] += 1


def _park(candidate: Candidate, bound: Bound, at: datetime, ledger: _Ledger) -> Parked:
    wait = ledger.wait(bound)
    if wait is not None:
        rate = f"{bound.most} at once, then one every {written(bound.every)}"
        return Parked(candidate.id, bound.key, f"limit: {bound.key} is out of tokens ({rate})", at + wait)
    if bound.is_ordered and not candidate.is_next:
        return Parked(candidate.id, bound.key, f"limit: an older job of {bound.key} comes first")
    return Parked(candidate.id, bound.key, f"limit: {bound.key} is full ({bound.most} at a time)")


@dataclass(frozen=True, slots=True)
class Claimed:
    """What came of a claim under limits.

    `waits` are the pairs of which none can start, with how long that surely lasts where it is known; in the queues
    `left` jobs could start if somebody had a slot; `is_late` says that jobs wait for a token to come.
    """

    claims: list[Claim] = field(default_factory=list)
    waits: Mapping[tuple[str, str], timedelta | None] = field(default_factory=dict)
    left: frozenset[str] = frozenset()
    is_late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRecord:
    """A limit as it is now: permits in use of `most`, or `tokens` left of which one comes `every` so often.

    `waiting` jobs are counted up to a limit; where it `is_capped` more of them wait.
    """

    key: str
    most: int
    every: timedelta | None
    in_use: int
    tokens: int | None
    waiting: int
    next_at: datetime | None
    is_capped: bool = False


@dataclass(frozen=True, slots=True)
class PermitHolder:
    """A job that holds a permit, and who runs it."""

    job_id: JobId
    kind: str
    worker: str | None
    started_at: datetime
