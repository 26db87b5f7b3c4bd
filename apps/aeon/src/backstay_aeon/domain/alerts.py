"""Six rules: from figures to alerts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """When to tell, how loud, in which words, and what to do."""

    name: str
    severity: str
    message: str
    action: str
    holds: Callable[[Metrics], bool]


def _failing(metrics: Metrics) -> bool:
    ended = metrics["performance"]["successful"] + metrics["performance"]["failed"]
    return bool(ended > 100 and metrics["performance"]["failed"] / ended > 0.1)


RULES = (
    Rule(
        "high_queue_depth",
        "warning",
        "Pending queue depth exceeds 1000 jobs",
        "consider_scaling_workers",
        lambda metrics: metrics["queueDepths"]["pending"] > 1000,
    ),
    Rule(
        "critical_queue_depth",
        "critical",
        "Pending queue depth exceeds 5000 jobs",
        "immediate_scaling_required",
        lambda metrics: metrics["queueDepths"]["pending"] > 5000,
    ),
    Rule(
        "worker_down",
        "critical",
        "One or more workers are not responding",
        "restart_worker",
        lambda metrics: any(not worker["alive"] for worker in metrics["workerStatus"]),
    ),
    Rule("high_failure_rate", "warning", "Job failure rate exceeds 10%", "investigate_failures", _failing),
    Rule(
        "dlq_accumulation",
        "warning",
        "Dead letter queue has >50 jobs",
        "review_dlq_jobs",
        lambda metrics: metrics["queueDepths"]["dlq"] > 50,
    ),
    Rule(
        "slow_jobs",
        "warning",
        "P95 job duration exceeds 1 minute",
        "optimize_job_handlers",
        lambda metrics: (metrics["performance"]["p95_duration_ms"] or 0) > 60_000,
    ),
)


def firing(metrics: Metrics) -> list[Rule]:
    """The rules that hold now."""
    return [rule for rule in RULES if rule.holds(metrics)]
