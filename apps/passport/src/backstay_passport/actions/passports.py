"""Passports: made, compiled, activated, revoked, exported and verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backstay_passport.actions.batteries import require_last_life
from backstay_passport.domain.errors import InvalidInput, PassportError
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.lifecycle import PassportStatus
from backstay_passport.domain.qr import read_qr_text
from backstay_passport.domain.tiers import Tier, audience
from backstay_passport.domain.verify import Check, verify
from backstay_passport.export import ExportFormat
from backstay_passport.services import Services
from backstay_passport.store import batteries, passports, rules, snapshots

ALL_TIERS: frozenset[Tier] = audience("maker")


def create(
    services: Services, tenant_id: str, product_id: str, unit_id: str | None, actor: str | None = None
) -> str:
    """Return the passport of a battery or a model, made if it is new."""
    with services.database.begin() as connection:
        require_last_life(connection, tenant_id, unit_id)
        passport_id, is_new = passports.create(connection, tenant_id, product_id, unit_id)
        if is_new:
            about = {"product_id": product_id, "unit_id": unit_id}
            told = NewEvent("Passport", passport_id, "PASSPORT_CREATED", about, actor)
            services.tell(connection, tenant_id, told)
    return passport_id


def compile_version(
    services: Services, tenant_id: str, passport_id: str, snapshot_id: str, rules_id: str
) -> str:
    """Ask for a version and return the job's id."""
    with services.database.begin() as connection:
        passport = passports.get(connection, tenant_id, passport_id)
        require_last_life(connection, tenant_id, passport["battery_unit_id"])
        snapshots.get(connection, tenant_id, snapshot_id)
        rules.version(connection, tenant_id, rules_id)
        job = services.enqueue(
            "COMPILE_PASSPORT",
            tenant_id,
            tx=connection,
            passport_id=passport_id,
            snapshot_id=snapshot_id,
            rule_package_version_id=rules_id,
        )
    return str(job.id)


@dataclass(frozen=True)
class Requested:
    """A version that was asked for: of which battery, or of the model if none, and the job that makes it."""

    unit_id: str | None
    passport_id: str
    job_id: str


def compile_model(
    services: Services,
    tenant_id: str,
    product_id: str,
    *,
    snapshot_id: str,
    rules_id: str,
    batteries_too: bool,
    actor: str | None = None,
) -> list[Requested]:
    """Ask for a version of a model's own passport, or of those of all its batteries that are not another one yet."""
    unit_ids: list[str | None] = [None]
    if batteries_too:
        with services.database.read() as connection:
            batteries.product(connection, tenant_id, product_id)
            unit_ids = list(batteries.last_lives_of(connection, tenant_id, product_id))
    requested = []
    for unit_id in unit_ids:
        passport_id = create(services, tenant_id, product_id, unit_id, actor)
        job_id = compile_version(services, tenant_id, passport_id, snapshot_id, rules_id)
        requested.append(Requested(unit_id, passport_id, job_id))
    return requested


def inputs(
    services: Services, tenant_id: str, snapshot_id: str | None, rules_id: str | None
) -> tuple[str, str]:
    """Return snapshot and rules to compile from: those that are named, else the newest sealed and published ones."""
    with services.database.read() as connection:
        snapshot_id = snapshot_id or snapshots.newest_sealed(connection, tenant_id)
        rules_id = rules_id or rules.published(connection, tenant_id)
    if snapshot_id is None:
        raise InvalidInput("no snapshot is sealed yet")
    if rules_id is None:
        raise InvalidInput("no rules are published yet")
    return snapshot_id, rules_id


def activate(services: Services, tenant_id: str, version_id: str, actor: str | None = None) -> str | None:
    """Make a signed version the one that is shown, and return the one that it supersedes."""
    with services.database.begin() as connection:
        row = passports.version(connection, tenant_id, version_id)
        passport = passports.get(connection, tenant_id, row["passport_id"])
        require_last_life(connection, tenant_id, passport["battery_unit_id"])
        superseded = passports.activate(connection, tenant_id, version_id)
        told = NewEvent("PassportVersion", version_id, "PASSPORT_ACTIVATED", {}, actor)
        services.tell(connection, tenant_id, told)
        if superseded is not None:
            gone = NewEvent("PassportVersion", superseded, "PASSPORT_SUPERSEDED", {"by": version_id}, actor)
            services.tell(connection, tenant_id, gone)
    return superseded


def revoke(
    services: Services, tenant_id: str, version_id: str, reason: str, actor: str | None = None
) -> None:
    """Revoke a version for a reason."""
    if not reason.strip():
        raise InvalidInput("say why the version is revoked")
    with services.database.begin() as connection:
        passports.revoke(connection, tenant_id, version_id)
        told = NewEvent("PassportVersion", version_id, "PASSPORT_REVOKED", {"reason": reason}, actor)
        services.tell(connection, tenant_id, told)


def export_version(
    services: Services,
    tenant_id: str,
    version_id: str,
    chosen: ExportFormat,
    *,
    public: bool,
    destination: str | None = None,
) -> str:
    """Ask for an export and return the job's id."""
    with services.database.begin() as connection:
        passports.version(connection, tenant_id, version_id)
        arguments: dict[str, Any] = {"passport_version_id": version_id, "format": chosen, "public": public}
        if destination is not None:
            arguments["destination"] = destination
        job = services.enqueue("EXPORT_PASSPORT", tenant_id, tx=connection, **arguments)
    return str(job.id)


def verify_text(services: Services, text: str) -> tuple[str | None, list[Check]]:
    """Check a scanned text against the version that it names; return that version's id and the checks."""
    try:
        scanned = read_qr_text(text)
    except PassportError as error:
        return None, [Check("code", False, error.message)]
    with services.database.read() as connection:
        row = passports.any_version(connection, scanned.passport_version_id)
    if row is None:
        return None, [
            Check("version", False, f"there is no passport version {scanned.passport_version_id} here")
        ]
    held = passports.artifacts(row)
    checks = verify(type(held)(**{**held.__dict__, "qr_text": text.strip()}))
    return row["id"], [*checks, status_check(row["status"])]


def status_check(status: str) -> Check:
    """Say whether a version still counts; a revoked or superseded one is genuine, but not valid any more."""
    valid = status in (PassportStatus.SIGNED, PassportStatus.ACTIVE)
    return Check("status", valid, "the version is valid" if valid else f"the version is {status}")
