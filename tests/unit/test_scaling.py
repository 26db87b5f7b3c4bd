"""How many workers there should be: each signal at its boundary."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from backstay.errors import InvalidSettings
from backstay.model.scaling import ScalingRule, ScalingSignals, scaled

MINUTE = timedelta(minutes=1)


def desired(*, changed_ago: timedelta | None = None, rule: ScalingRule | None = None, **signals: Any) -> int:
    given = {"workers": 4, "waiting": 50, "oldest_wait": MINUTE, "cpu_percent": 50.0, **signals}
    return scaled(ScalingSignals(**given), rule or ScalingRule(), changed_ago=changed_ago).desired


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ({"waiting": 100}, 4),
        ({"waiting": 101}, 6),
        ({"waiting": 10}, 4),
        ({"waiting": 9}, 3),
        ({"oldest_wait": 5 * MINUTE}, 4),
        ({"oldest_wait": 5 * MINUTE + timedelta(seconds=1)}, 6),
        ({"cpu_percent": 80.0}, 4),
        ({"cpu_percent": 80.1}, 6),
        ({"cpu_percent": None, "waiting": 9}, 3),
        ({"waiting": 9, "cpu_percent": 90.0}, 6),
    ],
)
def test_each_signal_counts_from_its_boundary_on(signals: dict[str, Any], expected: int) -> None:
    """ENG-145."""
    assert desired(**signals) == expected


def test_the_number_stays_in_its_bounds() -> None:
    """ENG-145."""
    rule = ScalingRule(least=2, most=5)

    assert desired(workers=0, rule=rule) == 2
    assert desired(workers=9, rule=rule) == 5
    assert desired(workers=5, waiting=1000, rule=rule) == 5
    assert desired(workers=2, waiting=0, rule=rule) == 2
    assert desired(workers=1, waiting=1000) == 2
    with pytest.raises(InvalidSettings, match="least"):
        ScalingRule(least=3, most=2)


@pytest.mark.parametrize(("ago", "expected"), [(timedelta(seconds=299), 4), (5 * MINUTE, 6), (None, 6)])
def test_after_a_change_it_stays_for_the_cool_down(ago: timedelta | None, expected: int) -> None:
    """ENG-145."""
    assert desired(waiting=1000, changed_ago=ago) == expected
