"""The readiness board: what a passport of each model would hold if it were compiled now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping

from backstay_passport.domain.compile import nested, subject_of
from backstay_passport.domain.facts import Fact
from backstay_passport.domain.readiness import FieldState, Readiness, readiness
from backstay_passport.domain.rules.check import CheckedPackage, check_rules
from backstay_passport.domain.rules.reads import reads_of
from backstay_passport.domain.rules.run import try_rules
from backstay_passport.rule_packages import battery_passport
from backstay_passport.services import Services
from backstay_passport.store import batteries, documents, rules

# No battery has it yet; the board asks only whether the field would be filled.
_PREVIEW = {
    "id": "00000000-0000-0000-0000-000000000000",
    "version_id": "00000000-0000-0000-0000-000000000000",
    "identifier": "urn:uuid:00000000-0000-0000-0000-000000000000",
    "issued_at": "2000-01-01T00:00:00Z",
}
BRINGERS = {
    "Battery": "bill of materials",
    "CarbonFootprint": "carbon-footprint declaration",
    "DueDiligence": "due-diligence report",
    "Unit": "the battery's own record",
    "Product": "the model's own record",
    "Passport": "the passport itself",
}
NOBODY = "no rule sets it"


@dataclass(frozen=True)
class ModelReadiness:
    """How far the passports of a model are."""

    sku: str
    name: str
    serial: str | None
    state: Readiness
    missing: Sequence[tuple[str, str]]
    filled: Sequence[tuple[str, str]]


def readiness_board(services: Services, tenant_id: str) -> list[ModelReadiness]:
    """Return for each model what the published rules would make of the facts that hold now."""
    with services.database.read() as connection:
        package = rules.published(connection, tenant_id)
        source = (
            battery_passport().rules
            if package is None
            else rules.version(connection, tenant_id, package)["rules_source"]
        )
        checked = check_rules(source)
        facts = [documents.fact_of(row) for row in documents.newest_facts(connection, tenant_id)]
        names = documents.names_of_versions(connection, tenant_id)
        return [
            _of_model(connection, checked, facts, names, model)
            for model in batteries.products(connection, tenant_id)
        ]


def _of_model(
    connection: Connection,
    checked: CheckedPackage,
    facts: Sequence[Fact],
    names: Mapping[str, str],
    model: RowMapping,
) -> ModelReadiness:
    unit = batteries.first_unit(connection, model["tenant_id"], model["id"])
    described: dict[str, Any] = batteries.subject(model, unit)
    subject = subject_of(described["product"], described["unit"], _PREVIEW)
    assignments, problems = try_rules(checked, facts, subject)
    state = readiness(nested(assignments), assignments, reads_of(checked.package), problems)
    return ModelReadiness(
        sku=model["sku"],
        name=model["name"],
        serial=None if unit is None else unit["serial"],
        state=state,
        missing=[(one.path, _wanted(one)) for one in state.missing],
        filled=[(one.path, _sources(one, names)) for one in state.filled],
    )


def _wanted(field: FieldState) -> str:
    return " or ".join(BRINGERS.get(kind, kind) for kind in field.bringers) or NOBODY


def _sources(field: FieldState, names: Mapping[str, str]) -> str:
    found = (names.get(one) or BRINGERS.get(one, one) for one in field.bringers)
    return ", ".join(dict.fromkeys(found)) or "the rules themselves"
