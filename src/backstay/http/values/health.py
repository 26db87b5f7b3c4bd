"""Health and figures as the API shows them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from pydantic import Field

from backstay.http.values.common import Answer, Seconds, Time
from backstay.model.figures import Figures, KindFigures
from backstay.model.health import HealthStatus


class Alive(Answer):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Ready(Answer):
    """The process reaches its database."""

    status: Literal["ready"] = "ready"


class HealthShown(Answer):
    """One verdict with its reasons."""

    status: HealthStatus
    stale_jobs: int = Field(description="Claims that ran out and that nobody has taken over.")
    unresolved_dead_letters: int
    recent_failures: int = Field(description="Attempts that failed or crashed in the last hour.")
    checked_at: Time
    reasons: list[str]


class FiguresShown(Answer):
    """How many attempts ended how, and how long they took; percentiles are estimates."""

    completed: int
    failed: int
    crashed: int
    dead: int = Field(description="How many of these attempts left their job dead.")
    success_percent: float | None = Field(None, examples=[98.51])
    average_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    wait_average_ms: float | None = Field(
        None, description="From when a job was due to when its attempt began."
    )
    wait_p50_ms: float | None = None
    wait_p95_ms: float | None = None
    wait_p99_ms: float | None = None


class FiguresAtShown(FiguresShown):
    """The figures of one minute, hour, day or week."""

    at: Time


class KindFiguresShown(FiguresShown):
    """The figures of one kind in one queue."""

    queue: str
    kind: str


class DepthShown(Answer):
    """How many jobs of a queue and kind are in one state, counted up to 10,000; where it `is_capped` there are more."""

    state: str
    queue: str
    kind: str
    jobs: int
    oldest_for: Seconds | None = None
    is_capped: bool = False


class CounterShown(Answer):
    """What an application has counted by one name."""

    name: str = Field(examples=["invoices_sent"])
    total: int


class ServiceLevelShown(Answer):
    """One promise, what was measured, and whether it holds; None where nothing says."""

    name: str = Field(examples=["start_p95"])
    promise: str = Field(examples=["below 5000 ms"])
    measured: float | None = None
    unit: str
    holds: bool | None = None


class SignalsShown(Answer):
    """What the number of workers follows from."""

    workers: int
    waiting: int
    oldest_wait: Seconds
    cpu_percent: float | None


class ScalingShown(Answer):
    """How many workers there should be, and why."""

    desired: int
    reason: str
    signals: SignalsShown


def figures_facts(figures: Figures) -> dict[str, float | None]:
    """Figures as the API returns them."""
    rate = figures.success_rate
    return asdict(figures) | {"success_percent": None if rate is None else round(rate * 100, 2)}


def kind_figures(one: KindFigures) -> KindFiguresShown:
    """The figures of a kind as they are shown."""
    return KindFiguresShown.model_validate(
        {"queue": one.queue, "kind": one.kind, **figures_facts(one.figures)}
    )
