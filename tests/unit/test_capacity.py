"""How many workers a load needs: held against a simulation that knows no formula."""

from __future__ import annotations

import heapq
import random

import pytest

from backstay.errors import InvalidPolicy
from backstay.model.capacity import BUSIEST, LATE_SHARE, Load, late_share, plan


def simulated_late_share(
    rate: float, takes: float, slots: int, within: float, *, jobs: int, seed: int
) -> float:
    """Jobs come by chance and take differently long; each goes to the slot that is free first."""
    chance = random.Random(seed)
    free_at, now, late = [0.0] * slots, 0.0, 0
    for _ in range(jobs):
        now += chance.expovariate(rate)
        start = max(now, heapq.heappop(free_at))
        late += start - now > within
        heapq.heappush(free_at, start + chance.expovariate(1 / takes))
    return late / jobs


@pytest.mark.parametrize(
    ("rate", "takes", "slots", "within"),
    [(8.0, 1.0, 10, 0.5), (90.0, 0.1, 10, 0.2), (40.0, 1.0, 45, 0.0), (0.5, 1.0, 1, 2.0)],
)
def test_the_share_that_starts_late_is_that_of_a_simulation(
    rate: float, takes: float, slots: int, within: float
) -> None:
    found = [simulated_late_share(rate, takes, slots, within, jobs=200_000, seed=seed) for seed in range(3)]

    assert late_share(rate, takes, slots, within) == pytest.approx(sum(found) / len(found), abs=0.03)


@pytest.mark.parametrize("rate", [0.1, 3, 100, 5000])
def test_a_plan_keeps_its_word_and_one_slot_fewer_would_not(rate: float) -> None:
    found = plan(Load(rate=rate, takes=0.5, within=1, concurrency=1))

    assert found.late <= LATE_SHARE
    assert found.processes == found.slots
    assert found.in_use <= BUSIEST
    fewer = found.slots - 1
    assert fewer == 0 or late_share(rate, 0.5, fewer, 1) > LATE_SHARE or rate * 0.5 / fewer > BUSIEST


def test_more_slots_than_are_busy_are_asked_for() -> None:
    assert late_share(10, 1, 10, 5) == 1.0
    assert plan(Load(rate=10, takes=1, within=5)).slots > 10


def test_failures_are_attempts_too() -> None:
    assert plan(Load(rate=90, takes=0.1, within=1, failing=0.1)).attempts == pytest.approx(100)


def test_a_process_uses_one_processor() -> None:
    found = plan(Load(rate=100, takes=0.1, within=1, cpu=0.08, concurrency=100))

    assert (found.processes, found.machines, found.reason) == (10, 3, "processors")


def test_what_one_database_does_not_carry_is_divided() -> None:
    assert plan(Load(rate=20_000, takes=0.01, within=1, database_rate=8000)).databases == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate", 0),
        ("takes", -1),
        ("within", 0),
        ("failing", 1),
        ("cpu", 2),
        ("concurrency", 0),
        ("rate", 1e9),
    ],
)
def test_a_load_that_cannot_be_is_refused(field: str, value: float) -> None:
    numbers = {"rate": 1, "takes": 1, "within": 1, field: value}

    with pytest.raises(InvalidPolicy):
        plan(Load(**numbers))
