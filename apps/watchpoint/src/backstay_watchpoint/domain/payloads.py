"""What is sent to the inference provider and over the queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from backstay_watchpoint.domain.forecasts import Model


class TaskType(StrEnum):
    """What the provider's worker is asked to do."""

    INFERENCE = "inference"
    VERIFICATION = "verification"
    CALIBRATION = "calibration"


class Coefficients(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How radar reflectivity becomes a chance of rain in one tile: a line above each threshold, a constant below."""

    high_threshold: float
    high_slope: float
    high_base: float
    mid_threshold: float
    mid_slope: float
    mid_base: float
    low_base: float


class TimeRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of time, its end excluded."""

    start: datetime
    end: datetime


class InputConfig(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the worker reads; which fields there are depends on the task type."""

    calibration: dict[str, Coefficients] | None = None
    gfs_source_paths: tuple[str, ...] = ()
    nowcast_source_paths: tuple[str, ...] = ()
    observation_paths: tuple[str, ...] = ()
    verification_window: TimeRange | None = None
    calibration_time_range: TimeRange | None = None
    tiles: tuple[str, ...] = ()


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Switches of the worker."""

    force_rebuild: bool = False
    mock_inference: bool = False


class InferencePayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request to the provider."""

    task_type: TaskType
    model: Model
    run_timestamp: datetime
    output_destination: str
    input_config: InputConfig
    options: Options = Options()

    def as_json(self) -> dict[str, Any]:
        """Return the request's `input` as plain JSON."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built


class EvalAction(StrEnum):
    """What the evaluation worker is asked to do."""

    GENERATE_SUMMARY = "generate_summary"


class EvalMessage(msgspec.Struct, frozen=True):
    """A message on the standard evaluation queue."""

    action: EvalAction
    watchpoint_id: str
    tile_id: str
    dedupe_id: str


class NotificationKind(StrEnum):
    """What a message on the notification queue asks for."""

    DIGEST = "generate_digest"
    DELIVERY = "deliver"


class NotificationMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message on the notification queue."""

    kind: NotificationKind
    organization_id: str
    dedupe_id: str
    due: datetime | None = None
    delivery_id: str | None = None
    notification_id: str | None = None
    payload: dict[str, Any] = {}


class AlertMessage(msgspec.Struct, frozen=True):
    """A message on the notification queue that asks for an alert to be mailed to the operators."""

    alert_id: str
    dedupe_id: str


def inference(
    model: Model,
    run_timestamp: datetime,
    destination: str,
    source_paths: Sequence[str],
    *,
    calibration: Mapping[str, Coefficients] | None = None,
    force_rebuild: bool = False,
) -> InferencePayload:
    """Ask for a forecast; only the nowcast takes coefficients."""
    paths = tuple(source_paths)
    if model is Model.NOWCAST:
        config = InputConfig(calibration=dict(calibration or {}), nowcast_source_paths=paths)
    else:
        config = InputConfig(gfs_source_paths=paths)
    return _payload(
        TaskType.INFERENCE, model, run_timestamp, destination, config, force_rebuild=force_rebuild
    )


def verification(
    model: Model,
    run_timestamp: datetime,
    destination: str,
    *,
    observations: Sequence[str],
    window: TimeRange,
) -> InferencePayload:
    """Ask for a forecast to be compared with what was observed."""
    config = InputConfig(observation_paths=tuple(observations), verification_window=window)
    return _payload(TaskType.VERIFICATION, model, run_timestamp, destination, config)


def calibration(tiles: Sequence[str], time_range: TimeRange, destination: str) -> InferencePayload:
    """Ask for the nowcast's coefficients to be fitted anew."""
    config = InputConfig(calibration_time_range=time_range, tiles=tuple(tiles))
    return _payload(TaskType.CALIBRATION, Model.NOWCAST, time_range.end, destination, config)


def read_payload(given: Any) -> InferencePayload:
    """Read a request as the worker gets it; raises msgspec.ValidationError."""
    return msgspec.convert(given, InferencePayload)


def _payload(
    task_type: TaskType,
    model: Model,
    run_timestamp: datetime,
    destination: str,
    config: InputConfig,
    *,
    force_rebuild: bool = False,
) -> InferencePayload:
    return InferencePayload(
        task_type,
        model,
        run_timestamp.astimezone(UTC),
        destination,
        config,
        Options(force_rebuild=force_rebuild),
    )
