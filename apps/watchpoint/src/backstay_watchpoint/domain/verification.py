"""Which forecasts are compared with observations, and with which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay_watchpoint.domain.forecasts import LEADS, Model
from backstay_watchpoint.domain.layouts import isd_key, radar_observation_key
from backstay_watchpoint.domain.payloads import TimeRange

YOUNGEST = timedelta(hours=24)
OLDEST = timedelta(hours=48)


@dataclass(frozen=True, slots=True)
class Pair:
    """What was said and what came: a value, or a chance between 0 and 1 and whether it happened."""

    forecast: float
    observed: float


def window(now: datetime) -> TimeRange:
    """Return the stretch of run timestamps that is verified at a moment: 24 to 48 hours before, its end excluded."""
    return TimeRange(now - OLDEST, now - YOUNGEST)


def valid_times(model: Model, run_timestamp: datetime) -> list[datetime]:
    """Return the moments that a run makes statements about."""
    return [run_timestamp + lead for lead in LEADS[model]]


def observation_keys(model: Model, run_timestamp: datetime) -> list[str]:
    """Return the keys of the observations that a run is compared with."""
    key = radar_observation_key if model is Model.NOWCAST else isd_key
    return [key(at) for at in valid_times(model, run_timestamp)]


def rmse(pairs: Sequence[Pair]) -> float:
    """Return the root of the mean squared error."""
    return math.sqrt(sum((pair.forecast - pair.observed) ** 2 for pair in pairs) / len(pairs))


def bias(pairs: Sequence[Pair]) -> float:
    """Return the mean error: positive if the forecast was too high."""
    return sum(pair.forecast - pair.observed for pair in pairs) / len(pairs)


def brier(pairs: Sequence[Pair]) -> float:
    """Return the mean squared difference of chances and events: 0 is perfect, 1 is always wrong."""
    return sum((pair.forecast - pair.observed) ** 2 for pair in pairs) / len(pairs)
