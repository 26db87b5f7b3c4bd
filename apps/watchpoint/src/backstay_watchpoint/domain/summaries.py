"""The report on a watchpoint whose event has passed: how good the forecasts for it were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Metric:
    """One verification result near a watchpoint."""

    variable: str
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class EventReport:
    """What is stored and mailed."""

    watchpoint_id: str
    has_triggered: bool
    verified_runs: int
    averages: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "watchpoint_id": self.watchpoint_id,
            "has_triggered": self.has_triggered,
            "verified_runs": self.verified_runs,
            "averages": dict(self.averages),
        }


def report(
    watchpoint_id: str, *, has_triggered: bool, verified_runs: int, metrics: Sequence[Metric]
) -> EventReport:
    """Average the metrics of the watchpoint's tile over its time window."""
    values: dict[str, list[float]] = {}
    for metric in metrics:
        values.setdefault(f"{metric.variable}.{metric.metric}", []).append(metric.value)
    averages = {name: round(sum(found) / len(found), 6) for name, found in sorted(values.items())}
    return EventReport(watchpoint_id, has_triggered, verified_runs, averages)


def summary_text(report: EventReport, name: str, ended: datetime | None) -> str:
    """Say in a mail how an event went."""
    lines = [
        f"Your watchpoint {name} is archived: its event has passed"
        + (f" ({ended:%Y-%m-%d %H:%M} UTC)." if ended else "."),
        "It has sent an alert." if report.has_triggered else "It has not sent an alert.",
        f"Forecasts verified in its time: {report.verified_runs}.",
    ]
    lines += [f"  {name}: {value:g}" for name, value in report.averages.items()]
    return "\n".join(lines)
