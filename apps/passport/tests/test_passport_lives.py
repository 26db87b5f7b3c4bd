"""Models and lives: a model's own passport, what a battery becomes, and what is written down of it."""

from __future__ import annotations

import pytest
from passport_world import SMALL_RULES, World

from backstay.testing import SyncHarness
from backstay_passport.actions import batteries, passports
from backstay_passport.domain.battery import UnitStatus
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.store import batteries as battery_store
from backstay_passport.store import passports as passport_store

RULES = SMALL_RULES.replace(
    "unit { serial: Text, status: Text }", "unit { serial: Text, status: Text, previous_passport: Text? }"
) + ("rule previous: set Supplement.previousPassport = unit?.previous_passport\n")


class Made:
    """A battery with an active passport, and what it was made from."""

    def __init__(self, world: World, runner: SyncHarness) -> None:
        self.world, self.runner = world, runner
        services, self.tenant = world.services, world.tenant
        self.services = services
        self.product_id = batteries.add_product(
            services, self.tenant, sku="A", gtin="4006381333931", name="A", actor="ada"
        )
        self.unit_id = batteries.add_unit(services, self.tenant, self.product_id, {"serial": "S1"}, "ada")
        self.inputs = world.sealed(), world.rules(RULES, published=True)
        self.passport_id, self.version_id = self.passport(self.unit_id)
        passports.activate(services, self.tenant, self.version_id)

    def passport(self, unit_id: str | None) -> tuple[str, str]:
        """A passport with a signed version."""
        passport_id = passports.create(self.services, self.tenant, self.product_id, unit_id, "ada")
        passports.compile_version(self.services, self.tenant, passport_id, *self.inputs)
        self.runner.drain()
        with self.services.database.read() as connection:
            newest = passport_store.versions_of(connection, self.tenant, passport_id)[0]
        return passport_id, newest["id"]

    def becomes(self, serial: str, status: UnitStatus = UnitStatus.REPURPOSED, unit_id: str = "") -> str:
        """A new life of the battery."""
        return batteries.begin_new_life(
            self.services,
            self.tenant,
            unit_id or self.unit_id,
            status=status,
            serial=serial,
            data={},
            actor="ada",
        )


@pytest.fixture
def made(world: World, runner: SyncHarness) -> Made:
    return Made(world, runner)


def test_a_new_life_ends_the_passport_of_the_old_one_and_leads_back_to_it(made: Made) -> None:
    """BPC-020: the status of the old battery, its version, and the link in the new payload."""
    new_unit = made.becomes("S1-2")
    _, new_version = made.passport(new_unit)

    with made.services.database.read() as connection:
        old = battery_store.unit(connection, made.tenant, made.unit_id)
        ended = passport_store.version(connection, made.tenant, made.version_id)
        row = passport_store.version(connection, made.tenant, new_version)
    submodels = parse(bytes(row["payload_canonical"]))["submodels"]
    assert (old["status"], ended["status"]) == ("Repurposed", "SUPERSEDED")
    assert submodels["Supplement"]["previousPassport"] == f"urn:uuid:{made.passport_id}"
    assert submodels["GeneralProductInformation"]["batteryStatus"] == "Repurposed"


def test_a_battery_becomes_one_other_only(made: Made) -> None:
    """BPC-020: neither twice, nor does its own record or passport go on."""
    made.becomes("S1-2")

    for again in (
        lambda: made.becomes("S1-3", UnitStatus.REMANUFACTURED),
        lambda: batteries.change_unit(made.services, made.tenant, made.unit_id, {"status": "Waste"}),
        lambda: passports.compile_version(made.services, made.tenant, made.passport_id, *made.inputs),
        lambda: passports.activate(made.services, made.tenant, made.version_id),
    ):
        with pytest.raises(InvalidInput, match="has become S1-2"):
            again()


def test_what_happens_to_batteries_is_written_down_with_who_did_it(made: Made) -> None:
    """BPC-002: models, batteries, passports, changes and new lives have their events."""
    batteries.change_unit(made.services, made.tenant, made.unit_id, {"status": "Reused"}, "ada")
    made.becomes("S1-2")

    for event_type, count in {
        "PRODUCT_ADDED": 1,
        "UNIT_ADDED": 2,
        "UNIT_CHANGED": 1,
        "UNIT_BECAME_ANOTHER": 1,
        "PASSPORT_CREATED": 1,
        "PASSPORT_SUPERSEDED": 1,
    }.items():
        found = made.world.events(event_type)
        assert [one.actor_id for one in found] == ["ada"] * count, event_type


def test_versions_are_made_of_the_model_and_of_all_its_batteries(made: Made) -> None:
    """BPC-046: a battery that has become another one gets none."""
    made.becomes("S1-2")
    batteries.add_unit(made.services, made.tenant, made.product_id, {"serial": "S2"})

    asked = {
        too: passports.compile_model(
            made.services,
            made.tenant,
            made.product_id,
            snapshot_id=made.inputs[0],
            rules_id=made.inputs[1],
            batteries_too=too,
        )
        for too in (False, True)
    }
    made.runner.drain()

    assert [one.unit_id for one in asked[False]] == [None]
    with made.services.database.read() as connection:
        serials = [
            battery_store.unit(connection, made.tenant, one.unit_id or "")["serial"] for one in asked[True]
        ]
        for one in (*asked[False], *asked[True]):
            [version] = passport_store.versions_of(connection, made.tenant, one.passport_id)
            assert version["status"] == "SIGNED"
    assert serials == ["S1-2", "S2"]


def test_a_passport_is_of_the_model_that_its_battery_is_of(made: Made) -> None:
    """BPC-046: a battery of another model is refused, and its page stays as it is."""
    other = batteries.add_product(made.services, made.tenant, sku="B", gtin=None, name="B")

    with pytest.raises(InvalidInput, match="of another model"):
        passports.create(made.services, made.tenant, other, made.unit_id)

    with made.services.database.read() as connection:
        found = passport_store.of_unit(connection, made.unit_id)
    assert found is not None
    assert found["id"] == made.passport_id


def test_a_model_has_one_passport_however_often_it_is_asked_for(made: Made) -> None:
    """BPC-046: of the model itself, without a battery."""
    found = {passports.create(made.services, made.tenant, made.product_id, None) for _ in range(2)}
    assert len(found) == 1
