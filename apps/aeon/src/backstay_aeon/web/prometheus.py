"""The figures in the text form of Prometheus."""

from __future__ import annotations

from typing import Any


def exposition(metrics: dict[str, Any]) -> str:
    """One gauge for each figure."""
    lines = ["# TYPE aeon_queue_depth gauge"]
    lines += [f'aeon_queue_depth{{queue="{name}"}} {value}' for name, value in metrics["queueDepths"].items()]
    for name, value in metrics["performance"].items():
        lines += [f"# TYPE aeon_{name} gauge", f"aeon_{name} {value or 0}"]
    alive = sum(bool(worker["alive"]) for worker in metrics["workerStatus"])
    lines += ["# TYPE aeon_workers_alive gauge", f"aeon_workers_alive {alive}"]
    return "\n".join(lines) + "\n"
