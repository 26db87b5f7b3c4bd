"""Whose turn it is in a fair queue."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from backstay.errors import InvalidSettings
from backstay.model.limits.fairness import START, Fair, Place, fair_queue, place_after


def test_the_round_goes_on_behind_the_last_one_served() -> None:
    assert place_after(START, ["a", "b"], Fair()) == Place("b")
    assert place_after(Place("b"), ["c"], Fair()) == Place("c")
    assert place_after(Place("b"), [], Fair()) == Place("b")


def test_after_several_rounds_it_stands_where_the_last_has_stopped() -> None:
    assert place_after(START, ["a", "b", "c", "a"], Fair()) == Place("a")


def test_a_heavy_tenant_goes_on_with_its_turn() -> None:
    fair = Fair((("a", 3),))

    first = place_after(START, ["a"], fair)
    second = place_after(first, ["a"], fair)
    third = place_after(second, ["a"], fair)

    assert (first, second, third) == (Place("a", 1), Place("a", 2), Place("a"))


@pytest.mark.parametrize("weights", [{"a": 0}, {"a": 101}, {"a": True}, {"": 1}, {"a": 1.5}])
def test_weights_that_are_none_are_refused(weights: dict[str, int]) -> None:
    with pytest.raises(InvalidSettings, match="whole number from 1 to 100"):
        fair_queue("import", weights)


@given(
    some.dictionaries(some.sampled_from("abcdef"), some.integers(1, 4), min_size=1),
    some.lists(some.integers(1, 7), min_size=1, max_size=60),
)
def test_in_whatever_portions_jobs_are_taken_everybody_has_its_share(
    weights: dict[str, int], portions: list[int]
) -> None:
    """Taken from tenants that never run out, by the rule that the statement follows."""
    fair, place, taken = Fair(tuple(sorted(weights.items()))), START, Counter[str]()
    for portion in portions:
        served = serve(place, portion, weights)
        place = place_after(place, served, fair)
        taken.update(served)

    rounds = {tenant: taken[tenant] / weight for tenant, weight in weights.items()}
    assert max(rounds.values()) - min(rounds.values()) <= 1


def serve(place: Place, limit: int, weights: dict[str, int]) -> list[str]:
    """What is taken from `place` on, going round as often as needed; the store does the same, a sweep a statement."""
    names = sorted(weights)
    turns = [place.tenant] * (weights[place.tenant] - place.spent) if place.spent else []
    later = [name for name in names if name > place.tenant]
    turns += [name for name in later for _ in range(weights[name])]
    while len(turns) < limit:
        turns += [name for name in names for _ in range(weights[name])]
    return turns[:limit]
