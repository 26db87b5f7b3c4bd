"""What may be limited: how many jobs run at the same time, how many start in a while, and in which order."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict

from windlass.durations import duration, written
from windlass.errors import InvalidSettings

OnRetry = Literal["block", "yield"]
OnUncertainLease = Literal["cancel", "continue"]

MOST = 1_000_000
LONGEST_KEY = 200
LONGEST_PERIOD = timedelta(days=31)
NO_TIME = timedelta(0)
TENANT = "tenant"
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
        _check_template("limit", self.key)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many starts in a while, by the database's clock: "100/m", "5/s", "1/10s".

    Tokens come evenly, and up to `burst` of them are kept (one if left out): in any stretch of time at most
    rate × time + burst jobs start. With a `key` every key has tokens of its own.
    """

    rate: str
    burst: int = 1
    key: str | None = None

    def __post_init__(self) -> None:
        self.every  # noqa: B018  # reading it checks it
        _check_number("burst", self.burst)
        _check_template("rate", self.key)

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
        try:
            return self.shared + self._own(arguments, tenant, order_key)
        except KeyProblem:
            return self.shared

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
            bounds.append(Bound(f"rate key {text}", kind.key_rate.burst, kind.key_rate.every))
        return tuple(bounds)


UNLIMITED = PairLimits()


class KeyProblem(ValueError):
    """An argument cannot be part of a key."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


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
    _check_template("ordered_by", given.get("ordered_by"))
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
    return QueueLimits(limit=limit, rate=found, per_worker=per_worker)


def refuse_unknown(kind: str, limits: KindLimits, names: Sequence[str], defaults: Mapping[str, Any]) -> None:
    """Raise InvalidSettings when a key is made of what the handler does not always take."""
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


def fields(template: str) -> list[str]:
    """The arguments that a key is made of."""
    return [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]


def filled(template: str, arguments: Mapping[str, Any], tenant: str = "") -> str:
    """The key of a job; raises KeyProblem for an argument that cannot be part of one."""
    parts = []
    for text, name, _, _ in string.Formatter().parse(template):
        parts.append(text)
        if name is not None:
            given = tenant if name == TENANT and name not in arguments else arguments.get(name)
            parts.append(_part(name, given))
    return "".join(parts)


def bounded(key: str) -> str:
    """The key itself, or what stands for one that is too long to be kept."""
    if len(key) <= LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[: LONGEST_KEY - 65]}~{digest}"


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
            shared.append(Bound(f"rate {name}", rate.burst, rate.every, is_shared=True))
    return PairLimits(tuple(shared), limits)


def _part(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return value
        case _:
            raise KeyProblem(name, f"a key is made of text, whole numbers and booleans, not {_shown(value)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


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


def _check_template(what: str, template: object) -> None:
    if template is None:
        return
    if not isinstance(template, str) or not 1 <= len(template) <= LONGEST_KEY or not template.isprintable():
        raise InvalidSettings(
            f'the key of {what} cannot be {template!r:.80}: it is text such as "customer:{{customer_id}}", '
            f"at most {LONGEST_KEY} characters"
        )
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise InvalidSettings(f"the key of {what} cannot be {template!r}: {error}") from None
    names = [name for _, name, _, _ in parts if name is not None]
    odd = [
        name
        for _, name, form, change in parts
        if name is not None and (form or change or not name.isidentifier())
    ]
    if odd or not names or "{{" in template or "}}" in template:
        raise InvalidSettings(
            f"the key of {what} cannot be {template!r}: it names arguments in braces, as in "
            '"customer:{customer_id}", and nothing else inside them'
        )
