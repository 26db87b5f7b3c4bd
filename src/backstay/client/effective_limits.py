"""The limits of kinds and queues as they count now: what code declares, changed by operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from backstay.errors import InvalidSettings
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec
from backstay.model.limits.declared import KindLimits, Limit, PairLimits, QueueLimits, Rate, pair_limits
from backstay.model.records import Override

ALL_QUEUES = "*"
"""The name under which the ceiling of the whole application is overridden."""

OF_A_KIND = ("limit", "rate", "key_limit", "key_rate")
OF_A_QUEUE = ("limit", "rate", "per_worker")
LIMIT_FIELDS = frozenset({*OF_A_KIND, *OF_A_QUEUE})


def limits_of(spec: HandlerSpec, queue: str, registry: Registry, overrides: Iterable[Override]) -> PairLimits:
    """What the jobs of a kind in a queue are under now."""
    known = list(overrides)
    return pair_limits(
        queue,
        spec.kind,
        _changed_kind(spec.limits, _changes(known, "kind", spec.kind)),
        _changed_queue(registry.queues.get(queue), _changes(known, "queue", queue)),
        ceiling_of(registry, known),
    )


def per_worker_of(registry: Registry, overrides: Iterable[Override]) -> dict[str, int]:
    """How many jobs of a queue one worker may have, for the queues where that is limited."""
    known = list(overrides)
    names = {*registry.queues, *(one.name for one in known if one.scope == "queue")}
    limits = {
        name: _changed_queue(registry.queues.get(name), _changes(known, "queue", name)) for name in names
    }
    return {name: one.per_worker for name, one in limits.items() if one.per_worker is not None}


def ceiling_of(registry: Registry, overrides: Iterable[Override]) -> int | None:
    """How many jobs may run at the same time altogether."""
    change = _changes(overrides, "queue", ALL_QUEUES)
    return change["limit"]["limit"] if "limit" in change else registry.ceiling


def change_text(scope: str, field: str, value: object, *, burst: int | None = None) -> str:
    """A change of a limit as it is stored; raises InvalidSettings for one that cannot be."""
    allowed = OF_A_KIND if scope == "kind" else OF_A_QUEUE
    if field not in allowed:
        raise InvalidSettings(f"a {scope} has no {field!r} to set: it is one of {', '.join(allowed)}")
    if field.endswith("rate"):
        rate = Rate(str(value), burst=1 if burst is None else burst)
        return msgspec.json.encode({field: rate.rate, "burst": rate.burst}).decode()
    if burst is not None:
        raise InvalidSettings(f"{field} has no burst: that is for rates")
    return msgspec.json.encode({field: Limit(value).most}).decode()  # type: ignore[arg-type]  # it checks what it is given


def _changes(overrides: Iterable[Override], scope: str, name: str) -> dict[str, dict[str, Any]]:
    return {
        one.field: msgspec.json.decode(one.change)
        for one in overrides
        if (one.scope, one.name) == (scope, name) and one.field in LIMIT_FIELDS
    }


def _changed_kind(limits: KindLimits, changes: Mapping[str, Mapping[str, Any]]) -> KindLimits:
    if "limit" in changes:
        limits = replace(limits, limit=changes["limit"]["limit"])
    if "rate" in changes:
        limits = replace(limits, rate=_rate(changes["rate"], "rate", limits.rate))
    # A key belongs to the code, so only its number can be changed; without one there is nothing to change.
    if "key_limit" in changes and limits.key_limit is not None:
        limits = replace(limits, key_limit=replace(limits.key_limit, most=changes["key_limit"]["key_limit"]))
    if "key_rate" in changes and limits.key_rate is not None:
        limits = replace(limits, key_rate=_rate(changes["key_rate"], "key_rate", limits.key_rate))
    return limits


def _changed_queue(limits: QueueLimits | None, changes: Mapping[str, Mapping[str, Any]]) -> QueueLimits:
    limits = limits or QueueLimits()
    if "limit" in changes:
        limits = replace(limits, limit=changes["limit"]["limit"])
    if "rate" in changes:
        limits = replace(limits, rate=_rate(changes["rate"], "rate", None))
    if "per_worker" in changes:
        limits = replace(limits, per_worker=changes["per_worker"]["per_worker"])
    return limits


def _rate(change: Mapping[str, Any], field: str, known: Rate | None) -> Rate:
    # Key and cost belong to the code.
    key, cost = (None, None) if known is None else (known.key, known.cost)
    return Rate(change[field], burst=change["burst"], key=key, cost=cost)
