"""What the provider's worker computes: forecasts, their verification, and calibration, on objects in the store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from backstay_watchpoint.domain.calibration import DEFAULT, RadarPoint, chance_of_rain
from backstay_watchpoint.domain.forecasts import LEADS, SUCCESS_MARKER, Model
from backstay_watchpoint.domain.layouts import GFS_HOURS
from backstay_watchpoint.domain.payloads import InferencePayload
from backstay_watchpoint.domain.verification import Pair, bias, brier, observation_keys, rmse

Read = Callable[[str], bytes]
Write = Callable[[str, bytes], None]


@dataclass(frozen=True, slots=True)
class Result:
    """One verification result."""

    location_id: str
    tile_id: str
    variable: str
    metric: str
    value: float


def forecast(payload: InferencePayload, read: Read, write: Write) -> int:
    """Compute a forecast, a file a tile, and the marker last; returns how many places it is for."""
    places = _nowcast(payload, read) if payload.model is Model.NOWCAST else _medium_range(payload, read)
    tiles: dict[str, list[dict[str, Any]]] = {}
    for place in places:
        tiles.setdefault(place["tile_id"], []).append(place)
    for tile, found in sorted(tiles.items()):
        write(f"{payload.output_destination}{tile}.json", json.dumps({"places": found}).encode())
    write(f"{payload.output_destination}{SUCCESS_MARKER}", b"")
    return len(places)


def verify(payload: InferencePayload, tiles: Iterable[str], read: Read) -> list[Result]:
    """Compare a forecast with the stations: RMSE and bias of temperatures, Brier score of rain."""
    observed: list[dict[str, dict[str, str]]] = [
        {row["location_id"]: row for row in _rows(read(path))}
        for path in payload.input_config.observation_paths
    ]
    results: list[Result] = []
    for tile in tiles:
        for place in json.loads(read(f"{payload.output_destination}{tile}.json"))["places"]:
            results += _verify_place(place, observed)
    return results


def radar_points(
    runs: Sequence[tuple[datetime, str]], tile: str, read: Read, *, observations: str
) -> list[RadarPoint]:
    """Put together what the radar showed and what fell, for one tile over many nowcasts."""
    points = []
    for run_timestamp, destination in runs:
        # Only the first moment: later ones are the radar's picture carried forward.
        observed = {
            row["location_id"]: float(row["rain"])
            for row in _rows(read(f"{observations}{observation_keys(Model.NOWCAST, run_timestamp)[0]}"))
        }
        for place in json.loads(read(f"{destination}{tile}.json"))["places"]:
            if place["location_id"] in observed:
                points.append(RadarPoint(place["reflectivity"], observed[place["location_id"]]))
    return points


def _verify_place(place: dict[str, Any], observed: Sequence[dict[str, dict[str, str]]]) -> list[Result]:
    rows = [seen.get(place["location_id"]) for seen in observed]
    results = []

    def add(variable: str, metric: str, value: float) -> None:
        results.append(Result(place["location_id"], place["tile_id"], variable, metric, value))

    if "temperature" in place:
        warm = [
            Pair(said, float(row["temperature"]))
            for said, row in zip(place["temperature"], rows, strict=True)
            if row is not None
        ]
        if warm:
            add("temperature", "rmse", rmse(warm))
            add("temperature", "bias", bias(warm))
    wet = [
        Pair(said, float(row["rain"]))
        for said, row in zip(place["precipitation_probability"], rows, strict=True)
        if row is not None
    ]
    if wet:
        add("precipitation_probability", "brier", brier(wet))
    return results


def _medium_range(payload: InferencePayload, read: Read) -> list[dict[str, Any]]:
    files = [
        {row["location_id"]: row for row in _rows(read(path))}
        for path in payload.input_config.gfs_source_paths
    ]
    leads = [lead.total_seconds() / 3600 for lead in LEADS[Model.MEDIUM_RANGE]]
    places = []
    for location_id, first in files[0].items():
        known = [float(found[location_id]["temperature"]) for found in files]
        curve = np.interp(leads, GFS_HOURS[: len(known)], known)
        cooling = np.clip((known[0] - curve) / 20 + 0.2, 0.0, 1.0)  # falling temperatures bring rain
        places.append(
            {
                "location_id": location_id,
                "tile_id": first["tile_id"],
                "temperature": [float(value) for value in curve],
                "precipitation_probability": [float(value) for value in cooling],
            }
        )
    return places


def _nowcast(payload: InferencePayload, read: Read) -> list[dict[str, Any]]:
    image, composite = payload.input_config.nowcast_source_paths
    clouds = {row["location_id"]: float(row["clouds"]) for row in _rows(read(image))}
    coefficients = payload.input_config.calibration or {}
    places = []
    for row in _rows(read(composite)):
        reflectivity = float(row["reflectivity"])
        # Clear sky above a radar echo means clutter, not rain.
        seen = reflectivity if clouds.get(row["location_id"], 0.0) > 0.02 else 0.0
        chance = chance_of_rain(seen, coefficients.get(row["tile_id"], DEFAULT))
        places.append(
            {
                "location_id": row["location_id"],
                "tile_id": row["tile_id"],
                "reflectivity": reflectivity,
                "precipitation_probability": [chance] * len(LEADS[Model.NOWCAST]),
            }
        )
    return places


def _rows(body: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body.decode())))
