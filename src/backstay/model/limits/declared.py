"""What may be limited: how many jobs run at the same time, how many start per period, and in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, TypedDict

from backstay.errors import InvalidSettings
from backstay.model.limits.keys import (
    LONGEST_KEY,
    TENANT,
    KeyProblem,
    bounded,
    check_template,
    fields,
    filled,
)
from backstay.model.text.durations import duration, written

OnRetry = Literal["block", "yield"]
OnUncertainLease = Literal["cancel", "continue"]

MOST = 1_000_000
LONGEST_PERIOD = timedelta(days=31)
NO_TIME = timedelta(0)
ORDER = "order "

_RATE = re.compile(r"\s*([0-9]+)\s*/\s*([0-9]*(?:\.[0-9]+)?)\s*(ms|s|m|h|d)\s*")
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` jobs at the same time: of the whole kind, or of each key that the arguments give.

    >>> Limit(3, key="customer:{customer_id}")

    Kinds whose keys come to the same text share its permits.
    """

    most: int
    key: str | None = None

    def __post_init__(self) -> None:
        _check_number("limit", self.most)
        check_template("limit", self.key)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most this many starts per period, by the database's clock: "100/m", "5/s", "1/10s".

    Tokens come evenly, and up to `burst` of them are kept (one if left out): in any stretch of time at most
    rate × time + burst jobs start. With a `key` every key has tokens of its own.

    With `cost`, the name of an argument that holds a whole number, a start takes that many tokens instead of one:
    `Rate("90000/m", burst=20000, cost="tokens")`. One that costs more than `burst` waits until all of it is there.
    """

    rate: str
    burst: int = 1
    key: str | None = None
    cost: str | None = None

    def __post_init__(self) -> None:
        self.every  # noqa: B018  # reading it checks it
        _check_number("burst", self.burst)
        check_template("rate", self.key)
        if self.cost is not None and not str(self.cost).isidentifier():
            raise InvalidSettings(f"cost cannot be {self.cost!r}: it is the name of an argument")

    @property
    def every(self) -> timedelta:
        """How often a token comes; rounded up, so that there are never more than asked for."""
        found = _RATE.fullmatch(str(self.rate))
        if found is None or not int(found[1]):
            raise InvalidSettings(
                f'rate cannot be {self.rate!r}: write a number of starts and a time, such as "100/m" or "1/10s"'
            )
        period = duration(f"{found[2] or 1}{found[3]}", field="rate")
        if not _MICROSECOND <= period <= LONGEST_PERIOD:
            raise InvalidSettings(f"rate cannot be {self.rate!r}: its time is above zero and at most 31 days")
        return timedelta(microseconds=-(-(period // _MICROSECOND) // int(found[1])))


class LimitFields(TypedDict, total=False):
    """What `@app.job(…)` takes about limits."""

    limit: int | Limit | Sequence[Limit]
    rate: str | Rate | Sequence[Rate]
    ordered_by: str
    on_retry: OnRetry
    on_uncertain_lease: OnUncertainLease


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit that a job is under: `most` permits, or tokens of which one comes `every` so often.

    `is_shared` says that every job of a queue or kind is under it: then none has to be put aside, they are simply
    not asked for.
    """

    key: str
    most: int
    every: timedelta = NO_TIME
    is_shared: bool = False
    is_ordered: bool = False
    yields: bool = False
    cost_of: str | None = None
    """The argument that says how many tokens a job takes."""
    cost: int = 1

    @property
    def is_rate(self) -> bool:
        """Whether it counts starts and not what runs."""
        return self.every > NO_TIME

    def __str__(self) -> str:
        if self.is_rate:
            return f"{self.key} ({self.most} at once, then one every {written(self.every)})"
        return f"{self.key} ({self.most} at a time)"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLimits:
    """What a kind declares: limits of the whole kind, of keys from its arguments, and the order within a key."""

    limit: int | None = None
    key_limit: Limit | None = None
    rate: Rate | None = None
    key_rate: Rate | None = None
    ordered_by: str | None = None
    on_retry: OnRetry = "block"
    on_uncertain_lease: OnUncertainLease | None = None

    @property
    def templates(self) -> tuple[str, ...]:
        """Every text that arguments are filled into."""
        keyed = (self.key_limit and self.key_limit.key, self.key_rate and self.key_rate.key, self.ordered_by)
        return tuple(text for text in keyed if text)

    @property
    def stops_when_uncertain(self) -> bool:
        """Whether a handler is stopped when nobody can tell any more whether its lease still holds."""
        if self.on_uncertain_lease is not None:
            return self.on_uncertain_lease == "cancel"
        return self.key_limit is not None or self.ordered_by is not None

    def __bool__(self) -> bool:
        return any((self.limit, self.key_limit, self.rate, self.key_rate, self.ordered_by))


