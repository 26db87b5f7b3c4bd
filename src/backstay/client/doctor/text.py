"""How lengths of time and lists are written for people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def spoken(length: timedelta) -> str:
    """A length of time in its two largest units: "2d 3h", "4m 10s", "850ms"."""
    seconds = abs(length.total_seconds())
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 10:
        return f"{seconds:.1f}s".replace(".0s", "s")
    left = round(seconds)
    parts: list[str] = []
    for unit, size in _UNITS:
        amount, left = divmod(left, size)
        if amount:
            parts.append(f"{amount}{unit}")
        elif parts:
            break
        if len(parts) == 2:
            break
    return " ".join(parts)


def listed(names: Iterable[object], *, most: int = 5) -> str:
    """Names in order, the first few of them: "a, b, c and 4 more"."""
    ordered = sorted(str(name) for name in names)
    shown = ", ".join(ordered[:most])
    return shown if len(ordered) <= most else f"{shown} and {len(ordered) - most} more"


MOST_COUNTED = 1000
"""Where the doctor stops counting: beyond it a number costs more than it tells."""


def capped(number: int, noun: str) -> str:
    """A number that was counted only so far, with its noun."""
    return f"{MOST_COUNTED:,} or more {noun}s" if number >= MOST_COUNTED else counted(number, noun)


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 job", "3 jobs"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def retry_command(job_id: object) -> str:
    """The whole command that runs a dead job again, with the reason that it asks for."""
    return f"backstay dead retry {job_id} --reason 'what was mended'"
