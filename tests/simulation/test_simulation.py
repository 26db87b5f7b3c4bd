"""Whole systems under faults, by seed: every rule holds, a seed repeats itself, and planted mistakes are found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from simulation.mutants import MUTANTS, Mutant
from simulation.scenario import simulate
from slices import FAILED_ONCE, source_seed

TESTS = Path(__file__).resolve().parents[1]
SEEDS = 400
GATE_SEEDS = 120
MANY_SEEDS = 2000
PART = 250


def run_seeds(seeds: Sequence[int]) -> tuple[list[str], Counter[str]]:
    """Run some worlds; returns what a person must know of those that broke a rule, and what happened in all."""
    broken, counters = [], Counter[str]()
    for seed in seeds:
        report = simulate(seed)
        counters.update(report.counters)
        if report.violation is not None:
            broken.append(report.explain(f"make simulate SEED={seed}"))
    return broken, counters


@pytest.mark.timeout(600)
def test_every_rule_holds_in_new_worlds_and_the_faults_are_real() -> None:
    """Safety at every commit, an end for every job; and it shows something, because the faults struck."""
    first = source_seed()

    broken, counters = run_seeds([*FAILED_ONCE, *range(first, first + GATE_SEEDS)])

    assert not broken, "\n\n".join(broken[:3])
    happened = [
        "claim.lost",
        "takeovers",
        "claim.released",
        "worker.replaced",
        "rescue.postponed",
        "job.dead",
        "signal received",
        "signal timed out",
    ]
    assert [name for name in happened if counters[name] == 0] == []
    faults = {name: number for name, number in counters.items() if name.startswith(("fault:", "wire:"))}
    assert len(faults) == 15


@pytest.mark.prove
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(MANY_SEEDS // PART))
def test_every_rule_holds_in_2000_more_worlds(part: int) -> None:
    """In parts, so that several cores can share them; behind the worlds that the gate has seen."""
    first = source_seed() + GATE_SEEDS + part * PART

    broken, _ = run_seeds(range(first, first + PART))

    assert not broken, "\n\n".join(broken[:3])


@pytest.mark.parametrize("seed", [3, 17])
def test_a_seed_is_the_same_run_to_the_last_byte(seed: int) -> None:
    """Twice in this process, and in others, whose sets and dictionaries of words are ordered differently."""
    here = "\n".join(simulate(seed).trace)
    again = "\n".join(simulate(seed).trace)
    elsewhere = [traced_elsewhere(seed, hash_seed) for hash_seed in ("1", "2")]

    assert here == again
    assert [here, here] == elsewhere
    assert len(here.splitlines()) > 100


def traced_elsewhere(seed: int, hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "simulation", "--seed", str(seed), "--trace"],
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.rstrip("\n")


def test_different_seeds_are_different_runs() -> None:
    assert simulate(3).trace != simulate(4).trace


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_mistake_is_found_within_400_seeds(mutant: Mutant) -> None:
    with mutant.planted() as mutate:
        found = next(
            (report for seed in range(SEEDS) if (report := simulate(seed, mutate=mutate)).violation), None
        )

    assert found is not None
    told = found.explain("make simulate SEED=…")
    assert f"seed {found.seed}: {found.violation}" in told
    assert "VIOLATION" in told