NO_LIMITS = KindLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """What a queue declares: across all workers, and on each worker by itself."""

    limit: int | None = None
    rate: Rate | None = None
    per_worker: int | None = None


@dataclass(frozen=True, slots=True)
class PairLimits:
    """What the jobs of one kind in one queue are under."""

    shared: tuple[Bound, ...] = ()
    kind: KindLimits = NO_LIMITS

    def __bool__(self) -> bool:
        return bool(self.shared or self.kind.templates)

    def of(
        self, arguments: Mapping[str, Any], tenant: str, order_key: str | None = None
    ) -> tuple[Bound, ...]:
        """Every bound of a job with these arguments; `order_key` is the one it was stored with.

        Arguments that cannot fill a key are the handler's to refuse, so such a job is under what it shares alone.
        """
        shared = tuple(costing(bound, arguments) for bound in self.shared)
        try:
            return shared + self._own(arguments, tenant, order_key)
        except KeyProblem:
            return shared

    def _own(self, arguments: Mapping[str, Any], tenant: str, order_key: str | None) -> tuple[Bound, ...]:
        kind, bounds = self.kind, []
        if kind.key_limit is not None and kind.key_limit.key:
            text = bounded(filled(kind.key_limit.key, arguments, tenant))
            bounds.append(Bound(f"key {text}", kind.key_limit.most))
        if kind.ordered_by is not None:
            text = order_key or bounded(filled(kind.ordered_by, arguments, tenant))
            bounds.append(order_bound(text, kind.on_retry))
        if kind.key_rate is not None and kind.key_rate.key:
            text = bounded(filled(kind.key_rate.key, arguments, tenant))
            rate = kind.key_rate
            known = Bound(f"rate key {text}", rate.burst, rate.every, cost_of=rate.cost)
            bounds.append(costing(known, arguments))
        return tuple(bounds)


UNLIMITED = PairLimits()


def costing(bound: Bound, arguments: Mapping[str, Any]) -> Bound:
    """The bound with what this job takes of it: one token, unless an argument holds another whole number."""
    if bound.cost_of is None:
        return bound
    given = arguments.get(bound.cost_of)
    cost = given if isinstance(given, int) and not isinstance(given, bool) else 1
    return replace(bound, cost=min(max(cost, 1), bound.most))


def order_bound(text: str, on_retry: OnRetry) -> Bound:
    """The bound of an ordering key: one at a time, the oldest first."""
    return Bound(ORDER + text, 1, is_ordered=True, yields=on_retry == "yield")


def declared(kind: str, given: Mapping[str, Any]) -> KindLimits:
    """The limits of a kind from what `@app.job(…)` was given; raises InvalidSettings for what cannot be."""
    limits, rates = _each_limit(given.get("limit")), _each_rate(given.get("rate"))
    key_limits, key_rates = [one for one in limits if one.key], [one for one in rates if one.key]
    whole_limits, whole_rates = [one for one in limits if not one.key], [one for one in rates if not one.key]
    for what, found in (("limit", key_limits), ("rate", key_rates)):
        if len(found) > 1:
            raise InvalidSettings(f"{kind!r} has {len(found)} keys for {what}: put all into one key")
    for what, whole in (("limit", whole_limits), ("rate", whole_rates)):
        if len(whole) > 1:
            raise InvalidSettings(f"{kind!r} has {len(whole)} numbers for {what}: the smallest one is enough")
    check_template("ordered_by", given.get("ordered_by"))
    _check_choice("on_retry", given.get("on_retry", "block"), ("block", "yield"))
    _check_choice("on_uncertain_lease", given.get("on_uncertain_lease"), (None, "cancel", "continue"))
    if "on_retry" in given and given.get("ordered_by") is None:
        raise InvalidSettings(f"on_retry of {kind!r} says how jobs in order wait: give ordered_by as well")
    return KindLimits(
        limit=whole_limits[0].most if whole_limits else None,
        key_limit=key_limits[0] if key_limits else None,
        rate=whole_rates[0] if whole_rates else None,
        key_rate=key_rates[0] if key_rates else None,
        ordered_by=given.get("ordered_by"),
        on_retry=given.get("on_retry", "block"),
        on_uncertain_lease=given.get("on_uncertain_lease"),
    )


