"""Passports, their versions and exports."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select
from sqlalchemy.exc import IntegrityError

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import CompileInput, CompileOutput
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.lifecycle import PassportStatus, check_passport_move
from backstay_passport.domain.signing import SigningKey
from backstay_passport.domain.verify import Artifacts
from backstay_passport.store import batteries, rules, snapshots
from backstay_passport.store.rows import add, change, find
from backstay_passport.store.tables import (
    battery_products,
    battery_units,
    passport_exports,
    passport_versions,
    passports,
)


def create(connection: Connection, tenant_id: str, product_id: str, unit_id: str | None) -> tuple[str, bool]:
    """Return the passport of a battery, or of a model if no battery is given, and whether it is new."""
    batteries.product(connection, tenant_id, product_id)
    if unit_id is not None:
        unit = batteries.unit(connection, tenant_id, unit_id)
        if unit["product_id"] != product_id:
            raise InvalidInput(f"battery {unit['serial']} is of another model; give the model that it is of")
    known = _known(connection, tenant_id, product_id, unit_id)
    if known is not None:
        return known, False
    values = {"battery_product_id": product_id, "battery_unit_id": unit_id}
    try:
        with connection.begin_nested():
            return add(connection, passports, tenant_id, **values), True
    except IntegrityError:
        # Somebody else has made it since.
        found = _known(connection, tenant_id, product_id, unit_id)
        assert found is not None, "a passport that exists twice can be found"
        return found, False


def _known(connection: Connection, tenant_id: str, product_id: str, unit_id: str | None) -> str | None:
    query = select(passports.c.id).where(
        passports.c.tenant_id == tenant_id,
        passports.c.battery_product_id == product_id,
        passports.c.battery_unit_id.is_(None) if unit_id is None else passports.c.battery_unit_id == unit_id,
    )
    return connection.execute(query).scalar_one_or_none()


def get(connection: Connection, tenant_id: str, passport_id: str) -> RowMapping:
    """Return a passport."""
    return find(connection, passports, tenant_id, passport_id, "passport")


def of_unit(connection: Connection, unit_id: str) -> RowMapping | None:
    """Return the passport of a battery; one that names another model than the battery's is none of it."""
    query = (
        select(passports)
        .join(battery_units, battery_units.c.id == passports.c.battery_unit_id)
        .where(
            passports.c.battery_unit_id == unit_id,
            passports.c.battery_product_id == battery_units.c.product_id,
        )
    )
    return connection.execute(query).mappings().one_or_none()


def of_model(connection: Connection, product_id: str) -> RowMapping | None:
    """Return the passport of a model, not of one of its batteries."""
    query = select(passports).where(
        passports.c.battery_product_id == product_id, passports.c.battery_unit_id.is_(None)
    )
    return connection.execute(query).mappings().one_or_none()


def shown_for_gtin(connection: Connection, gtin: str) -> RowMapping | None:
    """Return the model's passport that a label without serial number opens: of the maker who had the number first."""
    query = (
        select(passports)
        .join(battery_products, battery_products.c.id == passports.c.battery_product_id)
        .where(
            battery_products.c.gtin == gtin,
            passports.c.battery_unit_id.is_(None),
            passports.c.active_version_id.is_not(None),
        )
    )
    ordered = query.order_by(battery_products.c.created_at, battery_products.c.id).limit(1)
    return connection.execute(ordered).mappings().one_or_none()


def version(connection: Connection, tenant_id: str, version_id: str) -> RowMapping:
    """Return a passport version."""
    return find(connection, passport_versions, tenant_id, version_id, "passport version")


def any_version(connection: Connection, version_id: str) -> RowMapping | None:
    """Return a passport version whoever made it, for those who have scanned its code."""
    query = select(passport_versions).where(passport_versions.c.id == version_id)
    return connection.execute(query).mappings().one_or_none()


def all_of(connection: Connection, tenant_id: str, limit: int, offset: int) -> Sequence[RowMapping]:
    """Return the passports of a tenant, newest first, a page at a time."""
    query = select(passports).where(passports.c.tenant_id == tenant_id)
    ordered = query.order_by(passports.c.created_at.desc(), passports.c.id).limit(limit).offset(offset)
    return connection.execute(ordered).mappings().all()


def versions_of(connection: Connection, tenant_id: str, passport_id: str) -> Sequence[RowMapping]:
    """Return the versions of a passport, newest first."""
    query = select(passport_versions).where(
        passport_versions.c.tenant_id == tenant_id, passport_versions.c.passport_id == passport_id
    )
    ordered = query.order_by(passport_versions.c.issued_at.desc(), passport_versions.c.created_at.desc())
    return connection.execute(ordered).mappings().all()


