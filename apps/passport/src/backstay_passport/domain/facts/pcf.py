"""Carbon-footprint declarations: a CarbonFootprint fact for each product and life-cycle stage."""

from __future__ import annotations

from typing import Any

from backstay_passport.domain.errors import DocumentRejected
from backstay_passport.domain.facts.elements import elements
from backstay_passport.domain.facts.fact import Fact, make_fact
from backstay_passport.domain.types import Number, Optional, Record, Text, coerce
from backstay_passport.domain.units import UNITS

DECLARATION = Record(
    {
        "sku": Text(),
        "functional_unit": Text(),
        "kg_co2e": Number(UNITS["kgCO2e_per_kWh"]),
        "stage": Optional(Text()),
        "performance_class": Optional(Text()),
        "study_url": Optional(Text()),
    },
    "declaration",
)
LIST_NAME = "declarations"


def read(content: Any) -> list[Fact]:
    """Return the facts of a carbon-footprint declaration."""
    facts = []
    for pointer, element in elements(content, LIST_NAME):
        declaration = coerce(element, DECLARATION, pointer)
        if declaration["kg_co2e"] < 0:
            raise DocumentRejected(f"{pointer}/kg_co2e", "a footprint is not negative")
        stage = declaration.get("stage")
        key = f"pcf:{declaration['sku']}" + (f":{stage}" if stage else "")
        facts.append(make_fact("CarbonFootprint", key, declaration))
    return facts
