"""The words of forecasts: models, statuses, where output lies, how long it is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

SUCCESS_MARKER = "_SUCCESS"


class Model(StrEnum):
    """The two forecast models."""

    MEDIUM_RANGE = "medium_range"
    NOWCAST = "nowcast"


class RunStatus(StrEnum):
    """What has become of a forecast run."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    DELETED = "deleted"


RETENTION = {Model.NOWCAST: timedelta(days=7), Model.MEDIUM_RANGE: timedelta(days=90)}
TIMEOUTS = {Model.NOWCAST: timedelta(minutes=20), Model.MEDIUM_RANGE: timedelta(hours=3)}
LEADS = {
    Model.NOWCAST: tuple(timedelta(minutes=10 * step) for step in range(7)),
    Model.MEDIUM_RANGE: tuple(timedelta(hours=3 * step) for step in range(8)),
}


def output_prefix(model: Model, run_timestamp: datetime) -> str:
    """Return the key prefix of a run's output objects."""
    return f"forecasts/{model}/{run_timestamp.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}/"


def success_key(prefix: str) -> str:
    """Return the key of the marker object that is written last."""
    return f"{prefix}{SUCCESS_MARKER}"


def kept_since(model: Model, now: datetime) -> datetime:
    """Return the oldest run timestamp whose output is still kept."""
    return now - RETENTION[model]


def tile_of(latitude: float, longitude: float) -> str:
    """Return the tile of a place: rows of 22.5 degrees from the north pole, columns of 45 from Greenwich."""
    if not -90 <= latitude <= 90:
        raise ValueError(f"latitude {latitude} is outside of -90 to 90")
    row = min(int((90 - latitude) // 22.5), 7)
    column = int((longitude % 360) // 45) % 8
    return f"{row}.{column}"
