"""How lengths of time are written for people."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backstay.client.doctor.text import spoken


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ms"),
        (0.85, "850ms"),
        (2, "2s"),
        (2.4, "2.4s"),
        (59.9, "1m"),
        (250, "4m 10s"),
        (3600, "1h"),
        (3605, "1h"),
        (183_600, "2d 3h"),
    ],
)
def test_lengths_of_time_are_written_in_their_largest_units(seconds: float, text: str) -> None:
    assert spoken(timedelta(seconds=seconds)) == text
