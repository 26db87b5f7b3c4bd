"""A single battery: its numbers, its status, and what it may become."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from backstay_passport.domain.errors import InvalidInput


class UnitStatus(StrEnum):
    """What a battery is now, in the data model's words."""

    ORIGINAL = "Original"
    REUSED = "Reused"
    REPURPOSED = "Repurposed"
    REMANUFACTURED = "Remanufactured"
    WASTE = "Waste"


# A battery that was prepared for another life is a new one with a link back; waste may be prepared too.
_NEXT: Mapping[UnitStatus, frozenset[UnitStatus]] = {
    UnitStatus.ORIGINAL: frozenset(UnitStatus) - {UnitStatus.ORIGINAL},
    UnitStatus.REUSED: frozenset(UnitStatus) - {UnitStatus.ORIGINAL, UnitStatus.REUSED},
    UnitStatus.REPURPOSED: frozenset({UnitStatus.REMANUFACTURED, UnitStatus.WASTE}),
    UnitStatus.REMANUFACTURED: frozenset({UnitStatus.REUSED, UnitStatus.REPURPOSED, UnitStatus.WASTE}),
    UnitStatus.WASTE: frozenset({UnitStatus.REUSED, UnitStatus.REPURPOSED, UnitStatus.REMANUFACTURED}),
}
NEW_LIFE = frozenset({UnitStatus.REPURPOSED, UnitStatus.REMANUFACTURED, UnitStatus.REUSED})


def read_status(text: str) -> UnitStatus:
    """Read a status, whatever its capitals and hyphens."""
    for status in UnitStatus:
        if status.lower() == text.replace("-", "").strip().lower():
            return status
    raise InvalidInput(f"no status {text!r}; there are {', '.join(UnitStatus)}")


def check_next(current: UnitStatus, wanted: UnitStatus) -> None:
    """Refuse a change of status that no battery can make."""
    if wanted not in _NEXT[current]:
        allowed = ", ".join(sorted(_NEXT[current]))
        raise InvalidInput(f"a battery that is {current} cannot become {wanted}; it can become {allowed}")
