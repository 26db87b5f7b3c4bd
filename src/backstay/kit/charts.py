"""Charts as geometry: pure functions that place shapes in a box of 100 by 100, which a template draws as SVG.

Texts stay outside of the picture, as HTML, so that they keep their size on every screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from backstay.kit.words import number_text

BOX = 100.0
MOST_LABELS = 6
MOST_COLUMNS = 12
"""Up to so many columns each has a label."""
BAR_SHARE = 0.82
"""Share of its column that a bar fills."""
SERIES_TONES = ("accent", "info", "good", "warn", "bad", "muted")

Formatter = Callable[[float], str]


@dataclass(frozen=True)
class Shape:
    """A rectangle in the box, with the text that is shown on hover."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    title: str
    href: str = ""


@dataclass(frozen=True)
class Curve:
    """A line through points, as SVG's `points`, and the outline of the area below it."""

    name: str
    tone: str
    points: str
    area: str


@dataclass(frozen=True)
class Chart:
    """What a template needs to draw one chart."""

    label: str
    shapes: Sequence[Shape] = ()
    curves: Sequence[Curve] = ()
    hovers: Sequence[Shape] = ()
    ticks: Sequence[str] = ()
    labels: Sequence[str] = ()
    has_all_labels: bool = False
    """True if each column has its label, which then stands below it."""
    legend: Sequence[tuple[str, str]] = ()
    empty: bool = False


@dataclass(frozen=True)
class StripCell:
    """One cell of a day strip: a state, the text on hover and an address."""

    state: str
    title: str = ""
    href: str = ""


@dataclass(frozen=True)
class StripRow:
    """One line of a day strip."""

    label: str
    cells: Sequence[StripCell] = field(default_factory=tuple)
    href: str = ""


def bars(
    points: Sequence[tuple[str, float]],
    *,
    label: str,
    tone: str = "accent",
    tones: Mapping[str, str] | None = None,
    text: Formatter = number_text,
) -> Chart:
    """One bar for each (label, value)."""
    top = nice_top([value for _, value in points])
    slot = BOX / max(len(points), 1)
    shapes = [
        Shape(
            x=_round(index * slot + slot * (1 - BAR_SHARE) / 2),
            y=_round(BOX - _height(value, top)),
            width=_round(slot * BAR_SHARE),
            height=_round(_height(value, top)),
            tone=(tones or {}).get(name, tone),
            title=f"{name}: {text(value)}",
        )
        for index, (name, value) in enumerate(points)
    ]
    return Chart(
        label,
        shapes=shapes,
        ticks=_ticks(top, text),
        labels=_column_labels([name for name, _ in points]),
        has_all_labels=len(points) <= MOST_COLUMNS,
        empty=not any(value for _, value in points),
    )


def stacked(
    columns: Sequence[tuple[str, Mapping[str, float]]],
    *,
    label: str,
    tones: Mapping[str, str] | None = None,
    text: Formatter = number_text,
) -> Chart:
    """One column for each (label, {name: value}), the names piled up in the order of first sight."""
    names = list(dict.fromkeys(name for _, parts in columns for name in parts))
    colours = {name: (tones or {}).get(name, _series_tone(index)) for index, name in enumerate(names)}
    top = nice_top([sum(parts.values()) for _, parts in columns])
    slot = BOX / max(len(columns), 1)
    shapes: list[Shape] = []
    for index, (column, parts) in enumerate(columns):
        floor = BOX
        for name in names:
            height = _height(parts.get(name, 0), top)
            if height:
                floor -= height
                shapes.append(
                    Shape(
                        x=_round(index * slot + slot * (1 - BAR_SHARE) / 2),
                        y=_round(floor),
                        width=_round(slot * BAR_SHARE),
                        height=_round(height),
                        tone=colours[name],
                        title=f"{column}, {name}: {text(parts[name])}",
                    )
                )
    return Chart(
        label,
        shapes=shapes,
        ticks=_ticks(top, text),
        labels=_column_labels([column for column, _ in columns]),
        has_all_labels=len(columns) <= MOST_COLUMNS,
        legend=list(colours.items()),
        empty=not shapes,
    )


def lines(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    label: str,
    tones: Mapping[str, str] | None = None,
    text: Formatter = number_text,
) -> Chart:
    """One curve for each named series over the same labels; a missing value is left out."""
    known = [value for values in series.values() for value in values if value is not None]
    top = nice_top(known)
    colours = {name: (tones or {}).get(name, _series_tone(index)) for index, name in enumerate(series)}
    return Chart(
        label,
        curves=[_curve(name, colours[name], values, top) for name, values in series.items()],
        hovers=_hovers(labels, series, text),
        ticks=_ticks(top, text),
        labels=few(labels),
        legend=list(colours.items()) if len(series) > 1 else [],
        empty=not known,
    )


def sparkline(values: Sequence[float | None], *, label: str, tone: str = "accent") -> Chart:
    """A curve without axes, for a line of text or a cell."""
    known = [value for value in values if value is not None]
    curve = _curve(label, tone, values, max(known, default=0) or 1)
    return Chart(label, curves=[curve], empty=not known)


def nice_top(values: Sequence[float]) -> float:
    """Return the next of 1, 2, 2.5, 5 times a power of ten at or above the largest value."""
    largest = max((value for value in values if math.isfinite(value)), default=0)
    if largest <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(largest))
    if power == 0:
        # Below what a power of ten can be.
        return largest
    return next((step * power for step in (1, 2, 2.5, 5) if step * power >= largest), 10 * power)


def _column_labels(labels: Sequence[str]) -> list[str]:
    return list(labels) if len(labels) <= MOST_COLUMNS else few(labels)


def few(labels: Sequence[str], most: int = MOST_LABELS) -> list[str]:
    """Keep at most `most` labels, evenly spread, the first and the last among them."""
    if len(labels) <= most:
        return list(labels)
    last = len(labels) - 1
    return [labels[round(index * last / (most - 1))] for index in range(most)]


def _curve(name: str, tone: str, values: Sequence[float | None], top: float) -> Curve:
    step = BOX / max(len(values) - 1, 1)
    placed = [
        (_round(index * step), _round(BOX - _height(value, top)))
        for index, value in enumerate(values)
        if value is not None
    ]
    if len(placed) == 1:
        # A line needs two points; with round ends it is a dot.
        placed *= 2
    points = " ".join(f"{x},{y}" for x, y in placed)
    area = f"{placed[0][0]},{BOX} {points} {placed[-1][0]},{BOX}" if placed else ""
    return Curve(name, tone, points, area)


def _hovers(
    labels: Sequence[str], series: Mapping[str, Sequence[float | None]], text: Formatter
) -> list[Shape]:
    """Invisible columns that carry the values of all series on hover."""
    slot = BOX / max(len(labels), 1)
    return [
        Shape(_round(index * slot), 0, _round(slot), BOX, "none", _values_at(name, index, series, text))
        for index, name in enumerate(labels)
    ]


def _values_at(label: str, index: int, series: Mapping[str, Sequence[float | None]], text: Formatter) -> str:
    told = [
        f"{name}: {text(value)}"
        for name, values in series.items()
        if index < len(values) and (value := values[index]) is not None
    ]
    return "\n".join([label, *told])


def _ticks(top: float, text: Formatter) -> list[str]:
    return [text(top), text(top / 2), text(0)]


def _height(value: float, top: float) -> float:
    return min(max(value, 0) / top, 1) * BOX if math.isfinite(value) else 0


def _series_tone(index: int) -> str:
    return SERIES_TONES[index % len(SERIES_TONES)]


def _round(value: float) -> float:
    return round(value, 3)
