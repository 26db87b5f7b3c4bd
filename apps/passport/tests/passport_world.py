"""A tenant with documents, rules and batteries, for the tests."""

from __future__ import annotations

from typing import Any

from backstay_passport.actions import documents, passports, rules, snapshots
from backstay_passport.demo.documents import as_json
from backstay_passport.demo.models import models, unit
from backstay_passport.domain.facts import DocumentKind, read_facts
from backstay_passport.domain.lifecycle import RuleStatus
from backstay_passport.rule_packages import battery_passport
from backstay_passport.services import Services
from backstay_passport.store import access, batteries, events
from backstay_passport.store import documents as document_store
from backstay_passport.store import rules as rule_store

SMALL_RULES = """package "small"
fact Battery { sku: Text, mass_kg: Decimal kg }
product { sku: Text }
unit { serial: Text, status: Text }
let battery = fact("Battery", "battery:" + product.sku)
rule mass: set GeneralProductInformation.batteryMass = battery.mass_kg
rule status: set GeneralProductInformation.batteryStatus = unit?.status
"""
SMALL_TESTS = """property "mass" for {cases} cases with {{ mass: decimal(1, 900, 2) }}
  given {{ product {{sku: "A"}} fact "Battery" "battery:A" {{sku: "A", mass_kg: mass}} }}
  expect out(GeneralProductInformation.batteryMass) == mass * {factor} kg
"""


class World:
    """What a test starts from."""

    def __init__(self, services: Services) -> None:
        self.services = services
        with services.database.begin() as connection:
            self.tenant = access.add_tenant(connection, "maker")

    def upload(self, content: Any, kind: DocumentKind | None = DocumentKind.BOM) -> documents.Uploaded:
        """Upload JSON."""
        body = content if isinstance(content, bytes) else as_json(content)
        return documents.upload(
            self.services, self.tenant, name="doc.json", content=body, mime_type="application/json", kind=kind
        )

    def facts(self, content: Any, kind: DocumentKind = DocumentKind.BOM) -> str:
        """Store a validated document version with its facts, without a job."""
        with self.services.database.begin() as connection:
            document_id = document_store.add_document(connection, self.tenant, "given", kind)
            version_id = document_store.add_version(
                connection,
                self.tenant,
                document_id=document_id,
                kind=kind,
                content=as_json(content),
                mime_type="application/json",
            )
            document_store.insert_facts(connection, self.tenant, version_id, read_facts(kind, content))
        return version_id

    def sealed(self, content: Any = None) -> str:
        """A sealed snapshot."""
        version_id = self.facts(content or {"components": [{"sku": "A", "mass_kg": "12.5"}]})
        snapshot_id = snapshots.create(self.services, self.tenant, "s")
        snapshots.add_document(self.services, self.tenant, snapshot_id, version_id)
        snapshots.seal(self.services, self.tenant, snapshot_id)
        return snapshot_id

    def rules(
        self, source: str = SMALL_RULES, *, cases: int = 500, factor: int = 1, published: bool = False
    ) -> str:
        """A rule package version."""
        tests = SMALL_TESTS.format(cases=cases, factor=factor)
        version_id = rules.add_version(self.services, self.tenant, source, tests)
        if published:
            with self.services.database.begin() as connection:
                rule_store.set_status(connection, self.tenant, version_id, RuleStatus.VALIDATED)
                rule_store.set_status(connection, self.tenant, version_id, RuleStatus.PUBLISHED)
        return version_id

    def passport(self, sku: str = "A", serial: str = "S1") -> str:
        """The passport of a battery."""
        with self.services.database.begin() as connection:
            product_id = batteries.add_product(
                connection, self.tenant, sku=sku, gtin="4006381333931", name=sku
            )
            unit_id = batteries.add_unit(connection, self.tenant, product_id, {"serial": serial})
        return passports.create(self.services, self.tenant, product_id, unit_id)

    def compile(self) -> str:
        """Ask for a version of a small passport and return the job's id."""
        return passports.compile_version(
            self.services, self.tenant, self.passport(), self.sealed(), self.rules(published=True)
        )

    def full(self, units: int = 1) -> list[str]:
        """Everything of a whole model, ready to compile; return the jobs' ids."""
        model = models()[0]
        given = self.facts({"components": [model.component]})
        pcf = self.facts({"declarations": model.declarations}, DocumentKind.PCF)
        duty = self.facts({"suppliers": model.suppliers}, DocumentKind.DUE_DILIGENCE)
        snapshot_id = snapshots.create(self.services, self.tenant, "full")
        for version_id in (given, pcf, duty):
            snapshots.add_document(self.services, self.tenant, snapshot_id, version_id)
        snapshots.seal(self.services, self.tenant, snapshot_id)
        sources = battery_passport()
        with self.services.database.begin() as connection:
            rules_id = rule_store.add_version(connection, self.tenant, "full", sources.rules, sources.tests)
            rule_store.set_status(connection, self.tenant, rules_id, RuleStatus.VALIDATED)
            rule_store.set_status(connection, self.tenant, rules_id, RuleStatus.PUBLISHED)
            product_id = batteries.add_product(
                connection, self.tenant, sku=model.sku, gtin=model.gtin, name=model.sku
            )
            made = [
                batteries.add_unit(connection, self.tenant, product_id, unit(model, number, seed=1))
                for number in range(1, units + 1)
            ]
        return [
            passports.compile_version(
                self.services,
                self.tenant,
                passports.create(self.services, self.tenant, product_id, unit_id),
                snapshot_id,
                rules_id,
            )
            for unit_id in made
        ]

    def events(self, event_type: str) -> list[Any]:
        """The events of one type."""
        with self.services.database.read() as connection:
            return [one for one in events.all_events(connection, self.tenant) if one.event_type == event_type]
