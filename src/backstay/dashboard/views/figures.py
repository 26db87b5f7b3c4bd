"""Charts of what ended and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from backstay.kit import Chart, charts
from backstay.kit.words import aware, duration_text
from backstay.model.figures import Figures, FiguresAt

MINUTE = timedelta(minutes=1)
ENDED_TONES = {"completed": "good", "failed": "bad", "crashed": "warn"}
SHARE_TONES = {"p50": "accent", "p95": "info", "p99": "warn"}


def filled_minutes(found: Sequence[FiguresAt], now: datetime, last: timedelta) -> list[FiguresAt]:
    """Return one entry for each minute of the last while, empty where nothing ended."""
    known = {aware(one.at).replace(second=0, microsecond=0): one.figures for one in found}
    end = aware(now).replace(second=0, microsecond=0)
    first = end - last + MINUTE
    minutes = [first + number * MINUTE for number in range(int(last / MINUTE))]
    return [FiguresAt(minute, known.get(minute, Figures())) for minute in minutes]


def throughput_chart(minutes: Sequence[FiguresAt]) -> Chart:
    """Return how many attempts ended how in each minute."""
    return charts.stacked(
        [(_label(one), _ended(one.figures)) for one in minutes],
        label="Attempts that ended, a minute",
        tones=ENDED_TONES,
    )


def wait_chart(minutes: Sequence[FiguresAt]) -> Chart:
    """Return how long jobs had been due when their attempts began, by the minute in which those ended."""
    shares = {"p50": "wait_p50_ms", "p95": "wait_p95_ms", "p99": "wait_p99_ms"}
    return _shares_chart(minutes, shares, label="Wait before an attempt")


def duration_chart(minutes: Sequence[FiguresAt]) -> Chart:
    """Return how long attempts took, by the minute in which they ended."""
    shares = {"p50": "p50_ms", "p95": "p95_ms", "p99": "p99_ms"}
    return _shares_chart(minutes, shares, label="Duration of an attempt")


def _shares_chart(minutes: Sequence[FiguresAt], shares: Mapping[str, str], *, label: str) -> Chart:
    """Lines of what half of all, 95 and 99 of a hundred came to at most; `shares` are fields of the figures."""
    return charts.lines(
        [_label(one) for one in minutes],
        {share: [_seconds(getattr(one.figures, name)) for one in minutes] for share, name in shares.items()},
        label=label,
        tones=SHARE_TONES,
        text=duration_text,
    )


def _ended(figures: Figures) -> dict[str, float]:
    told = {"completed": figures.completed, "failed": figures.failed, "crashed": figures.crashed}
    return {name: float(number) for name, number in told.items() if number}


def _label(one: FiguresAt) -> str:
    return f"{one.at:%H:%M}"


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
