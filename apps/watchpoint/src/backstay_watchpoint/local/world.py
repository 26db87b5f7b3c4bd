"""A small weather of its own: what models, satellites, radar and stations say of it, drawn from a seed.

The truth is known, so what is computed from it can be checked: temperatures are a daily wave, rain follows the radar
by a line whose slope is known for each tile.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from backstay_watchpoint.domain import layouts
from backstay_watchpoint.domain.calibration import DEFAULT, chance_of_rain
from backstay_watchpoint.domain.forecasts import tile_of
from backstay_watchpoint.domain.payloads import Coefficients

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Location:
    """A station."""

    id: str
    latitude: float
    longitude: float

    @property
    def tile(self) -> str:
        """The tile that the station is in."""
        return tile_of(self.latitude, self.longitude)


@dataclass(frozen=True, slots=True)
class World:
    """The truth: stations, how wrong the model is, and how rain really follows the radar in each tile."""

    seed: int
    locations: tuple[Location, ...]
    model_bias: float = 1.5
    model_noise: float = 0.8
    rain: dict[str, Coefficients] = field(default_factory=dict)

    @classmethod
    def drawn(cls, seed: int, *, tiles: dict[str, float], stations: int = 4) -> World:
        """Draw stations in tiles; each tile's number is by how much its true slopes differ from the default ones."""
        random = np.random.default_rng(seed)
        locations = []
        rain = {}
        for tile, factor in tiles.items():
            row, column = (int(part) for part in tile.split("."))
            for number in range(stations):
                latitude = 90 - 22.5 * (row + float(random.uniform(0.1, 0.9)))
                longitude = 45 * (column + float(random.uniform(0.1, 0.9)))
                locations.append(
                    Location(f"S{row}{column}{number:02d}", round(latitude, 3), round(longitude, 3))
                )
            rain[tile] = msgspec.structs.replace(
                DEFAULT, high_slope=DEFAULT.high_slope * factor, mid_slope=DEFAULT.mid_slope * factor
            )
        return cls(seed, tuple(locations), rain=rain)

    def temperature(self, location: Location, at: datetime) -> float:
        """Return the true temperature: a daily wave over a yearly one, cooler towards the poles."""
        hours = (at - _EPOCH) / timedelta(hours=1)
        day = np.sin(2 * np.pi * (hours + location.longitude / 15) / 24)
        year = np.sin(2 * np.pi * hours / (24 * 365.25))
        return float(25 - abs(location.latitude) / 3 + 6 * day + 8 * year)

    def reflectivity(self, location: Location, at: datetime) -> float:
        """Return what the radar shows, 0 to 60."""
        minutes = int((at - _EPOCH) / timedelta(minutes=5))
        return float(self._random(location, minutes).uniform(0, 60))

    def rain_share(self, location: Location, at: datetime) -> float:
        """Return which share of the place is in the rain, by the tile's true line."""
        return chance_of_rain(self.reflectivity(location, at), self.rain.get(location.tile, DEFAULT))

    def gfs(self, run: datetime, hour: int) -> bytes:
        """Return a file of the global model: temperatures that are too warm by the bias, and a rain index."""
        rows = []
        for location in self.locations:
            at = run + timedelta(hours=hour)
            noise = self._random(location, int((at - _EPOCH) / timedelta(hours=1)) + 7).normal(
                0, self.model_noise
            )
            rows.append(
                [location.id, location.tile, self.temperature(location, at) + self.model_bias + float(noise)]
            )
        return _csv(["location_id", "tile_id", "temperature"], rows)

    def goes(self, at: datetime) -> bytes:
        """Return a satellite image: the share of clouds."""
        rows = [[found.id, found.tile, self.reflectivity(found, at) / 60] for found in self.locations]
        return _csv(["location_id", "tile_id", "clouds"], rows)

    def mrms(self, at: datetime) -> bytes:
        """Return a radar composite."""
        rows = [[found.id, found.tile, self.reflectivity(found, at)] for found in self.locations]
        return _csv(["location_id", "tile_id", "reflectivity"], rows)

    def observed(self, at: datetime) -> bytes:
        """Return what the stations saw."""
        rows = [
            [found.id, found.tile, self.temperature(found, at), self.rain_share(found, at)]
            for found in self.locations
        ]
        return _csv(["location_id", "tile_id", "temperature", "rain"], rows)

    def upstream_objects(
        self, start: datetime, end: datetime, *, nowcast_step: timedelta
    ) -> dict[str, dict[str, bytes]]:
        """Return what NOAA's three buckets hold of a stretch of time, by source and key."""
        held: dict[str, dict[str, bytes]] = {source: {} for source in layouts.SourceId}
        for run in _steps(start, end, layouts.GFS_CYCLE):
            for hour, key in zip(layouts.GFS_HOURS, layouts.gfs_keys(run), strict=True):
                held[layouts.SourceId.GFS][key] = self.gfs(run, hour)
        for at in _steps(start, end, nowcast_step):
            held[layouts.SourceId.GOES][layouts.goes_key(at)] = self.goes(at)
            radar = at + timedelta(seconds=98)
            held[layouts.SourceId.MRMS][layouts.mrms_key(radar)] = self.mrms(at)
        return held

    def _random(self, location: Location, step: int) -> np.random.Generator:
        place = int.from_bytes(location.id.encode(), "big") % 1_000_003
        return np.random.default_rng([self.seed, place, max(step, 0)])


def _steps(start: datetime, end: datetime, step: timedelta) -> list[datetime]:
    first = _EPOCH + -(-(start - _EPOCH) // step) * step
    return [
        first + number * step
        for number in range(max(0, int((end - first) / step) + 1))
        if first + number * step <= end
    ]


def _csv(head: list[str], rows: list[list[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()
