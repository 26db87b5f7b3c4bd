"""Somebody who sends more than they may is told when to go on, and others do not notice."""

from __future__ import annotations

import pytest

from backstay.errors import InvalidSettings
from backstay.kit.problems import Problem
from backstay.kit.request_rate import MOST_NAMES, RequestRate


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def limited(time: Time, a_minute: int, **more: int) -> RequestRate:
    rate = RequestRate(a_minute, **more)
    rate._now = time
    return rate


def refused(rate: RequestRate, name: str) -> str | None:
    """After how many seconds to try again; None if the request is let through."""
    try:
        rate.check(name)
    except Problem as problem:
        return dict(problem.headers or {})["Retry-After"]
    return None


def test_a_burst_is_let_through_and_then_as_many_as_come_evenly(time: Time) -> None:
    rate = limited(time, 30, burst=3)

    assert [refused(rate, "ann") for _ in range(5)] == [None, None, None, "2", "2"]
    time.now += 2
    assert [refused(rate, "ann") for _ in range(2)] == [None, "2"]
    time.now += 3600
    assert [refused(rate, "ann") for _ in range(4)] == [None, None, None, "2"]


def test_each_has_tokens_of_their_own(time: Time) -> None:
    rate = limited(time, 60, burst=1)

    assert [refused(rate, name) for name in ("ann", "bob", "ann", "bob")] == [None, None, "1", "1"]


def test_names_without_end_do_not_fill_the_memory(time: Time) -> None:
    rate = limited(time, 60)

    for number in range(MOST_NAMES + 5):
        rate.check(str(number))

    assert len(rate._left) == MOST_NAMES


@pytest.mark.parametrize("wrong", [{"a_minute": 0}, {"a_minute": 5, "burst": 0}])
def test_a_rate_that_lets_nothing_through_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidSettings):
        RequestRate(**wrong)
