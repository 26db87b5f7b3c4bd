"""Real workers, a real database, and everything that can happen to them at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos import checker
from chaos.__main__ import main
from chaos.conductor import Plan, run_alone
from slices import source_seed

SHORT = Plan(
    seed=source_seed(),
    jobs=1000,
    faults=12,
    pause=0.5,
    poisons=1,
    rules=checker.SAFETY,
    only=(
        "worker_killed",
        "worker_frozen",
        "worker_replaced",
        "connections_reset",
        "connections_silent",
        "outcome_cut",
        "claim_cut",
        "enqueue_cut",
        "backends_ended",
        "database_restarted",
    ),
)
REPORT = Path(__file__).resolve().parents[2] / "build" / "chaos" / "report.json"


def test_a_thousand_jobs_survive_a_dozen_faults() -> None:
    report = run_alone(SHORT)

    assert report.violations == {}
    assert report.figures["faults"] >= 12
    assert len(report.figures["faults by class"]) >= 8


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_twenty_thousand_jobs_survive_a_hundred_faults() -> None:
    assert main(["--report", str(REPORT)]) == 0

    figures = json.loads(REPORT.read_text())["rounds"][0]["figures"]
    assert figures["accepted"] >= 20_000
    assert figures["faults"] >= 100
    assert len(figures["faults by class"]) >= 8
    assert [figures[name] for name in ("lost", "double effects", "overlapping leases", "stuck")] == [
        0,
        0,
        0,
        0,
    ]
    assert min(figures[name] for name in ("fenced writes", "takeovers", "unknown commits")) > 0
