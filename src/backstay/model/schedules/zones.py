"""Time zones by their IANA names, and which edition of their rules this process has."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError, available_timezones

from backstay.errors import InvalidSchedule


def zone_of(name: str) -> ZoneInfo:
    """The zone of this name; raises InvalidSchedule with the nearest names there are."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        near = _nearest(str(name))
        hint = f"did you mean {' or '.join(near)}?" if near else "use a name such as Europe/Berlin, or UTC"
        raise InvalidSchedule(str(name)[:100], f"no time zone has this name: {hint}") from None


@cache
def tzdata_version() -> str:
    """The edition of the rules, such as 2025b; "unknown" where the system does not tell."""
    for place in TZPATH:
        rules = Path(place) / "tzdata.zi"
        if rules.is_file():
            with rules.open(encoding="utf-8") as lines:
                return lines.readline().removeprefix("# version ").strip()
    if TZPATH and any(Path(place).is_dir() for place in TZPATH):
        return "unknown"
    return str(getattr(import_module("tzdata"), "IANA_VERSION", "unknown"))


def _nearest(name: str) -> list[str]:
    known = {zone.lower(): zone for zone in available_timezones()}
    cities = {zone.rpartition("/")[2]: zone for zone in known.values()}
    found = difflib.get_close_matches(name.lower(), known, n=2, cutoff=0.7)
    wanted = name.rpartition("/")[2].replace(" ", "_").title()
    if found:
        return [known[one] for one in found]
    return [cities[wanted]] if wanted in cities else []
