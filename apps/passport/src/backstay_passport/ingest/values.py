"""From the text of a cell to the value of its field, in the unit that the field is kept in."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from backstay_passport.domain.decimals import DecimalProblem, decimal_text, read_decimal
from backstay_passport.domain.types import Int, Number, Type
from backstay_passport.domain.units import UNITS, Unit

_ALIASES = {
    "%": "pct",
    "percent": "pct",
    "kgco2e/kwh": "kgCO2e_per_kWh",
    "kgco2eq/kwh": "kgCO2e_per_kWh",
    "gco2e/kwh": "gCO2e_per_kWh",
    "kgco2e": "kgCO2e",
    "°c": "degC",
    "c": "degC",
    "ω": "ohm",
    "mω": "mohm",
    "months": "month",
    "years": "year",
    "gram": "g",
    "grams": "g",
    "kilogram": "kg",
    "pcs": "each",
    "pieces": "each",
}
_BY_NAME = {name.lower(): unit for name, unit in UNITS.items()}
_ADDRESSES = ("http://", "https://")
_WITH_UNIT = re.compile(r"(-?[0-9][0-9.,]*)\s*([^\s0-9].*)?")


class BadCell(ValueError):
    """A cell cannot be read as its field."""


def cell_value(text: str, kind: Type, unit_text: str, *, field: str) -> Any:
    """Return the value of a cell; numbers are converted exactly into the field's unit."""
    if isinstance(kind, Number):
        return _number(text, kind.unit, unit_text)
    if isinstance(kind, Int) and field.endswith("_months"):
        return _number(text, UNITS["month"], unit_text)
    if text.strip().startswith(_ADDRESSES):
        # An address has no spaces; those of a scan or a broken line are none of it.
        return re.sub(r"\s+", "", text)
    return text.strip()


def _number(text: str, wanted: Unit, unit_text: str) -> Any:
    found = _WITH_UNIT.fullmatch(text.strip())
    if found is None:
        return text.strip()
    written = found[2] or unit_text
    unit = _unit(written, wanted) if written else wanted
    if unit is None:
        # Not a unit of this kind: kept as text, so that the check of the field refuses it.
        return f"{found[1]} {written}"
    try:
        value = read_decimal(found[1]) * unit.factor / wanted.factor
        return Decimal(decimal_text(value))
    except DecimalProblem:
        return text.strip()


def _unit(written: str, wanted: Unit) -> Unit | None:
    squeezed = re.sub(r"[\s.·*]", "", written).lower().replace("₂", "2")
    unit = _BY_NAME.get(_ALIASES.get(squeezed, squeezed).lower())
    if unit is None or unit.dimension != wanted.dimension:
        return None
    return unit
