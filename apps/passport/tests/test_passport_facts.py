"""Facts from documents: what each kind gives, and what is refused with a pointer."""

from __future__ import annotations

from typing import Any

import pytest
from passport_examples import example_facts

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.errors import DocumentRejected, UnsupportedDocumentKind
from backstay_passport.domain.facts import DocumentKind, read_facts
from backstay_passport.domain.hashing import sha256


def test_a_component_is_a_battery_fact_with_the_element_as_payload() -> None:
    """BPC-012, TC-P2-01: type, key, schema version and payload."""
    content = parse(b'{"components": [{"sku": "A-1", "mass_kg": 12.50, "colour": "red", "slots": 4}]}')

    [fact] = read_facts(DocumentKind.BOM, content)

    assert (fact.fact_type, fact.fact_key, fact.schema_version) == ("Battery", "battery:A-1", 1)
    assert fact.payload == {"sku": "A-1", "mass_kg": "12.5", "colour": "red", "slots": 4}


def test_a_fact_carries_its_canonical_bytes_and_their_hash() -> None:
    """BPC-009, TC-P2-04, TC-P2-05: hash = SHA-256 of the canonical bytes."""
    for fact in example_facts():
        assert fact.payload_canonical == encode(fact.payload)
        assert fact.payload_hash == sha256(fact.payload_canonical)


def test_materials_and_parts_are_facts_too() -> None:
    """BPC-012: nested parts have facts of their own."""
    keys = {fact.fact_key for fact in example_facts(0)}
    assert "material:EV-NMC811-94:cathode:Nickel" in keys


def test_declarations_are_footprint_facts_by_stage() -> None:
    """BPC-012, TC-P2-02: PCF gives CarbonFootprint facts."""
    content = {"declarations": [{"sku": "A", "functional_unit": "kWh", "kg_co2e": 3, "stage": "Recycling"}]}
    [fact] = read_facts(DocumentKind.PCF, content)
    assert (fact.fact_type, fact.fact_key, fact.payload["kg_co2e"]) == (
        "CarbonFootprint",
        "pcf:A:Recycling",
        "3",
    )


def test_suppliers_are_due_diligence_facts() -> None:
    """BPC-012: DUE_DILIGENCE gives DueDiligence facts."""
    content = {
        "suppliers": [{"supplier_id": "S1", "material": "Cobalt", "risk": "High", "policy_url": "https://x"}]
    }
    [fact] = read_facts(DocumentKind.DUE_DILIGENCE, content)
    assert (fact.fact_type, fact.fact_key, fact.payload["risk"]) == ("DueDiligence", "dd:S1:Cobalt", "high")


def test_other_documents_give_no_facts() -> None:
    """BPC-012, BPC-015: OTHER is refused as an unsupported kind."""
    with pytest.raises(UnsupportedDocumentKind, match="OTHER"):
        read_facts(DocumentKind.OTHER, {})


@pytest.mark.parametrize(
    ("content", "pointer", "problem"),
    [
        ({}, "/components", "missing"),
        ([], "", "not an object"),
        ({"components": {}}, "/components", "not a list"),
        ({"components": []}, "/components", "empty"),
        ({"components": [{"sku": "A"}, 7]}, "/components/1", "not an object"),
        ({"components": [{"sku": "A"}, {"name": "x"}]}, "/components/1/sku", "missing"),
        ({"components": [{"sku": "  "}]}, "/components/0/sku", "empty"),
        ({"components": [{"sku": "A", "mass_kg": "12,5"}]}, "/components/0/mass_kg", "12,5"),
        ({"components": [{"sku": "A", "technical": 5}]}, "/components/0/technical", "object"),
        (
            {"components": [{"sku": "A", "materials": [{"cas": "1"}]}]},
            "/components/0/materials/0/name",
            "missing",
        ),
        ({"components": [{"sku": "A"}, {"sku": "A"}]}, "", "twice"),
    ],
)
def test_an_invalid_bill_of_materials_is_rejected_where_it_is_wrong(
    content: Any, pointer: str, problem: str
) -> None:
    """BPC-013, BPC-015, TC-P2-03: schema errors have a pointer."""
    with pytest.raises(DocumentRejected) as caught:
        read_facts(DocumentKind.BOM, content)
    assert caught.value.pointer == pointer
    assert problem in caught.value.problem


@pytest.mark.parametrize("written", [12, "12", "12.0", "12.00"])
def test_a_number_is_one_value_however_it_is_written(written: Any) -> None:
    """BPC-044: formats without types give the same facts."""
    [fact] = read_facts(DocumentKind.BOM, {"components": [{"sku": "A", "mass_kg": written}]})
    assert fact.payload == {"sku": "A", "mass_kg": "12"}