def insert_version(
    connection: Connection, given: CompileInput, output: CompileOutput, *, job_id: str
) -> None:
    """Store a compiled version as COMPILING."""
    subject = {"product": dict(given.product), "unit": None if given.unit is None else dict(given.unit)}
    add(
        connection,
        passport_versions,
        given.tenant_id,
        id=given.passport_version_id,
        passport_id=given.passport_id,
        snapshot_id=given.snapshot_id,
        rule_package_version_id=given.rule_package_version_id,
        subject_canonical=encode(subject),
        payload_canonical=output.payload_canonical,
        payload_hash=output.payload_hash,
        proof_canonical=output.proof_canonical,
        proof_root_hash=output.proof_root_hash,
        receipt_canonical=output.receipt_canonical,
        receipt_hash=output.receipt_hash,
        compiler_build_id=given.build_id,
        issued_at=given.issued_at,
        status=PassportStatus.COMPILING,
        job_id=job_id,
    )


def sign(connection: Connection, version_id: str, key: SigningKey, signature: bytes) -> None:
    """Store the signature and move the version to SIGNED."""
    change(
        connection,
        passport_versions,
        version_id,
        signature=signature,
        signing_key_id=key.key_id,
        signing_key_public=key.public,
        status=PassportStatus.SIGNED,
    )


def store_code(connection: Connection, version_id: str, text: str, picture: bytes) -> None:
    """Store the code of a version."""
    change(connection, passport_versions, version_id, qr_payload=text, qr_png=picture)


def activate(connection: Connection, tenant_id: str, version_id: str) -> str | None:
    """Make a SIGNED version the ACTIVE one and return the version that it supersedes."""
    row = version(connection, tenant_id, version_id)
    check_passport_move(version_id, row["status"], PassportStatus.ACTIVE)
    before: str | None = get(connection, tenant_id, row["passport_id"])["active_version_id"]
    if before is not None:
        old = version(connection, tenant_id, before)
        if old["status"] == PassportStatus.ACTIVE:
            change(connection, passport_versions, before, status=PassportStatus.SUPERSEDED)
        else:
            before = None
    change(connection, passport_versions, version_id, status=PassportStatus.ACTIVE)
    change(connection, passports, row["passport_id"], active_version_id=version_id)
    return before


def end(connection: Connection, tenant_id: str, passport_id: str) -> str | None:
    """Supersede the active version of a passport without a new one, and return it; its page stays."""
    active: str | None = get(connection, tenant_id, passport_id)["active_version_id"]
    if active is None or version(connection, tenant_id, active)["status"] != PassportStatus.ACTIVE:
        return None
    change(connection, passport_versions, active, status=PassportStatus.SUPERSEDED)
    return active


def revoke(connection: Connection, tenant_id: str, version_id: str) -> None:
    """Revoke a version."""
    row = version(connection, tenant_id, version_id)
    check_passport_move(version_id, row["status"], PassportStatus.REVOKED)
    change(connection, passport_versions, version_id, status=PassportStatus.REVOKED)


def artifacts(row: RowMapping) -> Artifacts:
    """Return what a verifier needs of a stored version."""

    def content(name: str) -> bytes | None:
        return None if row[name] is None else bytes(row[name])

    return Artifacts(
        payload=bytes(row["payload_canonical"]),
        proof=bytes(row["proof_canonical"]),
        receipt=bytes(row["receipt_canonical"]),
        signature=content("signature"),
        public_key=content("signing_key_public"),
        qr_text=row["qr_payload"],
    )


def compiled_from(connection: Connection, tenant_id: str, row: RowMapping) -> CompileInput:
    """Return what a stored version was compiled from."""
    receipt = parse(bytes(row["receipt_canonical"]))
    subject = parse(bytes(row["subject_canonical"]))
    package = rules.version(connection, tenant_id, row["rule_package_version_id"])
    return CompileInput(
        tenant_id=tenant_id,
        passport_id=row["passport_id"],
        passport_version_id=row["id"],
        product_id=receipt["battery_product_id"],
        product=subject["product"],
        unit_id=receipt["battery_unit_id"],
        unit=subject["unit"],
        snapshot_id=row["snapshot_id"],
        snapshot_secret=snapshots.secret_of(connection, row["snapshot_id"]),
        facts=snapshots.items(connection, tenant_id, row["snapshot_id"]),
        rule_package_version_id=row["rule_package_version_id"],
        rules_source=package["rules_source"],
        tests_source=package["tests_source"],
        issued_at=row["issued_at"],
        build_id=row["compiler_build_id"],
        signing_key_id=receipt["signing_key_id"],
    )


def exports_of(connection: Connection, tenant_id: str, version_id: str) -> Sequence[RowMapping]:
    """Return the exports of a version, newest first."""
    query = select(passport_exports).where(
        passport_exports.c.tenant_id == tenant_id, passport_exports.c.passport_version_id == version_id
    )
    return connection.execute(query.order_by(passport_exports.c.created_at.desc())).mappings().all()
