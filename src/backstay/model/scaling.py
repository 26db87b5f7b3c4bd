"""How many workers there should be, from what waits and how busy they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.errors import InvalidSettings

STEP_UP = 0.5


@dataclass(frozen=True, slots=True)
class ScalingSignals:
    """What the decision is made of."""

    workers: int
    """Workers that claim jobs."""
    waiting: int
    """Jobs that a worker could take now."""
    oldest_wait: timedelta
    """How long the first of them has waited."""
    cpu_percent: float | None
    """How busy the processors of the workers are, on average; None where no worker tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRule:
    """When there should be more or fewer."""

    least: int = 1
    most: int = 10
    more_above: int = 100
    fewer_below: int = 10
    longest_wait: timedelta = timedelta(minutes=5)
    busiest_percent: float = 80.0
    cool_down: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise InvalidSettings(
                f"least cannot be {self.least} where most is {self.most}: 0 <= least <= most"
            )


@dataclass(frozen=True, slots=True)
class Scaling:
    """How many workers there should be, and why."""

    desired: int
    reason: str
    signals: ScalingSignals


def scaled(signals: ScalingSignals, rule: ScalingRule, *, changed_ago: timedelta | None = None) -> Scaling:
    """Decide by the signals: half as many again when one of them asks for more, one fewer when all are quiet.

    `changed_ago` is when the number was changed last: during the cool-down it stays, within its bounds.
    """
    now = min(max(signals.workers, rule.least), rule.most)
    if now != signals.workers:
        return Scaling(now, f"there should be {rule.least} to {rule.most}", signals)
    busy = _why_more(signals, rule)
    quiet = signals.waiting < rule.fewer_below and busy is None
    if busy is None and not quiet:
        return Scaling(now, "nothing asks for a change", signals)
    if changed_ago is not None and changed_ago < rule.cool_down:
        return Scaling(now, "the number was changed a moment ago", signals)
    if busy is not None:
        more = min(rule.most, now + max(1, int(now * STEP_UP)))
        return Scaling(more, busy if more > now else f"{busy}, and there are {rule.most} already", signals)
    fewer = max(rule.least, now - 1)
    return Scaling(fewer, f"fewer than {rule.fewer_below} jobs wait", signals)


def _why_more(signals: ScalingSignals, rule: ScalingRule) -> str | None:
    if signals.waiting > rule.more_above:
        return f"more than {rule.more_above} jobs wait"
    if signals.oldest_wait > rule.longest_wait:
        return f"a job has waited longer than {int(rule.longest_wait.total_seconds())} seconds"
    if signals.cpu_percent is not None and signals.cpu_percent > rule.busiest_percent:
        return f"the workers' processors are busier than {rule.busiest_percent:g} %"
    return None
