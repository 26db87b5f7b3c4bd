"""Which satellite images and radar composites belong together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from backstay_watchpoint.domain.layouts import Found

TOLERANCE = timedelta(minutes=5)


def unused(found: Sequence[Found], source_paths: Iterable[str]) -> dict[datetime, str]:
    """Return keys by their moments, without those that earlier runs were made of, whatever mirror they came from."""
    used = {path.removeprefix("s3://").partition("/")[2] for path in source_paths}
    return {one.timestamp: one.key for one in found if one.key not in used}


def pair(
    goes: Iterable[datetime], mrms: Iterable[datetime], *, tolerance: timedelta = TOLERANCE
) -> list[tuple[datetime, datetime]]:
    """Pair each satellite time with the nearest radar time at most `tolerance` away, each used once.

    The nearest of all pairs is taken first, so two images near one composite do not both get it.
    The pairs come in the order of their satellite times.
    """
    by_distance = sorted(
        _close(sorted(set(goes)), sorted(set(mrms)), tolerance),
        key=lambda both: (abs(both[0] - both[1]), both),
    )
    used_goes: set[datetime] = set()
    used_mrms: set[datetime] = set()
    paired = []
    for satellite, radar in by_distance:
        if satellite not in used_goes and radar not in used_mrms:
            used_goes.add(satellite)
            used_mrms.add(radar)
            paired.append((satellite, radar))
    return sorted(paired)


def _close(
    goes: list[datetime], mrms: list[datetime], tolerance: timedelta
) -> Iterator[tuple[datetime, datetime]]:
    first = 0
    for satellite in goes:
        while first < len(mrms) and mrms[first] < satellite - tolerance:
            first += 1
        for radar in mrms[first:]:
            if radar > satellite + tolerance:
                break
            yield satellite, radar
