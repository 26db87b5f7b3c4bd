"""Units of measure: dimensions as exponents, and factors to the base unit of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

Dimension = tuple[tuple[str, int], ...]
"""Sorted pairs of base and exponent, without zeros; `()` is a plain number."""

PLAIN: Dimension = ()


def dimension(exponents: Mapping[str, int]) -> Dimension:
    """Return the dimension with these exponents."""
    return tuple(sorted((base, exponent) for base, exponent in exponents.items() if exponent))


def multiply(left: Dimension, right: Dimension, *, power: int = 1) -> Dimension:
    """Return the dimension of a product (`power` 1) or a quotient (`power` -1)."""
    exponents = dict(left)
    for base, exponent in right:
        exponents[base] = exponents.get(base, 0) + power * exponent
    return dimension(exponents)


@dataclass(frozen=True)
class Unit:
    """A unit: what it measures, and how many base units it is."""

    name: str
    dimension: Dimension
    factor: Decimal


def _unit(name: str, factor: str, **exponents: int) -> Unit:
    return Unit(name, dimension(exponents), Decimal(factor))


# Energy is volt × ampere × hour, so that V × Ah is Wh without a further rule.
_ALL = [
    _unit("each", "1"),
    _unit("pct", "0.01"),
    _unit("mg", "0.001", gram=1),
    _unit("g", "1", gram=1),
    _unit("kg", "1000", gram=1),
    _unit("V", "1", volt=1),
    _unit("A", "1", ampere=1),
    _unit("h", "1", hour=1),
    _unit("Ah", "1", ampere=1, hour=1),
    _unit("W", "1", volt=1, ampere=1),
    _unit("kW", "1000", volt=1, ampere=1),
    _unit("Wh", "1", volt=1, ampere=1, hour=1),
    _unit("kWh", "1000", volt=1, ampere=1, hour=1),
    _unit("ohm", "1", volt=1, ampere=-1),
    _unit("mohm", "0.001", volt=1, ampere=-1),
    _unit("gCO2e", "1", gram_co2e=1),
    _unit("kgCO2e", "1000", gram_co2e=1),
    _unit("gCO2e_per_kWh", "0.001", gram_co2e=1, volt=-1, ampere=-1, hour=-1),
    _unit("kgCO2e_per_kWh", "1", gram_co2e=1, volt=-1, ampere=-1, hour=-1),
    _unit("degC", "1", celsius=1),
    _unit("month", "1", month=1),
    _unit("year", "12", month=1),
    _unit("minute", "1", minute=1),
]
UNITS: Mapping[str, Unit] = {unit.name: unit for unit in _ALL}
EACH = UNITS["each"]


def dimension_text(value: Dimension) -> str:
    """Name a dimension for an error message, by a unit where one fits."""
    for unit in _ALL:
        if unit.dimension == value:
            return unit.name
    return "·".join(base if exponent == 1 else f"{base}^{exponent}" for base, exponent in value)
