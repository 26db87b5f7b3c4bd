"""Checks that a single option passes or fails by name, as `InvalidPolicy` with what it needs instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any

from backstay.errors import InvalidPolicy
from backstay.model.text.durations import duration

Check = Callable[[str, object], Any]
"""Takes the option's name and value and returns the value as it is kept."""


def whole(low: int, high: int) -> Check:
    """A whole number within bounds; True and False are not numbers."""

    def check(name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidPolicy(name, value, needs=f"a whole number from {low} to {high}")
        return value

    return check


def number(low: float, high: float) -> Check:
    """A number within bounds, which also keeps out NaN."""

    def check(name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise InvalidPolicy(name, value, needs=f"a number from {low} to {high}")
        return float(value)

    return check


def flag(name: str, value: object) -> bool:
    """True or False and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise InvalidPolicy(name, value, needs="True or False")
    return value


def length(name: str, value: object) -> timedelta:
    """A duration, zero included."""
    return duration(value, field=name)


def at_least(shortest: timedelta) -> Check:
    """A duration that is not too short to mean anything."""

    def check(name: str, value: object) -> timedelta:
        return duration(value, field=name, shortest=shortest)

    return check


positive = at_least(timedelta(milliseconds=1))
"""A duration longer than zero, in the milliseconds that clocks and databases can keep apart."""


def optional(check: Check) -> Check:
    """None, or what `check` allows."""
    return lambda name, value: None if value is None else check(name, value)


def refuse_unknown(given: Mapping[str, object], known: Collection[str], *, prefix: str = "") -> None:
    """Raise for the first name that is not known, naming the one that was probably meant, or else all of them."""
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else f": {', '.join(sorted(known))}"
            raise InvalidPolicy(f"{prefix}{name}", value, needs=f"to be a known field{meant}")
