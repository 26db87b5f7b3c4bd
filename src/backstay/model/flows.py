"""What a job that depends on others waits for, and what becomes of it when they have ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Any

from backstay.errors import InvalidFlow
from backstay.model.job import JobId, NewJob
from backstay.model.states import FINISHED, State

MOST_PARENTS = 1000
MOST_JOBS = 10_000
WAITS = "waits for its parents"
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "contains", "exists")

_ORDERS = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
_MISSING = object()


class DependencyType(StrEnum):
    """What of its parent a job waits for."""

    COMPLETION = "completion"
    """Its end, whichever: completed, dead, cancelled or resolved."""
    SUCCESS = "success"
    DATA = "data"
    """Its success, and its result becomes an argument."""
    CONDITIONAL = "conditional"
    """Its success, with a result for which a condition holds."""


class OnFailure(StrEnum):
    """What becomes of a job whose parent did not complete."""

    CANCEL = "cancel"
    RUN = "run"
    HOLD = "hold"


class Verdict(StrEnum):
    """What was decided about a dependency; it is decided once."""

    MET = "met"
    CANCEL = "cancel"
    RUN = "run"
    HOLD = "hold"
    VOID = "void"
    """The job did not wait for it any more: it was released or ended in another way."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of one value in a result, found by a JSON pointer (RFC 6901), with a value given."""

    at: str
    operator: str
    value: Any = None

    def __post_init__(self) -> None:
        _check_pointer(self.at)
        if self.operator not in OPERATORS:
            raise InvalidFlow(
                f"the operator {self.operator!r} is not known: use one of {', '.join(OPERATORS)}"
            )

    def __str__(self) -> str:
        if self.operator == "exists":
            return f"{self.at or 'the result'} exists"
        return f"{self.at or 'the result'} {self.operator} {self.value!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One job waits for another one; `place` is where in its arguments the parent's result belongs."""

    job_id: JobId
    parent_id: JobId
    type: DependencyType = DependencyType.SUCCESS
    on_failure: OnFailure = OnFailure.CANCEL
    place: str = ""
    condition: Condition | None = None

    def __post_init__(self) -> None:
        if self.job_id == self.parent_id:
            raise InvalidFlow(f"job {self.job_id} cannot wait for itself: name another job as its parent")
        if (self.type is DependencyType.DATA) != (self.place != ""):
            raise InvalidFlow(
                "a dependency of type data needs a place in the arguments, and no other may have one"
            )
        if (self.type is DependencyType.CONDITIONAL) != (self.condition is not None):
            raise InvalidFlow("a conditional dependency needs a condition, and no other may have one")
        _check_pointer(self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFlow:
    """Jobs and what they wait for, ready to be stored together.

    `name` is None for jobs that belong to no flow, or to the one of the job that adds them: `within` is that job and
    the epoch of its claim. `callback_id` is the job that waits for all others.
    """

    id: JobId
    tenant: str
    jobs: Sequence[NewJob]
    dependencies: Sequence[Dependency]
    name: str | None = None
    labels: Mapping[JobId, str]
    callback_id: JobId | None = None
    within: tuple[JobId, int] | None = None
    created_by: str | None = None

    @property
    def outside(self) -> list[JobId]:
        """The parents that are stored already, or claimed to be."""
        own = {job.id for job in self.jobs}
        return sorted({one.parent_id for one in self.dependencies} - own)


def with_found(flow: NewFlow, found: Mapping[JobId, JobId]) -> NewFlow:
    """The flow with jobs that a key has found in the place of those that it was to store.

    These wait for nothing of the flow: they are on their way already, or have ended.
    """
    if not found:
        return flow
    ties = {
        (one.job_id, parent, one.place): replace(one, parent_id=parent)
        for one in flow.dependencies
        if one.job_id not in found and (parent := found.get(one.parent_id, one.parent_id)) != one.job_id
    }
    return replace(
        flow,
        jobs=[job for job in flow.jobs if job.id not in found],
        dependencies=list(ties.values()),
        callback_id=None if flow.callback_id in found else flow.callback_id,
    )


@dataclass(frozen=True, slots=True)
class Followed:
    """What came of following jobs that ended: queues with jobs released, and jobs that ended and are awaited.

    `problem` says why it could not be done now; the regular sweep does it then.
    """

    queues: frozenset[str] = frozenset()
    awaited: frozenset[JobId] = frozenset()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class DependencyRecord:
    """A dependency as it is stored; without a verdict it is open."""

    dependency: Dependency
    verdict: Verdict | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowJob:
    """A job of a flow, as an overview shows it."""

    id: JobId
    kind: str
    queue: str
    state: State
    reason: str | None
    label: str | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRecord:
    """A flow as it is stored, and how many of its jobs are in which state."""

    id: JobId
    tenant: str
    name: str
    callback_id: JobId | None
    created_by: str | None
    created_at: datetime
    jobs: Mapping[State, int]

    @property
    def total(self) -> int:
        """How many jobs it has."""
        return sum(self.jobs.values())

    @property
    def ended(self) -> int:
        """How many of them no worker will touch any more."""
        return sum(number for state, number in self.jobs.items() if state in FINISHED)

    @property
    def is_finished(self) -> bool:
        """Whether all of them have ended."""
        return self.ended == self.total


def decide(dependency: Dependency, state: State, result: Any = None) -> Verdict | None:
    """What a parent in this state means for the job that waits for it; None while that is open.

    A dead parent leaves it open, because a person may retry it: only who wants no more than its end, or runs anyway,
    goes on. A condition that does not hold is a branch not taken, whatever the policy for failures.
    """
    match state:
        case State.COMPLETED:
            condition = dependency.condition
            return Verdict.MET if condition is None or holds(condition, result) else Verdict.CANCEL
        case State.DEAD:
            if dependency.type is DependencyType.COMPLETION:
                return Verdict.MET
            return Verdict.RUN if dependency.on_failure is OnFailure.RUN else None
        case State.CANCELLED | State.RESOLVED:
            if dependency.type is DependencyType.COMPLETION:
                return Verdict.MET
            return Verdict(dependency.on_failure.value)
        case _:
            return None


def why(dependency: Dependency, state: State) -> str:
    """The reason that a job gets from a dependency that keeps it, in words for a person."""
    parent = f"parent {dependency.parent_id}"
    match state:
        case State.COMPLETED:
            return f"{parent} completed, but {dependency.condition} does not hold"
        case State.DEAD:
            return f"{parent} is dead: this job goes on when that one is retried and completes"
        case State.RESOLVED:
            return f"{parent} died and was closed without another run"
        case _:
            return f"{parent} was {state.value}"


def holds(condition: Condition, result: Any) -> bool:
    """Whether the condition holds for a result; values of different types are never equal nor in order."""
    found = find(result, condition.at)
    if condition.operator == "exists":
        return (found is not _MISSING) is (condition.value is not False)
    if found is _MISSING:
        return False
    match condition.operator:
        case "==":
            return _is_same(found, condition.value)
        case "!=":
            return not _is_same(found, condition.value)
        case "in":
            return _has(condition.value, found)
        case "contains":
            return _has(found, condition.value)
        case order:
            in_order = _sort(found) == _sort(condition.value) and _sort(found) in ("number", "text")
            return in_order and bool(_ORDERS[order](found, condition.value))


def find(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer, or a value that is nothing else if there is none."""
    found = document
    for part in parts(pointer):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return _MISSING
    return found


def fill(document: Any, values: Iterable[tuple[str, Any]]) -> Any:
    """The document with these values at these pointers; each place must be there."""
    for pointer, value in values:
        *path, last = parts(pointer)
        found = find(document, "".join(f"/{_escaped(part)}" for part in path))
        if isinstance(found, dict):
            found[last] = value
        elif isinstance(found, list) and last.isdigit() and int(last) < len(found):
            found[int(last)] = value
        else:
            raise InvalidFlow(f"the arguments have no place {pointer} for a parent's result")
    return document


def pointer_of(path: Sequence[str | int]) -> str:
    """The JSON pointer of a path."""
    return "".join(f"/{_escaped(str(part))}" for part in path)


def parts(pointer: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def in_order(parents: Mapping[str, Iterable[str]]) -> list[str]:
    """The names so that each comes after its parents; raises InvalidFlow that names an unknown one or the cycle."""
    for name, needed in parents.items():
        for parent in needed:
            if parent == name:
                raise InvalidFlow(f"{name!r} cannot wait for itself: name another job as its parent")
            if parent not in parents:
                raise InvalidFlow(
                    f"{name!r} waits for {parent!r}, which is not part of the flow: add it, or correct the name"
                )
    try:
        return list(
            TopologicalSorter({name: list(needed) for name, needed in parents.items()}).static_order()
        )
    except CycleError as error:
        # Each waits for the one before it.
        cycle = " → ".join(repr(name) for name in error.args[1])
        raise InvalidFlow(
            f"the jobs wait for one another in a circle, {cycle}: leave one of these out"
        ) from None


def check_sizes(jobs: int, dependencies: Iterable[Dependency], *, name: str = "the flow") -> None:
    """Raise InvalidFlow for more jobs, or more parents of one job, than a flow may have."""
    if jobs > MOST_JOBS:
        raise InvalidFlow(f"{name} has {jobs:,} jobs, the limit is {MOST_JOBS:,}: cut it into several flows")
    parents: dict[JobId, set[JobId]] = {}
    for one in dependencies:
        parents.setdefault(one.job_id, set()).add(one.parent_id)
    for job_id, needed in parents.items():
        if len(needed) > MOST_PARENTS:
            raise InvalidFlow(
                f"job {job_id} has {len(needed):,} parents, the limit is {MOST_PARENTS:,}: "
                "gather them in groups, with a job for each group"
            )


def _check_pointer(pointer: str) -> None:
    if pointer and not pointer.startswith("/"):
        raise InvalidFlow(f"{pointer!r} is no JSON pointer: write /name, /list/0, or '' for the whole")


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _is_same(left: Any, right: Any) -> bool:
    return _sort(left) == _sort(right) and bool(left == right)


def _has(many: Any, one: Any) -> bool:
    if isinstance(many, str):
        return isinstance(one, str) and one in many
    if isinstance(many, dict):
        return isinstance(one, str) and one in many
    return isinstance(many, list | tuple) and any(_is_same(item, one) for item in many)


def _sort(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case None:
            return "null"
        case list() | tuple():
            return "array"
        case _:
            return "object"
