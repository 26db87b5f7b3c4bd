"""COMPILE_PASSPORT: make a version of a passport from a sealed snapshot and published rules."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from backstay import Context
from backstay_passport.domain.compile import CompileInput, check_sizes, compile_passport
from backstay_passport.domain.errors import (
    EventVersionConflict,
    PassportError,
    RulesNotPublished,
    SnapshotNotReady,
)
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.lifecycle import RuleStatus
from backstay_passport.domain.snapshots import SnapshotStatus
from backstay_passport.services import Services
from backstay_passport.store import batteries, passports, rules, snapshots
from backstay_passport.store.database import new_id, now_text


def run(ctx: Context, services: Services, passport_id: str, snapshot_id: str, rules_id: str) -> str:
    """Store the version, its event and the job that signs it; a version that cannot be made leaves an event."""
    try:
        return _make(ctx, services, passport_id, snapshot_id, rules_id)
    except EventVersionConflict:
        raise
    except PassportError as error:
        with services.database.connect() as connection, ctx.transaction(connection) as tx:
            passports.get(connection, ctx.tenant, passport_id)
            told = {"code": error.code, "snapshot_id": snapshot_id, "rules_id": rules_id}
            event = NewEvent("Passport", passport_id, "COMPILE_FAILED", told)
            services.tell(connection, ctx.tenant, event, in_job=True)
            tx.fail(error)
        return ""


def _make(ctx: Context, services: Services, passport_id: str, snapshot_id: str, rules_id: str) -> str:
    # Drawn once: a repetition makes the same version of the same moment.
    drawn = ctx.step_sync("version", _draw)
    with services.database.read() as connection:
        _check(connection, ctx.tenant, snapshot_id, rules_id)
        given = _input(connection, services, ctx.tenant, (passport_id, snapshot_id, rules_id), drawn)
    output = compile_passport(given)
    check_sizes(output, services.settings.limits)
    version_id = given.passport_version_id
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        _check(connection, ctx.tenant, snapshot_id, rules_id)
        passports.insert_version(connection, given, output, job_id=str(ctx.job_id))
        told = {"snapshot_id": snapshot_id, "rules_id": rules_id, "build_id": given.build_id}
        services.tell(
            connection,
            ctx.tenant,
            NewEvent("PassportVersion", version_id, "PASSPORT_COMPILED", told),
            in_job=True,
        )
        services.enqueue(
            "SIGN_PASSPORT", ctx.tenant, key=f"sign-{version_id}", passport_version_id=version_id
        )
        tx.result(version_id)
    return version_id


def _draw() -> dict[str, str]:
    return {"version_id": new_id(), "issued_at": now_text()}


def _check(connection: Connection, tenant_id: str, snapshot_id: str, rules_id: str) -> None:
    snapshot = snapshots.get(connection, tenant_id, snapshot_id)
    if snapshot["status"] != SnapshotStatus.SEALED:
        raise SnapshotNotReady(snapshot_id, SnapshotStatus.SEALED, snapshot["status"])
    package = rules.version(connection, tenant_id, rules_id)
    if package["status"] != RuleStatus.PUBLISHED:
        raise RulesNotPublished(rules_id, RuleStatus.PUBLISHED, package["status"])


def _input(
    connection: Connection,
    services: Services,
    tenant_id: str,
    ids: tuple[str, str, str],
    drawn: dict[str, str],
) -> CompileInput:
    passport_id, snapshot_id, rules_id = ids
    passport = passports.get(connection, tenant_id, passport_id)
    model = batteries.product(connection, tenant_id, passport["battery_product_id"])
    unit_id = passport["battery_unit_id"]
    unit = None if unit_id is None else batteries.unit(connection, tenant_id, unit_id)
    subject: dict[str, Any] = batteries.subject(model, unit)
    package = rules.version(connection, tenant_id, rules_id)
    return CompileInput(
        tenant_id=tenant_id,
        passport_id=passport_id,
        passport_version_id=drawn["version_id"],
        product_id=model["id"],
        product=subject["product"],
        unit_id=unit_id,
        unit=subject["unit"],
        snapshot_id=snapshot_id,
        snapshot_secret=snapshots.secret_of(connection, snapshot_id),
        facts=snapshots.items(connection, tenant_id, snapshot_id),
        rule_package_version_id=rules_id,
        rules_source=package["rules_source"],
        tests_source=package["tests_source"],
        issued_at=drawn["issued_at"],
        build_id=services.settings.build_id,
        signing_key_id=services.settings.signing_key_id,
    )
