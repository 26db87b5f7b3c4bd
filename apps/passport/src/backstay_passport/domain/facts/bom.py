"""Bills of materials: a Battery fact for each component, and facts for its materials and parts."""

from __future__ import annotations

from typing import Any

from backstay_passport.domain.canonical import pointer_to
from backstay_passport.domain.errors import DocumentRejected
from backstay_passport.domain.facts.elements import elements
from backstay_passport.domain.facts.fact import Fact, make_fact
from backstay_passport.domain.types import (
    Bool,
    Date,
    Int,
    ListOf,
    Number,
    Optional,
    Record,
    Text,
    Type,
    coerce,
)
from backstay_passport.domain.units import UNITS


def _maybe(fields: dict[str, Type]) -> dict[str, Type]:
    return {name: Optional(kind) for name, kind in fields.items()}


def _number(unit: str) -> Type:
    return Number(UNITS[unit])


ADDRESS = Record(_maybe({"country": Text(), "postal_code": Text(), "street": Text()}), "address")
PARTY = Record(
    _maybe(
        {"name": Text(), "identifier": Text(), "address": ADDRESS, "email": Text(), "website": Text()},
    ),
    "party",
)
MATERIAL = Record(
    {
        "name": Text(),
        **_maybe({"cas": Text(), "mass_kg": _number("kg"), "critical": Bool(), "component": Text()}),
    },
    "material",
)
SUBSTANCE = Record(
    {
        "name": Text(),
        **_maybe(
            {
                "cas": Text(),
                "class": Text(),
                "concentration_pct": _number("pct"),
                "impact": Text(),
                "component": Text(),
            }
        ),
    },
    "substance",
)
PART = Record({"part_number": Text(), "name": Text(), **_maybe({"quantity": Int()})}, "part")
RECYCLED = Record(
    {"material": Text(), "pre_consumer_pct": _number("pct"), "post_consumer_pct": _number("pct")}, "recycled"
)
POWER = Record({"state_of_charge_pct": _number("pct"), "power_w": _number("W")}, "power point")
RESISTANCE = Record({"level": Text(), "ohm": _number("ohm")}, "resistance")
MANUAL = Record({"type": Text(), "mime_type": Text(), "url": Text()}, "manual")
LABEL = Record({"subject": Text(), "symbol_url": Text(), "meaning": Text()}, "label")
SUPPLIER = Record({"party": PARTY, "parts": ListOf(PART)}, "spare part source")

TECHNICAL = Record(
    _maybe(
        {
            "rated_capacity_ah": _number("Ah"),
            "rated_energy_kwh": _number("kWh"),
            "nominal_voltage_v": _number("V"),
            "minimum_voltage_v": _number("V"),
            "maximum_voltage_v": _number("V"),
            "maximum_power_w": _number("W"),
            "power_ratio": _number("each"),
            "expected_cycles": Int(),
            "expected_lifetime_years": _number("year"),
            "self_discharge_pct": _number("pct"),
            "efficiency_pct": _number("pct"),
            "efficiency_half_life_pct": _number("pct"),
            "c_rate": _number("each"),
            "cycle_test_c_rate": _number("each"),
            "cycle_test_url": Text(),
            "exhaustion_threshold_pct": _number("pct"),
            "idle_temperature_c": _number("degC"),
            "power_points": ListOf(POWER),
            "resistances": ListOf(RESISTANCE),
        }
    ),
    "technical",
)

COMPONENT = Record(
    {
        "sku": Text(),
        **_maybe(
            {
                "name": Text(),
                "category": Text(),
                "chemistry": Text(),
                "chemistry_name": Text(),
                "mass_kg": _number("kg"),
                "quantity": Int(),
                "warranty_months": Int(),
                "model_since": Date(),
                "manufacturer": PARTY,
                "operator": PARTY,
                "place": ADDRESS,
                "technical": TECHNICAL,
                "materials": ListOf(MATERIAL),
                "substances": ListOf(SUBSTANCE),
                "parts": ListOf(PART),
                "recycled": ListOf(RECYCLED),
                "renewable_pct": _number("pct"),
                "extinguishing_agents": ListOf(Text()),
                "safety_url": Text(),
                "manuals": ListOf(MANUAL),
                "spare_parts": ListOf(SUPPLIER),
                "labels": ListOf(LABEL),
                "conformity_url": Text(),
                "test_report_url": Text(),
                "waste_prevention_url": Text(),
                "separate_collection_url": Text(),
                "collection_url": Text(),
            }
        ),
    },
    "component",
)
LIST_NAME = "components"


def read(content: Any) -> list[Fact]:
    """Return the facts of a bill of materials."""
    facts: list[Fact] = []
    for pointer, element in elements(content, LIST_NAME):
        component = coerce(element, COMPONENT, pointer)
        sku = component["sku"]
        facts.append(make_fact("Battery", f"battery:{sku}", component))
        facts.extend(
            _nested(component, pointer, sku, list_name="materials", fact_type="Material", key="name")
        )
        facts.extend(
            _nested(component, pointer, sku, list_name="parts", fact_type="Component", key="part_number")
        )
    return facts


def _nested(
    component: dict[str, Any], pointer: str, sku: str, *, list_name: str, fact_type: str, key: str
) -> list[Fact]:
    facts: dict[str, Fact] = {}
    for number, item in enumerate(component.get(list_name, [])):
        where = item.get("component")
        fact_key = ":".join([fact_type.lower(), sku, *([where] if where else []), item[key]])
        if fact_key in facts:
            raise DocumentRejected(
                pointer_to(pointer_to(pointer, list_name), number), f"{item[key]!r} stands in it twice"
            )
        facts[fact_key] = make_fact(fact_type, fact_key, item)
    return list(facts.values())
