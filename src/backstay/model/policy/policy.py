"""Every number of the engine, and how layers of them become one policy.

Layers, later ones win: built-in default → profile → queue → kind → error class → job.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from backstay.errors import InvalidPolicy
from backstay.model.backoff import Backoff
from backstay.model.checks import (
    Check,
    at_least,
    flag,
    length,
    number,
    optional,
    positive,
    refuse_unknown,
    whole,
)
from backstay.model.classify import ErrorClass
from backstay.model.text.durations import Duration, duration, seconds

__all__ = [
    "CHECKS",
    "ClassRule",
    "Duration",
    "Policy",
    "PolicyChange",
    "PolicyFields",
    "change",
    "duration",
    "for_error",
    "for_job",
    "from_json",
    "merge",
    "overridden",
    "resolve",
    "to_json",
]


@dataclass(frozen=True, slots=True)
class ClassRule:
    """What differs for one class of errors; None leaves the policy's own number in place."""

    retry: bool = True
    max_attempts: int | None = None
    backoff: Backoff | None = None

    def __post_init__(self) -> None:
        flag("retry", self.retry)
        optional(whole(1, 1000))("max_attempts", self.max_attempts)
        object.__setattr__(self, "backoff", optional(_backoff)("backoff", self.backoff))


_HOPELESS_CLASSES = (
    ErrorClass.VALIDATION_ERROR,
    ErrorClass.AUTHENTICATION_ERROR,
    ErrorClass.NOT_FOUND,
    ErrorClass.PERMISSION_DENIED,
    ErrorClass.INVALID_INPUT,
    ErrorClass.RESULT_INVALID,
)


