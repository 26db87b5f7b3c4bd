"""From the text of a cell to the value of its field, in the unit that the field is kept in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from backstay_passport.domain.decimals import DecimalProblem, decimal_text, read_decimal
from backstay_passport.domain.types import Int, Number, Type
from backstay_passport.domain.units import UNITS, Unit
from backstay_passport.ingest.synonyms import known_value

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
_COUNTED = re.compile(r"(\d[\d.,]*)\s*(?:cycles|pcs\.?|pieces|zyklen|stück)?", re.IGNORECASE)
# Three digits behind a mark may be thousands; these cannot.
_DOT_DECIMAL = re.compile(
    r"-?(?:\d+\.\d{1,2}|\d+\.\d{4,}|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}|\d{4,}\.\d+)"
)
_COMMA_DECIMAL = re.compile(
    r"-?(?:\d+,\d{1,2}|\d+,\d{4,}|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d{4,},\d+)"
)


class BadCell(ValueError):
    """A cell cannot be read as its field."""


def decimal_mark(texts: Iterable[str]) -> str | None:
    """Return what parts the digits of a document's decimals: a dot or a comma; None if nothing shows it."""
    numbers = [found[1] for text in texts if (found := _WITH_UNIT.fullmatch(text.strip()))]
    has_dot = any(_DOT_DECIMAL.fullmatch(one) for one in numbers)
    has_comma = any(_COMMA_DECIMAL.fullmatch(one) for one in numbers)
    if has_dot == has_comma:
        return None
    return "." if has_dot else ","


def cell_value(text: str, kind: Type, unit_text: str, *, field: str, mark: str | None = None) -> Any:
    """Return the value of a cell; numbers are converted exactly into the field's unit."""
    if isinstance(kind, Number):
        return _number(text, kind.unit, unit_text, mark)
    if isinstance(kind, Int):
        return (
            _number(text, UNITS["month"], unit_text, mark)
            if field.endswith("_months")
            else _count(text, mark)
        )
    if text.strip().startswith(_ADDRESSES):
        # An address has no spaces; those of a scan or a broken line are none of it.
        return re.sub(r"\s+", "", text)
    return known_value(field, text.strip())


def _count(text: str, mark: str | None) -> str:
    """Return a whole number without what is counted: "6,000 cycles" are 6000."""
    found = _COUNTED.fullmatch(text.strip())
    return _ungrouped(found[1], mark) if found else text.strip()


def _ungrouped(number: str, mark: str | None) -> str:
    """Return a number in the form 1234.5; one that could be two different numbers stays as it is."""
    if mark == ",":
        grouped = re.fullmatch(r"-?\d{1,3}(\.\d{3})+(,\d+)?", number) is not None
        plain = number.replace(".", "") if grouped else number
        return plain.replace(",", ".") if "." not in plain else number
    if mark == "." and re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", number):
        return number.replace(",", "")
    return number


def _number(text: str, wanted: Unit, unit_text: str, mark: str | None) -> Any:
    found = _WITH_UNIT.fullmatch(text.strip())
    if found is None:
        return text.strip()
    written = found[2] or unit_text
    unit = _unit(written, wanted) if written else wanted
    if unit is None:
        # Not a unit of this kind: kept as text, so that the check of the field refuses it.
        return f"{found[1]} {written}"
    try:
        value = read_decimal(_ungrouped(found[1], mark)) * unit.factor / wanted.factor
        return Decimal(decimal_text(value))
    except DecimalProblem:
        return text.strip()


def _unit(written: str, wanted: Unit) -> Unit | None:
    squeezed = re.sub(r"[\s.·*]", "", written).lower().replace("₂", "2")
    unit = _BY_NAME.get(_ALIASES.get(squeezed, squeezed).lower())
    if unit is None or unit.dimension != wanted.dimension:
        return None
    return unit
