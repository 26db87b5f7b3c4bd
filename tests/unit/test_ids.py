"""Ids rise with time, also when the clock does not, and never repeat."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.runtime.env import SYSTEM, UuidMaker

MILLISECOND = 1_000_000


def maker_at(*walls: int, seed: int = 0) -> UuidMaker:
    clock = iter(walls)
    return UuidMaker(lambda: next(clock), Random(seed).getrandbits)


@given(st.lists(st.integers(0, 2**48 // 2 * MILLISECOND), min_size=1, max_size=50), st.integers())
def test_ids_rise_whatever_the_clock_does(walls: list[int], seed: int) -> None:
    """ENG-001."""
    new_id = maker_at(*walls, seed=seed)

    ids = [new_id() for _ in walls]

    assert ids == sorted(set(ids))
    assert [str(made) for made in ids] == sorted(str(made) for made in ids)


@given(st.integers(0, (2**48 - 1) * MILLISECOND), st.integers())
def test_an_id_is_a_version_7_uuid_of_its_millisecond(wall: int, seed: int) -> None:
    made = maker_at(wall, seed=seed)()

    assert made.version == 7
    assert made.variant == RFC_4122
    assert made.int >> 80 == wall // MILLISECOND


@pytest.mark.parametrize("bit", [0, 1])
def test_extreme_chance_leaves_version_and_variant_alone(bit: int) -> None:
    new_id = UuidMaker(lambda: 5 * MILLISECOND, lambda bits: (1 << bits) * bit - bit)

    ids = [new_id() for _ in range(100)]

    assert {(made.version, made.variant) for made in ids} == {(7, RFC_4122)}
    assert ids == sorted(set(ids))


def test_threads_never_share_an_id() -> None:
    def many(_: int) -> list[UUID]:
        return [SYSTEM.new_id() for _ in range(5_000)]

    with ThreadPoolExecutor(8) as threads:
        made = [one for batch in threads.map(many, range(8)) for one in batch]

    assert len(set(made)) == 40_000


@given(st.lists(st.integers(0, 2**48 // 2 * MILLISECOND), min_size=2, max_size=20), st.integers())
def test_many_ids_at_once_rise_with_those_before_and_after(walls: list[int], seed: int) -> None:
    """ENG-001."""
    new_id = maker_at(*walls, seed=seed)

    ids = [one for n, _ in enumerate(walls) for one in (new_id.many(n) if n % 2 else [new_id()])]

    assert ids == sorted(set(ids))
    assert {(made.version, made.variant) for made in ids} == {(7, RFC_4122)}


def test_many_ids_that_do_not_fit_into_a_millisecond_are_of_the_next() -> None:
    new_id = UuidMaker(lambda: 5 * MILLISECOND, lambda bits: (1 << bits) - 1)
    first = new_id()

    ids = new_id.many(2**10)
    new_id._low = (1 << 62) - 5
    later = new_id.many(10)

    assert [first, *ids, *later] == sorted({first, *ids, *later})
    assert {made.int >> 80 for made in later} == {6}
    assert {(made.version, made.variant) for made in later} == {(7, RFC_4122)}
