"""Calibration: fitting a tile's coefficients, and which changes a person must approve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

import msgspec

from backstay_watchpoint.domain.payloads import Coefficients, TimeRange

ENOUGH_RESULTS = 30
RANGE = timedelta(days=30)
BOUND = Decimal("0.15")
VIOLATION = "delta_exceeded_15_percent"
FITTED = ("high_slope", "high_base", "mid_slope", "mid_base", "low_base")
FEWEST_POINTS = 3

DEFAULT = Coefficients(
    high_threshold=40.0,
    high_slope=0.01,
    high_base=0.3,
    mid_threshold=20.0,
    mid_slope=0.02,
    mid_base=-0.2,
    low_base=0.05,
)


class CandidateStatus(StrEnum):
    """What became of a proposed change."""

    PENDING = "pending"
    PROMOTED = "promoted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class RadarPoint:
    """A radar reflectivity and the share of rain that was observed with it."""

    reflectivity: float
    observed: float


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line."""

    slope: float
    base: float


@dataclass(frozen=True, slots=True)
class Violation:
    """A change too large to be applied by itself."""

    field: str
    current: float
    proposed: float

    @property
    def reason(self) -> str:
        """Say which coefficient would change, and from what to what."""
        return f"{VIOLATION}: {self.field} {self.current:g} → {self.proposed:g}"


def time_range(now: datetime) -> TimeRange:
    """Return the stretch of verification results that calibration looks at."""
    return TimeRange(now - RANGE, now)


def least_squares(points: Sequence[RadarPoint]) -> Line:
    """Return the line with the smallest squared error; raises ValueError if all points lie above one another."""
    count = len(points)
    mean_x = sum(point.reflectivity for point in points) / count
    mean_y = sum(point.observed for point in points) / count
    spread = sum((point.reflectivity - mean_x) ** 2 for point in points)
    if spread == 0:
        raise ValueError("a line needs points at two different reflectivities")
    slope = sum((point.reflectivity - mean_x) * (point.observed - mean_y) for point in points) / spread
    return Line(slope, mean_y - slope * mean_x)


def fit(points: Sequence[RadarPoint], current: Coefficients) -> Coefficients:
    """Fit a tile's coefficients; a stretch with too few points keeps what it has. Thresholds stay."""
    high = [point for point in points if point.reflectivity >= current.high_threshold]
    mid = [point for point in points if current.mid_threshold <= point.reflectivity < current.high_threshold]
    low = [point for point in points if point.reflectivity < current.mid_threshold]
    changed: dict[str, float] = {}
    for name, part in (("high", high), ("mid", mid)):
        if len({point.reflectivity for point in part}) >= FEWEST_POINTS:
            line = least_squares(part)
            changed |= {f"{name}_slope": line.slope, f"{name}_base": line.base}
    if len(low) >= FEWEST_POINTS:
        changed["low_base"] = sum(point.observed for point in low) / len(low)
    return msgspec.structs.replace(current, **changed)


def chance_of_rain(reflectivity: float, coefficients: Coefficients) -> float:
    """Return the chance of rain for a reflectivity, between 0 and 1."""
    if reflectivity >= coefficients.high_threshold:
        raw = coefficients.high_slope * reflectivity + coefficients.high_base
    elif reflectivity >= coefficients.mid_threshold:
        raw = coefficients.mid_slope * reflectivity + coefficients.mid_base
    else:
        raw = coefficients.low_base
    return min(1.0, max(0.0, raw))


def exceeds_bound(current: float, proposed: float) -> bool:
    """Tell whether a change is 15 % or more, in either direction; any change of a zero is."""
    if current == proposed:
        return False
    before = Decimal(repr(current))
    return abs(Decimal(repr(proposed)) - before) >= BOUND * abs(before)


def violations(current: Coefficients, proposed: Coefficients) -> list[Violation]:
    """Return the coefficients whose change a person must approve; none means it is applied at once."""
    return [
        Violation(name, getattr(current, name), getattr(proposed, name))
        for name in FITTED
        if exceeds_bound(getattr(current, name), getattr(proposed, name))
    ]
