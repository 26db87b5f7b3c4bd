"""How a length of time may be written: "1h30m", a number of seconds, or a timedelta."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from backstay.errors import InvalidPolicy

Duration = timedelta | str | int | float

LONGEST = timedelta(days=36_500)
"""A century: longer is surely a mistake, and up to here seconds as a float keep every microsecond."""

_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|w)\s*")
_NEEDS = 'a duration such as "250ms", "30s", "1h30m", "7d", a number of seconds or a timedelta'


def duration(value: object, *, field: str = "duration", shortest: timedelta = timedelta(0)) -> timedelta:
    """Read a length of time, or raise `InvalidPolicy` naming `field`.

    Accepts "250ms", "30s", "5m", "1h30m", "7d", seconds as a number, or a timedelta; never a negative one.
    """
    least = f"at least {written(shortest)} and " if shortest else ""
    needs = f"{_NEEDS}, {least}at most 36500 days"
    try:
        length = _read(value)
    except (OverflowError, ValueError):
        raise InvalidPolicy(field, value, needs=needs) from None
    if length is None or not shortest <= length <= LONGEST:
        raise InvalidPolicy(field, value, needs=needs)
    return length


def seconds(length: timedelta) -> int | float:
    """The length as a number of seconds, whole where it is whole, so that JSON stays readable."""
    exact = length.total_seconds()
    return int(exact) if exact.is_integer() else exact


def written(length: timedelta) -> str:
    """The length as it could be given again: "1h30m", "5s", "250ms"."""
    left, parts = length, []
    for unit in ("d", "h", "m", "s", "ms"):
        amount, rest = divmod(left, _UNITS[unit])
        if unit == "ms" and rest:
            return f"{seconds(length)}s"
        if amount:
            parts.append(f"{amount}{unit}")
        left = rest
    return "".join(parts) or "0s"


def _read(value: object) -> timedelta | None:
    match value:
        case bool():
            return None
        case timedelta():
            return value
        case int() | float() if math.isfinite(value):
            return timedelta(seconds=value)
        case str():
            return _read_text(value)
        case _:
            return None


def _read_text(text: str) -> timedelta | None:
    total, position = timedelta(0), 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            return None
        total += _UNITS[part[2]] * float(part[1])
        position = part.end()
    return total if position else None
