"""How long a job waits before each retry."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import AEON, EXORA, OBLICORE, PASSPORT

from backstay.errors import InvalidPolicy
from backstay.model.backoff import Backoff
from backstay.model.policy.policy import resolve
from backstay.model.policy.profile import Profile
from backstay.model.text.durations import LONGEST

chances = st.floats(min_value=0, max_value=1, exclude_max=True)
backoffs = st.builds(
    lambda base, extra, multiplier, jitter: Backoff(
        base, multiplier=multiplier, cap=None if extra is None else base + extra, jitter=jitter
    ),
    st.timedeltas(timedelta(0), timedelta(days=30)),
    st.none() | st.timedeltas(timedelta(0), timedelta(days=30)),
    st.floats(1, 100),
    st.floats(0, 1),
)


def seconds_of(backoff: Backoff, *, retries: int) -> list[float]:
    return [backoff.delay(retry, 0.5).total_seconds() for retry in range(1, retries + 1)]


def test_the_default_doubles_from_two_seconds_and_stops_at_1024() -> None:
    assert seconds_of(Backoff(), retries=11) == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [(OBLICORE, [2, 4]), (AEON, [1, 2, 4]), (PASSPORT, [2, 4, 8, 16]), (EXORA, [300, 300, 300])],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_every_profile_waits_as_its_document_says(profile: Profile, expected: list[float]) -> None:
    """ENG-053: base times multiplier to the power of the retries already made."""
    backoff = resolve(profile.policy).backoff

    assert seconds_of(backoff, retries=len(expected)) == expected


def test_a_fifth_of_jitter_reaches_both_sides_and_goes_no_further() -> None:
    """ENG-054: evenly spread over ±r, not over half of it."""
    backoff, random = Backoff("100s", jitter=0.2), Random(54)

    shares = [backoff.delay(1, random.random()) / timedelta(seconds=100) - 1 for _ in range(10_000)]

    assert -0.2 <= min(shares) < -0.15
    assert 0.15 < max(shares) <= 0.2


def test_delays_are_whole_milliseconds_rounded_down() -> None:
    assert Backoff("1ms", multiplier=1.5).delay(2, 0.5) == timedelta(milliseconds=1)


def test_a_billionth_retry_still_has_a_delay() -> None:
    assert Backoff().delay(10**9, 0.5) == timedelta(seconds=1024)
    assert Backoff(cap=None).delay(10**9, 0.5) == LONGEST
    assert Backoff.fixed("5m").delay(10**9, 0.5) == timedelta(minutes=5)
    assert Backoff(0).delay(10**9, 0.5) == timedelta(0)


@given(backoffs, st.integers(1, 10**9), chances)
def test_no_delay_is_negative_or_beyond_cap_and_jitter(backoff: Backoff, retry: int, chance: float) -> None:
    delay = backoff.delay(retry, chance)

    cap = LONGEST if backoff.cap is None else backoff.cap
    assert timedelta(0) <= delay <= cap * (1 + backoff.jitter) + timedelta(microseconds=1)
    assert delay % timedelta(milliseconds=1) == timedelta(0)


@given(backoffs, st.integers(1, 10**6), chances)
def test_a_later_retry_never_waits_less(backoff: Backoff, retry: int, chance: float) -> None:
    assert backoff.delay(retry, chance) <= backoff.delay(retry + 1, chance)


@given(backoffs, st.integers(1, 100))
def test_without_chance_the_delay_is_the_formula(backoff: Backoff, retry: int) -> None:
    steady = Backoff(backoff.base, multiplier=1, cap=backoff.cap)

    assert steady.delay(retry, 0.99) == backoff.base - backoff.base % timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"base": "soon"}, "backoff.base"),
        ({"base": -1}, "backoff.base"),
        ({"multiplier": 0.5}, "backoff.multiplier"),
        ({"multiplier": float("nan")}, "backoff.multiplier"),
        ({"multiplier": True}, "backoff.multiplier"),
        ({"jitter": 1.5}, "backoff.jitter"),
        ({"base": "1h", "cap": "1m"}, "backoff.cap"),
    ],
)
def test_a_bad_number_is_refused_by_name(options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        Backoff(**options)  # type: ignore[arg-type]  # the point of the test

    assert refusal.value.field == field
