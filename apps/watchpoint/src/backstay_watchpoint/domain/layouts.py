"""Where NOAA keeps its data: key prefixes to list, and the moment that a key stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

GFS_CYCLE = timedelta(hours=6)
GFS_HOURS = tuple(range(0, 121, 24))
GFS_LAST_HOUR = GFS_HOURS[-1]
_GOES_PRODUCT = "ABI-L2-MCMIPC"
_MRMS_PRODUCT = "MergedReflectivityQCComposite_00.50"
_GFS_KEY = re.compile(r"gfs\.(\d{8})/(\d{2})/atmos/gfs\.t(\d{2})z\.pgrb2\.0p25\.f(\d{3})")
_GOES_KEY = re.compile(
    rf"{_GOES_PRODUCT}/\d{{4}}/\d{{3}}/\d{{2}}/OR_{_GOES_PRODUCT}-M\d_G\d{{2}}_s(\d{{13}})\d_.*\.nc"
)
_MRMS_KEY = re.compile(rf"CONUS/{_MRMS_PRODUCT}/\d{{8}}/MRMS_{_MRMS_PRODUCT}_(\d{{8}}-\d{{6}})\.grib2\.gz")


class SourceId(StrEnum):
    """The upstream sources; GOES and MRMS together feed the nowcast."""

    GFS = "gfs"
    GOES = "goes"
    MRMS = "mrms"


@dataclass(frozen=True, slots=True)
class Found:
    """One observation or model run in a bucket, and the key that shows it."""

    timestamp: datetime
    key: str


def prefixes(source: SourceId, since: datetime, until: datetime) -> list[str]:
    """Return the prefixes that together hold everything of a source after `since`, up to `until`."""
    since, until = since.astimezone(UTC), until.astimezone(UTC)
    match source:
        case SourceId.GFS:
            cycles = _steps(since.replace(hour=since.hour // 6 * 6), until, GFS_CYCLE)
            return [f"gfs.{at:%Y%m%d}/{at:%H}/atmos/gfs.t{at:%H}z.pgrb2.0p25.f" for at in cycles]
        case SourceId.GOES:
            return [f"{_GOES_PRODUCT}/{at:%Y/%j/%H}/" for at in _steps(since, until, timedelta(hours=1))]
        case SourceId.MRMS:
            midnight = since.replace(hour=0)
            return [
                f"CONUS/{_MRMS_PRODUCT}/{at:%Y%m%d}/" for at in _steps(midnight, until, timedelta(days=1))
            ]


def timestamp_of(source: SourceId, key: str) -> datetime | None:
    """Return the moment that a key stands for; None for other keys.

    A model run counts once its last file is there, because files appear over more than an hour.
    """
    match source:
        case SourceId.GFS:
            found = _GFS_KEY.fullmatch(key)
            if found is None or found[2] != found[3] or int(found[4]) != GFS_LAST_HOUR:
                return None
            return _read(f"{found[1]}{found[2]}", "%Y%m%d%H")
        case SourceId.GOES:
            found = _GOES_KEY.fullmatch(key)
            return None if found is None else _read(found[1], "%Y%j%H%M%S")
        case SourceId.MRMS:
            found = _MRMS_KEY.fullmatch(key)
            return None if found is None else _read(found[1], "%Y%m%d-%H%M%S")


def gfs_keys(run: datetime) -> list[str]:
    """Return the keys of a model run that its inference reads."""
    run = run.astimezone(UTC)
    stem = f"gfs.{run:%Y%m%d}/{run:%H}/atmos/gfs.t{run:%H}z.pgrb2.0p25"
    return [f"{stem}.f{hour:03d}" for hour in GFS_HOURS]


def goes_key(start: datetime) -> str:
    """Return the key of a satellite image that begins at a moment."""
    start = start.astimezone(UTC)
    end = start + timedelta(minutes=2, seconds=37)
    stamps = f"s{start:%Y%j%H%M%S}0_e{end:%Y%j%H%M%S}0_c{end + timedelta(seconds=9):%Y%j%H%M%S}0"
    return f"{_GOES_PRODUCT}/{start:%Y/%j/%H}/OR_{_GOES_PRODUCT}-M6_G16_{stamps}.nc"


def mrms_key(at: datetime) -> str:
    """Return the key of a radar composite."""
    at = at.astimezone(UTC)
    return f"CONUS/{_MRMS_PRODUCT}/{at:%Y%m%d}/MRMS_{_MRMS_PRODUCT}_{at:%Y%m%d-%H%M%S}.grib2.gz"


def isd_key(at: datetime) -> str:
    """Return the key of one hour of surface observations."""
    return f"isd/{at.astimezone(UTC):%Y%m%d/%H%M}.csv"


def radar_observation_key(at: datetime) -> str:
    """Return the key of radar-based observations of one moment."""
    return f"mrms/{at.astimezone(UTC):%Y%m%d/%H%M}.csv"


def _steps(start: datetime, until: datetime, step: timedelta) -> list[datetime]:
    at = start.replace(minute=0, second=0, microsecond=0)
    found = []
    while at <= until:
        found.append(at)
        at += step
    return found


def _read(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None
