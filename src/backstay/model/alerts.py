"""Alerts: which rules there are, and which of them hold in a situation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from backstay.errors import InvalidPolicy

MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSituation:
    """What rules look at; the attempts are those of the last hour."""

    waiting: int = 0
    dead_workers: int = 0
    attempts: int = 0
    failed: int = 0
    dead_letters: int = 0
    slowest_p95_ms: float = 0.0
    slowest_kind: str = ""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A rule: it holds while its measure is above the threshold. `action` is what to do about it."""

    name: str
    severity: str
    action: str
    threshold: float
    measure: Callable[[AlertSituation], float]
    text: Callable[[AlertSituation], str]


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule that holds, with what was measured."""

    rule: str
    severity: str
    action: str
    message: str
    value: float
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A rule that began to hold at `fired_at`, and holds until `cleared_at`."""

    id: UUID
    rule: str
    severity: str
    message: str
    action: str
    value: float
    threshold: float
    fired_at: datetime
    announced_at: datetime | None
    """When people were told; None while nobody was, or the rule is muted."""
    cleared_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertMute:
    """A rule that is muted: it notifies nobody until the mute ends."""

    rule: str
    muted_until: datetime
    muted_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class AlertCheck:
    """What a look at the rules came to: which began to hold, which hold no more, and which hold now."""

    fired: tuple[str, ...]
    cleared: tuple[str, ...]
    active: tuple[Alert, ...]


FEWEST_ATTEMPTS = 100
"""A failure rate of fewer attempts than these says nothing."""


def _failure_rate(seen: AlertSituation) -> float:
    return seen.failed / seen.attempts if seen.attempts > FEWEST_ATTEMPTS else 0.0


RULES = (
    AlertRule(
        "high_queue_depth",
        "warning",
        "consider_scaling_workers",
        1000,
        lambda seen: seen.waiting,
        lambda seen: f"{seen.waiting:,} jobs could run and wait",
    ),
    AlertRule(
        "critical_queue_depth",
        "critical",
        "immediate_scaling_required",
        5000,
        lambda seen: seen.waiting,
        lambda seen: f"{seen.waiting:,} jobs could run and wait",
    ),
    AlertRule(
        "worker_down",
        "critical",
        "restart_worker",
        0,
        lambda seen: seen.dead_workers,
        lambda seen: f"{seen.dead_workers:,} workers have died",
    ),
    AlertRule(
        "high_failure_rate",
        "warning",
        "investigate_failures",
        0.1,
        _failure_rate,
        lambda seen: f"{seen.failed:,} of {seen.attempts:,} attempts of the last hour failed",
    ),
    AlertRule(
        "dlq_accumulation",
        "warning",
        "review_dlq_jobs",
        50,
        lambda seen: seen.dead_letters,
        lambda seen: f"{seen.dead_letters:,} dead letters are open",
    ),
    AlertRule(
        "slow_jobs",
        "warning",
        "optimize_job_handlers",
        60_000,
        lambda seen: seen.slowest_p95_ms,
        lambda seen: (
            f"one in twenty jobs of {seen.slowest_kind} takes {seen.slowest_p95_ms / 1000:,.0f} s or more"
        ),
    ),
)
NAMES = tuple(rule.name for rule in RULES)


def thresholds_of(name: str, value: object) -> Mapping[str, float]:
    """Read thresholds by the names of rules, from a mapping or as in `dlq_accumulation=10,slow_jobs=5000`."""
    needs = f"rules and numbers as in dlq_accumulation=10,slow_jobs=5000, of the rules {', '.join(NAMES)}"
    found: dict[str, float] = {}
    for rule, limit in value.items() if isinstance(value, Mapping) else _pairs(value):
        try:
            found[rule] = float(limit)
        except (TypeError, ValueError):
            raise InvalidPolicy(name, value, needs=needs) from None
        if rule not in NAMES or not 0 <= found[rule] < float("inf"):
            raise InvalidPolicy(name, value, needs=needs)
    return found


def _pairs(value: object) -> list[tuple[str, str]]:
    parts = [part for part in str(value).split(",") if part.strip() not in ("", "none")]
    return [(rule.strip(), limit) for rule, _, limit in (part.partition("=") for part in parts)]


def holding(seen: AlertSituation, thresholds: Mapping[str, float] | None = None) -> list[Firing]:
    """Return the rules that hold: those whose measure is above its threshold, never at it."""
    limits = {rule.name: rule.threshold for rule in RULES} | dict(thresholds or {})
    return [
        Firing(
            rule.name,
            rule.severity,
            rule.action,
            rule.text(seen),
            float(rule.measure(seen)),
            float(limits[rule.name]),
        )
        for rule in RULES
        if rule.measure(seen) > limits[rule.name]
    ]