def _default_classes() -> dict[str, ClassRule]:
    # Only "never again" by default: a class that also brought numbers would silently outvote a kind's own.
    return {name.value: ClassRule(retry=False) for name in _HOPELESS_CLASSES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A complete set of numbers for one job, kind, queue or worker; checked when made."""

    max_attempts: int = 4
    backoff: Backoff = field(default_factory=Backoff)
    lease: timedelta = timedelta(seconds=60)
    renew_every: timedelta = timedelta(seconds=20)
    timeout: timedelta = timedelta(seconds=300)
    max_timeout: timedelta = timedelta(seconds=3600)
    timeout_growth: float = 1.5
    max_crashes: int = 3
    priority: int = 5
    ageing_step: timedelta = timedelta(hours=1)
    cancel_running: bool = True
    retry_unknown: bool = True
    exhausted_wins: bool = False
    classes: Mapping[str, ClassRule] = field(default_factory=_default_classes)
    expires_after: timedelta | None = None
    deadline_after: timedelta | None = None
    misfit_for: timedelta = timedelta(hours=24)
    postpone_above: int | None = None
    postpone_by: timedelta = timedelta(seconds=30)
    keep_completed: timedelta | None = timedelta(days=7)
    keep_cancelled: timedelta | None = timedelta(days=7)
    keep_resolved: timedelta | None = timedelta(days=30)
    keep_letters: timedelta | None = timedelta(0)
    transaction_limit: timedelta = timedelta(seconds=2)
    max_result_bytes: int = 1024 * 1024
    max_payload_bytes: int = 1024 * 1024
    concurrency: int = 5
    poll_busy: timedelta = timedelta(seconds=1)
    poll_idle: timedelta = timedelta(seconds=5)
    shutdown_grace: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        if self.renew_every * 2 > self.lease:
            raise InvalidPolicy(
                "renew_every", self.renew_every, needs=f"at most half the lease ({self.lease})"
            )
        if self.timeout > self.max_timeout:
            raise InvalidPolicy("timeout", self.timeout, needs=f"at most max_timeout ({self.max_timeout})")

    def rule_for(self, error_class: str) -> ClassRule:
        """The rule for errors of this class; a class without one is retried by the policy's own numbers."""
        rule = self.classes.get(error_class, _PLAIN_RULE)
        if error_class == ErrorClass.UNKNOWN and not self.retry_unknown:
            return replace(rule, retry=False)
        return rule


class PolicyFields(TypedDict, total=False):
    """The policy as keyword arguments, for `@app.job(timeout="30s", max_attempts=3)`."""

    max_attempts: int
    backoff: Backoff | Duration
    lease: Duration
    renew_every: Duration
    timeout: Duration
    max_timeout: Duration
    timeout_growth: float
    max_crashes: int
    priority: int
    ageing_step: Duration
    cancel_running: bool
    retry_unknown: bool
    exhausted_wins: bool
    classes: Mapping[str, ClassRule]
    expires_after: Duration | None
    deadline_after: Duration | None
    misfit_for: Duration
    postpone_above: int | None
    postpone_by: Duration
    keep_completed: Duration | None
    keep_cancelled: Duration | None
    keep_resolved: Duration | None
    keep_letters: Duration | None
    transaction_limit: Duration
    max_result_bytes: int
    max_payload_bytes: int
    concurrency: int
    poll_busy: Duration
    poll_idle: Duration
    shutdown_grace: Duration


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One layer: the fields it sets, checked one by one; what it leaves out comes from the layers below.

    A layer that sets `lease` alone also renews three times per lease, so that the pair always fits.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked = {name: _check(name, value) for name, value in self.fields.items()}
        if "lease" in checked:
            checked.setdefault("renew_every", checked["lease"] / 3)
        object.__setattr__(self, "fields", checked)

    def __bool__(self) -> bool:
        return bool(self.fields)

    @classmethod
    def of(cls, policy: Policy) -> PolicyChange:
        """Every field of a policy as one layer, to store effective numbers."""
        return cls({name: getattr(policy, name) for name in CHECKS})


def change(**values: Unpack[PolicyFields]) -> PolicyChange:
    """One layer from keyword arguments; unknown names and bad values raise `InvalidPolicy`."""
    return PolicyChange(dict(values))


def merge(*layers: PolicyChange | None) -> PolicyChange:
    """Several layers as one; later ones win, class by class and field by field."""
    merged: dict[str, Any] = {}
    for layer in layers:
        if layer is not None:
            classes = _merge_classes(merged.get("classes", {}), layer.fields.get("classes", {}))
            merged = {**merged, **layer.fields, **({"classes": classes} if classes else {})}
    return PolicyChange(merged)


def resolve(*layers: PolicyChange | None, job: PolicyChange | None = None) -> Policy:
    """The policy of a job: the default, changed by profile, queue and kind in this order, then by the job."""
    return for_job(_apply(Policy(), merge(*layers)), job)


def for_job(policy: Policy, job: PolicyChange | None) -> Policy:
    """The policy of one job, whose own layer outranks even the rules for error classes."""
    if not job:
        return policy
    # The job comes after the error class: numbers it names itself are struck from the class rules below it.
    names_attempts, names_backoff = "max_attempts" in job.fields, "backoff" in job.fields
    classes = {
        name: ClassRule(
            retry=rule.retry,
            max_attempts=None if names_attempts else rule.max_attempts,
            backoff=None if names_backoff else rule.backoff,
        )
        for name, rule in policy.classes.items()
    }
    return _apply(replace(policy, classes=classes), job)


def overridden(policy: Policy, *layers: PolicyChange) -> Policy:
    """The policy as operators have changed it; raises `InvalidPolicy` where numbers do not fit together."""
    return _apply(policy, merge(*layers))


def for_error(policy: Policy, error_class: str) -> Policy:
    """The policy as it stands after an error of this class."""
    rule = policy.rule_for(error_class)
    return replace(
        policy,
        max_attempts=policy.max_attempts if rule.max_attempts is None else rule.max_attempts,
        backoff=policy.backoff if rule.backoff is None else rule.backoff,
    )


def to_json(layer: PolicyChange | None) -> str | None:
    """A layer as it is stored: durations as `<field>_seconds`; None for a layer that changes nothing."""
    if not layer:
        return None
    stored = {_json_name(name): _to_plain(value) for name, value in layer.fields.items()}
    return json.dumps(stored, sort_keys=True, separators=(",", ":"))


def from_json(text: str | None) -> PolicyChange:
    """The layer that `to_json` wrote, checked again because plain SQL may have written it."""
    if text is None:
        return PolicyChange()
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict):
        raise InvalidPolicy("policy", text, needs="a JSON object of policy fields")
    names = {_json_name(name): name for name in CHECKS}
    refuse_unknown(stored, names)
    return PolicyChange({names[key]: _from_plain(names[key], value) for key, value in stored.items()})


def _apply(policy: Policy, layer: PolicyChange) -> Policy:
    if not layer:
        return policy
    changed = dict(layer.fields)
    if "classes" in changed:
        changed["classes"] = _merge_classes(policy.classes, changed["classes"])
    return replace(policy, **changed)


