"""Practices, patients, staff and their keys."""

from datetime import date
from typing import Any
from uuid import UUID

from backstay_exora.domain.identity import Patient
from backstay_exora.store.connections import Connection, as_json


async def add_practice(connection: Connection, practice: str, name: str, *, plan: str = "standard") -> None:
    """Store a practice; one that is there stays as it is."""
    await connection.execute(
        "INSERT INTO exora.practices (id, name, plan) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
        practice,
        name,
        plan,
    )


async def plan_of(connection: Connection, practice: str) -> str | None:
    """The plan of a practice; None for an unknown one."""
    plan: str | None = await connection.fetchval("SELECT plan FROM exora.practices WHERE id = $1", practice)
    return plan


async def add_patient(
    connection: Connection,
    practice: str,
    *,
    given_names: str,
    family_name: str,
    date_of_birth: date,
    gender: str | None = None,
    address: str | None = None,
    record_number: str | None = None,
    ihi: str | None = None,
    medicare: str | None = None,
    email: str | None = None,
) -> UUID:
    """Store a patient and return the id."""
    identifier: UUID = await connection.fetchval(
        "INSERT INTO exora.user_profiles (practice_id, given_names, family_name, date_of_birth, gender, address,"
        " record_number, ihi, medicare, email) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id",
        practice,
        given_names,
        family_name,
        date_of_birth,
        gender,
        address,
        record_number,
        ihi,
        medicare,
        email,
    )
    return identifier


async def list_patients(connection: Connection, practice: str) -> list[dict[str, Any]]:
    """All patients of a practice by name."""
    rows = await connection.fetch(
        "SELECT id, given_names, family_name, date_of_birth, gender, record_number FROM exora.user_profiles"
        " WHERE practice_id = $1 ORDER BY family_name, given_names, id",
        practice,
    )
    return [dict(row) for row in rows]


async def get_patient(connection: Connection, practice: str, patient_id: UUID) -> dict[str, Any] | None:
    """A patient of this practice."""
    row = await connection.fetchrow(
        "SELECT id, given_names, family_name, date_of_birth, gender, address, record_number, ihi, medicare, email"
        " FROM exora.user_profiles WHERE id = $1 AND practice_id = $2",
        patient_id,
        practice,
    )
    return dict(row) if row else None


async def identities(connection: Connection, practice: str) -> list[Patient]:
    """What the gate compares with: every patient of the practice."""
    rows = await connection.fetch(
        "SELECT id, given_names, family_name, date_of_birth, gender, address, record_number, ihi"
        " FROM exora.user_profiles WHERE practice_id = $1",
        practice,
    )
    return [Patient(**{**dict(row), "id": str(row["id"])}) for row in rows]


async def note(
    connection: Connection,
    practice: str,
    *,
    actor: str,
    action: str,
    subject: str,
    reason: str | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Write a line of the audit log; details hold counts and ids, never what a document says."""
    await connection.execute(
        "INSERT INTO exora.audit_log (practice_id, actor, action, subject, reason, details)"
        " VALUES ($1, $2, $3, $4, $5, $6::text::jsonb)",
        practice,
        actor,
        action,
        subject,
        reason,
        as_json(details or {}),
    )
