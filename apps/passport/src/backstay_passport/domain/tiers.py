"""Who may see which field: the four access tiers of Annex XIII."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.fields import BY_PATH


class Tier(IntEnum):
    """For whom a field is meant."""

    PUBLIC = 1
    INTEREST_MODEL = 2
    AUTHORITY = 3
    INTEREST_UNIT = 4


TIER_NAMES: Mapping[Tier, str] = {
    Tier.PUBLIC: "public",
    Tier.INTEREST_MODEL: "legitimate interest, model",
    Tier.AUTHORITY: "authorities",
    Tier.INTEREST_UNIT: "legitimate interest, individual battery",
}

# The longest prefix decides; everything else is public.
_RESTRICTED: Mapping[str, Tier] = {
    "GeneralProductInformation.batteryStatus": Tier.INTEREST_UNIT,
    "GeneralProductInformation.puttingIntoService": Tier.INTEREST_UNIT,
    "Circularity.dismantlingAndRemovalInformation": Tier.INTEREST_MODEL,
    "Circularity.sparePartSources": Tier.INTEREST_MODEL,
    "Circularity.safetyMeasures.safetyInstructions": Tier.INTEREST_MODEL,
    "MaterialComposition.batteryMaterials": Tier.INTEREST_MODEL,
    "Labeling.resultOfTestReport": Tier.AUTHORITY,
    "PerformanceAndDurability.batteryCondition": Tier.INTEREST_UNIT,
    "Supplement.previousPassport": Tier.INTEREST_UNIT,
    "PerformanceAndDurability.batteryCondition.roundTripEfficiencyat50PerCentCycleLife": Tier.PUBLIC,
}

# A number alone is that tier with what stands below it in the same right.
AUDIENCES: Mapping[str, frozenset[Tier]] = {
    "public": frozenset({Tier.PUBLIC}),
    "2": frozenset({Tier.PUBLIC, Tier.INTEREST_MODEL}),
    "3": frozenset({Tier.PUBLIC, Tier.INTEREST_MODEL, Tier.AUTHORITY}),
    "4": frozenset({Tier.PUBLIC, Tier.INTEREST_MODEL, Tier.INTEREST_UNIT}),
    "repairer": frozenset({Tier.PUBLIC, Tier.INTEREST_MODEL, Tier.INTEREST_UNIT}),
    "recycler": frozenset({Tier.PUBLIC, Tier.INTEREST_MODEL, Tier.INTEREST_UNIT}),
    "authority": frozenset({Tier.PUBLIC, Tier.INTEREST_MODEL, Tier.AUTHORITY}),
    "maker": frozenset(Tier),
}


def audience(name: str) -> frozenset[Tier]:
    """Return the tiers that an audience may see."""
    if name not in AUDIENCES:
        raise InvalidInput(f"no audience {name!r}; there are {', '.join(AUDIENCES)}")
    return AUDIENCES[name]


def tier_of(path: str) -> Tier:
    """Return the tier of a field by the longest prefix that says something about it."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        tier = _RESTRICTED.get(".".join(parts[:length]))
        if tier is not None:
            return tier
    return Tier.PUBLIC


def mixed_tiers(path: str) -> bool:
    """True if the fields below a path belong to several tiers, so that they must be set one by one."""
    return len({tier_of(entry.path) for entry in BY_PATH[path].descendants() if not entry.children}) > 1


def visible(submodels: Mapping[str, Any], tiers: frozenset[Tier], prefix: str = "") -> dict[str, Any]:
    """Return the fields that may be seen with these tiers, and nothing of the others."""
    shown: dict[str, Any] = {}
    for name, value in submodels.items():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict) and path in BY_PATH and mixed_tiers(path):
            inner = visible(value, tiers, path)
            if inner:
                shown[name] = inner
        elif tier_of(path) in tiers:
            shown[name] = value
    return shown
