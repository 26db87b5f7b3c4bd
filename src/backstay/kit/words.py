"""Numbers, sizes, durations and times in words for people: pure functions, no clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SPANS = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
    (timedelta(seconds=1), "second"),
)
JUST_NOW = timedelta(seconds=2)


def number_text(value: float | int | None, digits: int | None = None) -> str:
    """Write a number with thin spaces between thousands; an absent one is a dash."""
    if value is None:
        return "–"
    if digits is None:
        written = f"{value:,.{2 if abs(value) < 100 else 1}f}".rstrip("0").rstrip(".")
    else:
        written = f"{value:,.{digits}f}"
    return written.replace(",", "\N{NARROW NO-BREAK SPACE}")


def percent_text(share: float | None, digits: int = 1) -> str:
    """Write a share between 0 and 1 as a percentage."""
    if share is None:
        return "–"
    return f"{share * 100:.{digits}f}\N{NARROW NO-BREAK SPACE}%"


def size_text(size: int | None) -> str:
    """Write a number of bytes with the unit that leaves one to four digits."""
    if size is None:
        return "–"
    amount = float(size)
    for unit in SIZE_UNITS:
        if abs(amount) < 1024 or unit == SIZE_UNITS[-1]:
            break
        amount /= 1024
    shown = f"{amount:.0f}" if unit == "B" or abs(amount) >= 100 else f"{amount:.1f}"
    return f"{shown}\N{NO-BREAK SPACE}{unit}"


def duration_text(span: timedelta | float | None) -> str:
    """Write a span (or seconds) with its two largest units: `12 ms`, `3.4 s`, `2 min 5 s`, `3 d 4 h`."""
    if span is None:
        return "–"
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    if seconds < 0:
        return f"−{duration_text(-seconds)}"
    if seconds < 0.001:
        return _with_unit(f"{seconds * 1_000_000:.0f}", "µs") if seconds else _with_unit("0", "s")
    if seconds < 1:
        return _with_unit(f"{seconds * 1000:.0f}", "ms")
    if seconds < 60:
        return _with_unit(f"{seconds:.1f}".removesuffix(".0"), "s")
    return _two_largest(round(seconds))


def _two_largest(seconds: int) -> str:
    parts: list[tuple[int, str]] = []
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        amount, seconds = divmod(seconds, length)
        if amount or parts:
            parts.append((amount, unit))
    return " ".join(_with_unit(str(amount), unit) for amount, unit in parts[:2] if amount)


def _with_unit(amount: str, unit: str) -> str:
    return f"{amount}\N{NO-BREAK SPACE}{unit}"


def relative_time(moment: datetime, now: datetime) -> str:
    """Say how far `moment` lies from `now`: `just now`, `3 minutes ago`, `in 2 hours`."""
    gap = now - aware(moment)
    if abs(gap) < JUST_NOW:
        return "just now"
    words = span_words(abs(gap))
    return f"{words} ago" if gap > timedelta() else f"in {words}"


def span_words(span: timedelta) -> str:
    """Name a span by its largest whole unit: `3 minutes`, `1 day`."""
    for length, unit in _SPANS:
        count = span // length
        if count:
            return count_of(count, unit)
    return "less than a second"


def count_of(count: int, singular: str, plural: str | None = None) -> str:
    """Write a count with its noun: `1 job`, `3 jobs`."""
    noun = singular if count == 1 else plural or f"{singular}s"
    return f"{number_text(count)} {noun}"


def exact_time(moment: datetime, zone: tzinfo = UTC) -> str:
    """Write a moment to the second with its zone: `2026-03-01 09:30:00 UTC`."""
    local = aware(moment).astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname() or ''}".rstrip()


def aware(moment: datetime) -> datetime:
    """Read a moment without a zone as UTC, as SQLite hands them out."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
