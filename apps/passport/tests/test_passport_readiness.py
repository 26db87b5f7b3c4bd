"""Which facts hold now, and how far a passport is: counted field by field, before anything is compiled."""

from __future__ import annotations

from typing import Any

import pytest
from passport_examples import example_input
from passport_world import World

from backstay_passport.actions.readiness import ModelReadiness, readiness_board
from backstay_passport.demo.models import models, unit
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.compile import compile_passport
from backstay_passport.domain.facts import DocumentKind, Fact, make_fact, read_facts
from backstay_passport.domain.facts.current import current_facts
from backstay_passport.domain.readiness import readiness
from backstay_passport.domain.rules.check import check_rules
from backstay_passport.domain.rules.reads import reads_of
from backstay_passport.rule_packages import battery_passport
from backstay_passport.store import batteries, documents

STAGES = ("RawMaterialExtraction", "MainProduction")


def footprint(source: str, stages: dict[str, str], sku: str = "A") -> list[Fact]:
    declarations = [
        {"sku": sku, "functional_unit": "1 kWh", "kg_co2e": value, "stage": stage}
        for stage, value in stages.items()
    ]
    return _from(source, DocumentKind.PCF, {"declarations": declarations})


def _from(source: str, kind: DocumentKind, content: Any) -> list[Fact]:
    found = read_facts(kind, content)
    return [make_fact(one.fact_type, one.fact_key, one.payload, source) for one in found]


def keys(facts: list[Fact]) -> set[str]:
    return {fact.fact_key for fact in facts}


def test_a_new_declaration_replaces_all_stages_of_the_old_one() -> None:
    """BPC-013: a stage that the new revision leaves out is not added up any more."""
    old = footprint("old", {"RawMaterialExtraction": "40", "Distribution": "2"})
    new = footprint("new", {"RawMaterialExtraction": "30"})
    other = footprint("other", {"Distribution": "9"}, sku="B")

    assert current_facts([*old, *other, *new]) == [*other, *new]


def test_a_new_bill_of_materials_replaces_materials_and_parts_of_its_batteries_only() -> None:
    """BPC-013: also where one number begins like the other."""
    old = _from(
        "old",
        DocumentKind.BOM,
        {
            "components": [
                {"sku": "A", "materials": [{"name": "lead"}, {"name": "tin"}]},
                {"sku": "A:1", "parts": [{"part_number": "7", "name": "screw"}]},
            ]
        },
    )
    new = _from("new", DocumentKind.BOM, {"components": [{"sku": "A", "materials": [{"name": "tin"}]}]})

    assert keys(current_facts([*old, *new])) == {
        "battery:A",
        "material:A:tin",
        "battery:A:1",
        "component:A:1:7",
    }


def test_a_new_report_replaces_what_the_old_one_says_of_its_supplier() -> None:
    """BPC-013: other suppliers keep their reports."""

    def report(source: str, supplier: str, *materials: str) -> list[Fact]:
        entries = [
            {"supplier_id": supplier, "material": one, "risk": "low", "policy_url": "https://x"}
            for one in materials
        ]
        return _from(source, DocumentKind.DUE_DILIGENCE, {"suppliers": entries})

    found = current_facts(
        [*report("1", "S1", "cobalt", "nickel"), *report("2", "S2", "cobalt"), *report("3", "S1", "nickel")]
    )

    assert keys(found) == {"dd:S2:cobalt", "dd:S1:nickel"}


def test_a_snapshot_of_the_newest_facts_has_no_stale_ones(world: World) -> None:
    """BPC-013, BPC-016: as the store reads them, on both databases."""
    for stages in ({"RawMaterialExtraction": "40", "Distribution": "2"}, {"RawMaterialExtraction": "30"}):
        content = {
            "declarations": [
                {"sku": "A", "functional_unit": "1 kWh", "kg_co2e": value, "stage": stage}
                for stage, value in stages.items()
            ]
        }
        world.facts(content, DocumentKind.PCF)

    with world.services.database.read() as connection:
        rows = documents.newest_facts(connection, world.tenant)

    assert [documents.fact_of(row).payload["kg_co2e"] for row in rows] == ["30"]


def test_nothing_is_filled_in_an_empty_payload() -> None:
    """BPC-020: what is missing with its object is missing field by field."""
    whole = parse(compile_passport(example_input()).payload_canonical)["submodels"]
    state = readiness({})

    assert (len(state.filled), len(state.missing)) == (0, len(state.fields))
    assert len(readiness({"GeneralProductInformation": {"batteryMass": "7"}}).filled) == 1
    assert readiness(whole).missing == ()


@pytest.mark.parametrize(
    ("materials", "missing"),
    [([], 0), ([{"batteryMaterialName": "tin"}], 4), ([{}, {}], 5)],
)
def test_each_field_of_a_list_is_there_if_every_entry_has_it(materials: list[Any], missing: int) -> None:
    """BPC-020: an empty list has said that there is nothing."""
    state = readiness({"MaterialComposition": {"batteryMaterials": materials}})
    found = [one for one in state.missing if "batteryMaterials" in one.path]
    assert len(found) == missing


def test_rules_say_which_facts_a_field_is_made_of() -> None:
    """BPC-020: by the rules themselves, through their lets."""
    reads = reads_of(check_rules(battery_passport().rules).package)

    assert reads["CarbonFootprintForBatteries.batteryCarbonFootprint"] >= {"CarbonFootprint"}
    assert reads["GeneralProductInformation.batteryMass"] >= {"Battery"}
    assert "Unit" in reads["PerformanceAndDurability.batteryCondition.stateOfCharge"]
    assert reads["SupplyChainDueDiligence.supplyChainDueDiligenceReport"] == {"DueDiligence"}


def _board(world: World) -> ModelReadiness:
    [found] = readiness_board(world.services, world.tenant)
    return found


def test_the_board_follows_documents_before_anything_is_compiled(world: World) -> None:
    """BPC-020: nothing, a bill of materials, everything; each field names what filled it or could."""
    model = models()[0]
    with world.services.database.begin() as connection:
        product = batteries.add_product(connection, world.tenant, sku=model.sku, gtin=model.gtin, name="M")
    empty = _board(world)
    world.facts({"components": [model.component]})
    bill = _board(world)
    world.facts({"declarations": model.declarations}, DocumentKind.PCF)
    world.facts({"suppliers": model.suppliers}, DocumentKind.DUE_DILIGENCE)
    with world.services.database.begin() as connection:
        batteries.add_unit(connection, world.tenant, product, unit(model, 1, seed=1))
    full = _board(world)

    assert dict(empty.missing)["GeneralProductInformation.batteryMass"] == "bill of materials"
    assert any("no fact Battery" in one for one in empty.state.problems)
    assert len(empty.filled) <= 2
    assert dict(bill.filled)["GeneralProductInformation.batteryMass"].startswith("given")
    footprint_path = "CarbonFootprintForBatteries.batteryCarbonFootprint"
    assert "carbon-footprint declaration" in dict(bill.missing)[footprint_path]
    assert len(empty.filled) < len(bill.filled) < len(full.filled)
    assert (full.missing, full.state.problems) == ([], ())