def shared_keys(queue: str, kind: str) -> list[str]:
    """The limits that every job of a kind in a queue may be under."""
    names = ["all", f"queue {queue}", f"kind {kind}"]
    return [*names, *(f"rate {name}" for name in names[1:])]


def queue_limits(
    queue: str, *, limit: int | None, rate: str | Rate | None, per_worker: int | None
) -> QueueLimits:
    """The limits of a queue; raises InvalidSettings for what cannot be."""
    if limit is not None:
        _check_number("limit", limit)
    if per_worker is not None:
        _check_number("per_worker", per_worker)
    found = Rate(rate) if isinstance(rate, str) else rate
    if found is not None and found.key:
        raise InvalidSettings(
            f"the rate of queue {queue!r} cannot have a key: kinds have arguments, queues do not"
        )
    if found is not None and found.cost:
        raise InvalidSettings(
            f"the rate of queue {queue!r} cannot have a cost: kinds have arguments, queues do not"
        )
    return QueueLimits(limit=limit, rate=found, per_worker=per_worker)


def refuse_unknown(kind: str, limits: KindLimits, names: Sequence[str], defaults: Mapping[str, Any]) -> None:
    """Raise InvalidSettings when a key is made of what the handler does not always take."""
    for rate in (limits.rate, limits.key_rate):
        if rate is not None and rate.cost is not None and rate.cost not in names:
            raise InvalidSettings(
                f"{kind!r} cannot have the cost {rate.cost!r}: it takes no such argument, "
                f"only {', '.join(names) or 'none'}"
            )
    for template in limits.templates:
        for name in fields(template):
            if name == TENANT and name not in names:
                continue
            if name not in names:
                raise InvalidSettings(
                    f"{kind!r} cannot have the key {template!r}: it takes no argument {name!r}, "
                    f"only {', '.join(names) or 'none'}"
                )
            if name in defaults:
                raise InvalidSettings(
                    f"{kind!r} cannot have the key {template!r}: {name!r} has a default, so that jobs may be stored "
                    "without it; drop the default"
                )


def key_problem(limits: KindLimits, arguments: Mapping[str, Any]) -> KeyProblem | None:
    """Why a job with these arguments cannot be counted; None when it can."""
    for template in limits.templates:
        try:
            key = filled(template, arguments)
        except KeyProblem as problem:
            return problem
        if len(key) > LONGEST_KEY:
            return KeyProblem(
                fields(template)[-1],
                f"the key {key[:40]!r}… has {len(key)} characters, at most {LONGEST_KEY}",
            )
    return None


def pair_limits(
    queue: str, kind: str, limits: KindLimits, of_queue: QueueLimits | None, ceiling: int | None
) -> PairLimits:
    """What the jobs of a kind in a queue are under, the widest first."""
    above = of_queue or QueueLimits()
    shared = [] if ceiling is None else [Bound("all", ceiling, is_shared=True)]
    for name, limit, rate in (
        (f"queue {queue}", above.limit, above.rate),
        (f"kind {kind}", limits.limit, limits.rate),
    ):
        if limit is not None:
            shared.append(Bound(name, limit, is_shared=True))
        if rate is not None:
            tokens = Bound(f"rate {name}", rate.burst, rate.every, is_shared=True, cost_of=rate.cost)
            shared.append(tokens)
    return PairLimits(tuple(shared), limits)


def _each_limit(given: object) -> list[Limit]:
    if given is None:
        return []
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [one for item in given for one in _each_limit(item)]
    return [given if isinstance(given, Limit) else Limit(given)]  # type: ignore[arg-type]  # it checks what it is given


def _each_rate(given: object) -> list[Rate]:
    if given is None:
        return []
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [one for item in given for one in _each_rate(item)]
    return [given if isinstance(given, Rate) else Rate(given)]  # type: ignore[arg-type]  # it checks what it is given


def _check_number(what: str, number: object) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST:
        raise InvalidSettings(
            f"{what} cannot be {number!r}: it is a whole number from 1 to {MOST:,}; to stop a queue or kind, pause it"
        )


def _check_choice(what: str, choice: object, allowed: tuple[str | None, ...]) -> None:
    if choice not in allowed:
        words = " or ".join(repr(word) for word in allowed if word is not None)
        raise InvalidSettings(f"{what} cannot be {choice!r}: it is {words}")
