"""Three invented battery models with everything that a passport asks for, and single batteries of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backstay_passport.domain.digital_link import check_digit

SITE = "https://documents.example.org"


@dataclass(frozen=True)
class Model:
    """A battery model: what its bill of materials, its footprint and its due-diligence report say."""

    sku: str
    gtin: str
    component: dict[str, Any]
    declarations: list[dict[str, Any]]
    suppliers: list[dict[str, Any]]


@dataclass(frozen=True)
class _Plan:
    sku: str
    name: str
    category: str
    chemistry: tuple[str, str]
    mass: str
    energy: str
    voltage: tuple[str, str, str]
    capacity: str
    footprint: tuple[str, str, str, str]
    materials: tuple[tuple[str, str, str, bool, str], ...]


_PLANS = (
    _Plan(
        "EV-NMC811-94",
        "Traction pack 94",
        "ev",
        ("NMC811", "Lithium nickel manganese cobalt oxide 8:1:1"),
        "468.5",
        "94.2",
        ("268.8", "355.2", "403.2"),
        "265.2",
        ("41.3", "28.75", "1.9", "3.2"),
        (
            ("Nickel", "7440-02-0", "52.4", True, "cathode"),
            ("Cobalt", "7440-48-4", "6.6", True, "cathode"),
            ("Manganese", "7439-96-5", "6.1", True, "cathode"),
            ("Lithium", "7439-93-2", "9.8", True, "cathode"),
            ("Graphite", "7782-42-5", "66.3", True, "anode"),
            ("Copper", "7440-50-8", "31.7", False, "anode"),
        ),
    ),
    _Plan(
        "LMT-LFP-05",
        "E-bike pack 500",
        "lmt",
        ("LFP", "Lithium iron phosphate"),
        "3.2",
        "0.5",
        ("28", "38.4", "43.8"),
        "13.4",
        ("38.2", "33.1", "2.4", "4.05"),
        (
            ("Lithium", "7439-93-2", "0.04", True, "cathode"),
            ("Iron phosphate", "10045-86-0", "0.95", False, "cathode"),
            ("Graphite", "7782-42-5", "0.51", True, "anode"),
            ("Copper", "7440-50-8", "0.22", False, "anode"),
        ),
    ),
    _Plan(
        "ESS-LFP-100",
        "Storage rack 100",
        "stationary",
        ("LFP", "Lithium iron phosphate"),
        "842",
        "100",
        ("672", "768", "864"),
        "130.2",
        ("36.9", "24.4", "2.65", "3.8"),
        (
            ("Lithium", "7439-93-2", "8.1", True, "cathode"),
            ("Iron phosphate", "10045-86-0", "214", False, "cathode"),
            ("Graphite", "7782-42-5", "118.5", True, "anode"),
            ("Copper", "7440-50-8", "49.2", False, "anode"),
        ),
    ),
)
_STAGES = ("RawMaterialExtraction", "MainProduction", "Distribution", "Recycling")


def models() -> list[Model]:
    """Return the three models."""
    return [_model(plan, number) for number, plan in enumerate(_PLANS)]


def _model(plan: _Plan, number: int) -> Model:
    digits = f"0400012345{number:03d}"
    return Model(
        sku=plan.sku,
        gtin=digits + check_digit(digits),
        component=_component(plan),
        declarations=[
            {
                "sku": plan.sku,
                "functional_unit": "1 kWh over the life of the battery",
                "kg_co2e": Decimal(amount),
                "stage": stage,
                "performance_class": "B",
                "study_url": f"{SITE}/{plan.sku}/footprint.pdf",
            }
            for stage, amount in zip(_STAGES, plan.footprint, strict=True)
        ],
        suppliers=[
            {
                "supplier_id": f"S-{1000 + 17 * place}",
                "material": name,
                "risk": ("low", "medium", "high")[place % 3],
                "policy_url": f"https://s{1000 + 17 * place}.example",
                "report_url": "https://duty.example/2026",
                "assurance_url": "https://audit.example/2026",
                "index": Decimal("0.8") - Decimal(place) / 20,
            }
            for place, (name, _, _, critical, _) in enumerate(plan.materials)
            if critical
        ],
    )


def _component(plan: _Plan) -> dict[str, Any]:
    base = f"{SITE}/{plan.sku}"
    return {
        "sku": plan.sku,
        "name": plan.name,
        "category": plan.category,
        "chemistry": plan.chemistry[0],
        "chemistry_name": plan.chemistry[1],
        "mass_kg": Decimal(plan.mass),
        "warranty_months": 96,
        "manufacturer": _party("Norrfjord Cells AB", "SE556677889901", "SE", "97187", "Hamngatan 4"),
        "operator": _party("Backstay Mobility GmbH", "DE811223344", "DE", "20457", "Am Sandtorkai 30"),
        "place": {"country": "SE", "postal_code": "97187", "street": "Hamngatan 4"},
        "technical": _technical(plan, base),
        "materials": [
            {"name": name, "cas": cas, "mass_kg": Decimal(mass), "critical": critical, "component": where}
            for name, cas, mass, critical, where in plan.materials
        ],
        "substances": [_substance()],
        "recycled": [
            {"material": name, "pre_consumer_pct": Decimal("4.5"), "post_consumer_pct": Decimal("11.25")}
            for name in ("Nickel", "Cobalt", "Lithium")
        ],
        "renewable_pct": Decimal("6.5"),
        "extinguishing_agents": ["Water", "Class D powder"],
        **_papers(plan, base),
    }


def _papers(plan: _Plan, base: str) -> dict[str, Any]:
    return {
        "safety_url": f"{base}/safety",
        "manuals": [
            {"type": "DismantlingManual", "mime_type": "application/pdf", "url": f"{base}/dismantling.pdf"}
        ],
        "spare_parts": [
            {
                "party": _party("Kiel Battery Parts", "DE299887766", "DE", "24103", "Wall 40"),
                "parts": [{"part_number": f"{plan.sku}-BMS", "name": "Battery management unit"}],
            }
        ],
        "labels": [
            {
                "subject": "SeparateCollection",
                "symbol_url": f"{SITE}/symbols/bin.svg",
                "meaning": "Collect it apart from other waste",
            }
        ],
        "conformity_url": f"{base}/conformity.pdf",
        "test_report_url": f"{base}/test-report.pdf",
        "waste_prevention_url": f"{SITE}/waste/prevention",
        "separate_collection_url": f"{SITE}/waste/collection",
        "collection_url": f"{SITE}/waste/points",
    }


def _party(name: str, identifier: str, country: str, postal_code: str, street: str) -> dict[str, Any]:
    host = name.split()[0].lower()
    return {
        "name": name,
        "identifier": identifier,
        "address": {"country": country, "postal_code": postal_code, "street": street},
        "email": f"battery@{host}.example",
        "website": f"https://{host}.example",
    }


def _technical(plan: _Plan, base: str) -> dict[str, Any]:
    minimum, nominal, maximum = (Decimal(text) for text in plan.voltage)
    power = Decimal(plan.energy) * 1500
    return {
        "rated_capacity_ah": Decimal(plan.capacity),
        "rated_energy_kwh": Decimal(plan.energy),
        "nominal_voltage_v": nominal,
        "minimum_voltage_v": minimum,
        "maximum_voltage_v": maximum,
        "maximum_power_w": power,
        "power_ratio": Decimal("1.5"),
        "expected_cycles": 3000,
        "expected_lifetime_years": Decimal(12),
        "self_discharge_pct": Decimal("2.5"),
        "efficiency_pct": Decimal("96.4"),
        "efficiency_half_life_pct": Decimal("94.1"),
        "c_rate": Decimal("1.5"),
        "cycle_test_c_rate": Decimal("0.5"),
        "cycle_test_url": f"{base}/cycle-test",
        "exhaustion_threshold_pct": Decimal(70),
        "idle_temperature_c": Decimal(45),
        "power_points": [
            {"state_of_charge_pct": Decimal(80), "power_w": power},
            {"state_of_charge_pct": Decimal(20), "power_w": power * Decimal("0.6")},
        ],
        "resistances": [
            {"level": "cell", "ohm": Decimal("0.0012")},
            {"level": "pack", "ohm": Decimal("0.058")},
        ],
    }


def _substance() -> dict[str, Any]:
    return {
        "name": "Lithium hexafluorophosphate",
        "cas": "21324-40-3",
        "class": "SkinCorrosionOrIrritation",
        "concentration_pct": Decimal("1.2"),
        "impact": "Releases hydrogen fluoride in contact with water",
        "component": "electrolyte",
    }


def unit(model: Model, number: int, seed: int) -> dict[str, Any]:
    """Return one battery of a model, with a condition that depends on the seed."""
    chance = random.Random(f"{model.sku}/{number}/{seed}")  # noqa: S311 - repeatable examples, no secret
    at = "2026-11-01T06:00:00Z"
    cycles = chance.randrange(5, 400)
    fade = (Decimal(cycles) / 100).quantize(Decimal("0.01"))
    energy = Decimal(str(model.component["technical"]["rated_energy_kwh"]))
    capacity = Decimal(str(model.component["technical"]["rated_capacity_ah"]))
    left = 1 - fade / 100

    def share(value: Decimal | str) -> dict[str, Any]:
        return {"value": Decimal(value), "at": at}

    return {
        "serial": f"{model.sku.split('-')[0]}{number:05d}",
        "gtin": model.gtin,
        "status": "Original",
        "manufactured_on": f"2026-{chance.randrange(1, 7):02d}-{chance.randrange(1, 29):02d}",
        "in_service_since": "2026-08-01T00:00:00Z",
        "condition": {
            "energy_throughput_kwh": energy * cycles,
            "capacity_throughput": share(capacity * cycles),
            "full_cycles": share(Decimal(cycles)),
            "certified_energy": share(100 - fade),
            "capacity_fade": share(fade),
            "remaining_energy": share((energy * left).quantize(Decimal("0.001"))),
            "remaining_capacity": share((capacity * left).quantize(Decimal("0.001"))),
            "negative_events": [{"event": "Deep discharge", "at": at}] if cycles % 3 == 0 else [],
            "temperatures": {
                "high": Decimal(chance.randrange(0, 90)),
                "low": Decimal(chance.randrange(0, 90)),
                "high_charging": Decimal(chance.randrange(0, 30)),
                "low_charging": Decimal(chance.randrange(0, 30)),
                "at": at,
            },
            "power_updates": [at],
            "power_fade_pct": fade,
            "efficiency_fade_pct": (fade / 4).quantize(Decimal("0.01")),
            "self_discharge_evolution_pct": Decimal("0.1"),
            "self_discharge": share("2.6"),
            "resistance_increase": [{"level": "pack", "value": fade, "at": at}],
            "efficiency": share("95.9"),
            "state_of_charge": share(Decimal(chance.randrange(20, 95))),
        },
    }
