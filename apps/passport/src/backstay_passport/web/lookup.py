"""Finding what a public page shows: the active version of the passport behind a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from backstay.kit import path_of
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.digital_link import check_gtin, check_serial
from backstay_passport.domain.errors import PassportError
from backstay_passport.domain.lifecycle import PassportStatus
from backstay_passport.domain.tiers import Tier, audience
from backstay_passport.services import Services
from backstay_passport.store import access, batteries, passports, rules
from backstay_passport.store.tables import document_versions, documents


@dataclass(frozen=True)
class Shown:
    """A version that is shown, with what explains it."""

    row: RowMapping
    payload: Mapping[str, Any]
    proof: Mapping[str, Any]
    receipt: Mapping[str, Any]
    rules_source: str
    documents: Mapping[str, str]
    is_valid: bool


def by_label(services: Services, gtin: str, serial: str | None) -> Shown | None:
    """Return the version that a label leads to, of a battery or, without a serial number, of a model."""
    try:
        checked = check_gtin(gtin)
        serial = None if serial is None else check_serial(serial)
    except PassportError:
        return None
    with services.database.read() as connection:
        passport = _behind(connection, checked, serial)
        if passport is None or passport["active_version_id"] is None:
            return None
        row = passports.version(connection, passport["tenant_id"], passport["active_version_id"])
        return shown(connection, row)


def _behind(connection: Connection, gtin: str, serial: str | None) -> RowMapping | None:
    if serial is None:
        return passports.shown_for_gtin(connection, gtin)
    unit = batteries.unit_by_label(connection, gtin, serial)
    return None if unit is None else passports.of_unit(connection, unit["id"])


def shown(connection: Connection, row: RowMapping) -> Shown:
    """Return a version with its rules and the names of its documents."""
    proof = parse(bytes(row["proof_canonical"]))
    package = rules.version(connection, row["tenant_id"], row["rule_package_version_id"])
    return Shown(
        row=row,
        payload=parse(bytes(row["payload_canonical"])),
        proof=proof,
        receipt=parse(bytes(row["receipt_canonical"])),
        rules_source=package["rules_source"],
        documents=_documents(connection, row["tenant_id"], proof),
        is_valid=row["status"] in (PassportStatus.SIGNED, PassportStatus.ACTIVE),
    )


def _documents(connection: Connection, tenant_id: str, proof: Mapping[str, Any]) -> dict[str, str]:
    wanted = {one["document_version_id"] for one in proof["sources"].values() if one["document_version_id"]}
    query = (
        select(document_versions.c.id, documents.c.name)
        .join(documents, documents.c.id == document_versions.c.document_id)
        .where(document_versions.c.tenant_id == tenant_id, document_versions.c.id.in_(wanted))
    )
    return {row.id: row.name for row in connection.execute(query)}


@dataclass(frozen=True)
class EarlierLife:
    """What a battery was before, and where its page is."""

    serial: str
    href: str


def earlier_lives(services: Services, shown_version: Shown) -> list[EarlierLife]:
    """Return what the battery of a version was before, newest first."""
    unit_id = shown_version.receipt["battery_unit_id"]
    if unit_id is None:
        return []
    with services.database.read() as connection:
        lives = batteries.lineage(connection, shown_version.row["tenant_id"], unit_id)[1:]
    return [EarlierLife(one["serial"], path_of("01", one["gtin"], "21", one["serial"])) for one in lives]


def tiers_of(services: Services, shown_version: Shown, token: str | None) -> tuple[frozenset[Tier], str]:
    """Return what somebody with this token may see of a version; the look of a partner is written down."""
    if not token:
        return audience("public"), "public"
    row = shown_version.row
    with services.database.begin() as connection:
        found = access.token(connection, row["tenant_id"], token)
        if found is None:
            return audience("public"), "public"
        access.log_access(connection, row["tenant_id"], found["id"], row["passport_id"])
    return audience(found["audience"]), str(found["audience"])
