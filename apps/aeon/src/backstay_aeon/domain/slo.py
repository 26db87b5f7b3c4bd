"""Six promises about the service, and whether they were kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slo:
    """A promise: a figure, and the bound that it must stay below or above."""

    name: str
    figure: str
    unit: str
    bound: float
    is_upper: bool


SLOS = (
    Slo("submission p95", "submission_p95_ms", "ms", 100, True),
    Slo("start p95", "start_p95_ms", "ms", 5000, True),
    Slo("completion rate", "completion_percent", "%", 95, False),
    Slo("worker uptime", "uptime_percent", "%", 99.5, False),
    Slo("dead letters", "dead_percent", "%", 1, True),
    Slo("throughput", "per_minute", "jobs/min", 100, False),
)


def verdicts(figures: Mapping[str, float | None]) -> list[dict[str, Any]]:
    """Each promise with its figure and verdict; without data nothing was broken, and nothing was shown."""
    return [
        {
            "name": one.name,
            "value": figures.get(one.figure),
            "unit": one.unit,
            "target": f"{'<' if one.is_upper else '>'} {one.bound:g} {one.unit}",
            "verdict": _verdict(one, figures.get(one.figure)),
        }
        for one in SLOS
    ]


def _verdict(one: Slo, value: float | None) -> str:
    if value is None:
        return "no data"
    return "kept" if (value < one.bound if one.is_upper else value > one.bound) else "missed"