def _merge_classes(below: Mapping[str, ClassRule], above: Mapping[str, ClassRule]) -> dict[str, ClassRule]:
    merged = dict(below)
    for name, rule in above.items():
        under = merged.get(name, _PLAIN_RULE)
        merged[name] = ClassRule(
            retry=rule.retry,
            max_attempts=under.max_attempts if rule.max_attempts is None else rule.max_attempts,
            backoff=under.backoff if rule.backoff is None else rule.backoff,
        )
    return merged


_BACKOFF_KEYS = ("base_seconds", "multiplier", "cap_seconds", "jitter")
_RULE_KEYS = ("retry", "max_attempts", "backoff")


def _json_name(name: str) -> str:
    return f"{name}_seconds" if name in DURATIONS else name


def _to_plain(value: object) -> object:
    match value:
        case timedelta():
            return seconds(value)
        case Backoff(base=base, multiplier=multiplier, cap=cap, jitter=jitter):
            plain = (seconds(base), multiplier, _to_plain(cap), jitter)
            return dict(zip(_BACKOFF_KEYS, plain, strict=True))
        case ClassRule(retry=retry, max_attempts=limit, backoff=backoff):
            given = {"max_attempts": limit, "backoff": _to_plain(backoff)}
            return {"retry": retry} | {key: plain for key, plain in given.items() if plain is not None}
        case Mapping():
            return {key: _to_plain(inner) for key, inner in value.items()}
        case _:
            return value


def _from_plain(name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    match name:
        case "backoff":
            return _read_backoff(value)
        case "classes":
            return {key: _read_rule(key, rule) for key, rule in value.items()}
        case _:
            return value


def _read_backoff(stored: Mapping[str, Any]) -> Backoff:
    refuse_unknown(stored, _BACKOFF_KEYS, prefix="backoff.")
    return Backoff(**{key.removesuffix("_seconds"): value for key, value in stored.items()})


def _read_rule(name: str, stored: object) -> ClassRule:
    if not isinstance(stored, dict):
        raise InvalidPolicy(f"classes.{name}", stored, needs="an object with retry, max_attempts, backoff")
    refuse_unknown(stored, _RULE_KEYS, prefix=f"classes.{name}.")
    return ClassRule(**{key: _from_plain(key, value) for key, value in stored.items()})


def _check(name: str, value: object) -> Any:
    refuse_unknown({name: value}, CHECKS)
    return CHECKS[name](name, value)


def _backoff(name: str, value: object) -> Backoff:
    if isinstance(value, Backoff):
        return value
    if isinstance(value, str | timedelta):
        return Backoff(value)
    raise InvalidPolicy(
        name, value, needs='a duration, or a Backoff such as Backoff("2s") or Backoff.fixed("5m")'
    )


def _classes(name: str, value: object) -> dict[str, ClassRule]:
    if not isinstance(value, Mapping):
        raise InvalidPolicy(name, value, needs="a mapping of error class to ClassRule")
    for key, rule in value.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise InvalidPolicy(name, key, needs="error classes named like rate_limit")
        if not isinstance(rule, ClassRule):
            raise InvalidPolicy(f"{name}.{key}", rule, needs="a ClassRule")
    return {str(key): rule for key, rule in value.items()}


CHECKS: Mapping[str, Check] = {
    "max_attempts": whole(1, 1000),
    "backoff": _backoff,
    "lease": at_least(timedelta(milliseconds=10)),
    "renew_every": positive,
    "timeout": positive,
    "max_timeout": positive,
    "timeout_growth": number(1, 10),
    "max_crashes": whole(1, 1000),
    "priority": whole(1, 10),
    "ageing_step": length,
    "cancel_running": flag,
    "retry_unknown": flag,
    "exhausted_wins": flag,
    "classes": _classes,
    "expires_after": optional(positive),
    "deadline_after": optional(positive),
    "misfit_for": positive,
    "postpone_above": optional(whole(1, 1_000_000)),
    "postpone_by": positive,
    "keep_completed": optional(length),
    "keep_cancelled": optional(length),
    "keep_resolved": optional(length),
    "keep_letters": optional(length),
    "transaction_limit": positive,
    "max_result_bytes": whole(1, 1 << 30),
    "max_payload_bytes": whole(1, 1 << 30),
    "concurrency": whole(1, 10_000),
    "poll_busy": positive,
    "poll_idle": positive,
    "shutdown_grace": length,
}

DURATIONS = frozenset(known.name for known in fields(Policy) if "timedelta" in str(known.type))

_PLAIN_RULE = ClassRule()
