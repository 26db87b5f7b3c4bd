"""Real workers, a real database, and everything that can happen to them at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chaos import checker
from chaos.__main__ import main
from chaos.conductor import Plan, run_alone
from chaos.redis_faults import OF_REDIS
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


def test_jobs_that_redis_suggests_survive_its_faults_and_those_of_workers() -> None:
    of_workers = ("worker_killed", "claim_cut", "outcome_cut")
    plan = replace(SHORT, redis=True, only=(*of_workers, *OF_REDIS), faults=14)

    report = run_alone(plan)

    assert report.violations == {}
    # Redis has one fault at a time, so that a short run may end before the last of them.
    assert len(set(OF_REDIS) & set(report.figures["faults by class"])) >= 3


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_twenty_thousand_jobs_that_redis_suggests_survive_a_hundred_faults() -> None:
    place = REPORT.with_name("redis.json")

    assert main(["--redis", "--report", str(place)]) == 0

    figures = json.loads(place.read_text())["rounds"][0]["figures"]
    assert figures["accepted"] >= 20_000
    assert set(OF_REDIS) <= set(figures["faults by class"])


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
