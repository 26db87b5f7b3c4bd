"""Snapshots and their facts; the secret of a sealed one is kept apart."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from sqlalchemy import Connection, RowMapping, insert, select

from backstay_passport.domain.errors import NotFound
from backstay_passport.domain.facts import Fact
from backstay_passport.domain.snapshots import (
    SECRET_BYTES,
    SnapshotStatus,
    require_single_facts,
    require_status,
    snapshot_hash,
)
from backstay_passport.store.database import now_text
from backstay_passport.store.documents import fact_of
from backstay_passport.store.rows import add, change, find
from backstay_passport.store.tables import data_snapshots, facts, snapshot_items, snapshot_secrets


def create(connection: Connection, tenant_id: str, name: str) -> str:
    """Store an empty snapshot that takes facts."""
    return add(connection, data_snapshots, tenant_id, name=name, status=SnapshotStatus.BUILDING)


def get(connection: Connection, tenant_id: str, snapshot_id: str, *, lock: bool = False) -> RowMapping:
    """Return a snapshot; with `lock` nobody else moves it until the transaction ends."""
    if not lock:
        return find(connection, data_snapshots, tenant_id, snapshot_id, "snapshot")
    query = select(data_snapshots).where(
        data_snapshots.c.id == snapshot_id, data_snapshots.c.tenant_id == tenant_id
    )
    row = connection.execute(query.with_for_update()).mappings().one_or_none()
    if row is None:
        raise NotFound("snapshot", snapshot_id)
    return row


def add_facts(connection: Connection, tenant_id: str, snapshot_id: str, fact_ids: Iterable[str]) -> int:
    """Add facts to a snapshot that is BUILDING and return how many are new in it."""
    row = get(connection, tenant_id, snapshot_id, lock=True)
    require_status(snapshot_id, row["status"], SnapshotStatus.BUILDING)
    present = set(
        connection.execute(
            select(snapshot_items.c.fact_id).where(snapshot_items.c.snapshot_id == snapshot_id)
        ).scalars()
    )
    new = [fact_id for fact_id in dict.fromkeys(fact_ids) if fact_id not in present]
    for fact_id in new:
        find(connection, facts, tenant_id, fact_id, "fact")
    if new:
        connection.execute(
            insert(snapshot_items), [{"snapshot_id": snapshot_id, "fact_id": fact_id} for fact_id in new]
        )
    require_single_facts(items(connection, tenant_id, snapshot_id))
    return len(new)


def items(connection: Connection, tenant_id: str, snapshot_id: str) -> list[Fact]:
    """Return the facts of a snapshot."""
    query = (
        select(facts)
        .join(snapshot_items, snapshot_items.c.fact_id == facts.c.id)
        .where(snapshot_items.c.snapshot_id == snapshot_id, facts.c.tenant_id == tenant_id)
    )
    return sorted((fact_of(row) for row in connection.execute(query).mappings()), key=Fact.order)


def make_ready(connection: Connection, snapshot_id: str, job_id: str | None) -> None:
    """Move a snapshot from BUILDING to READY."""
    change(connection, data_snapshots, snapshot_id, status=SnapshotStatus.READY, built_by_job=job_id)


def seal(connection: Connection, tenant_id: str, snapshot_id: str) -> bytes:
    """Seal a READY snapshot: draw its secret, fix its hash."""
    secret = secrets.token_bytes(SECRET_BYTES)
    fixed = snapshot_hash(snapshot_id, items(connection, tenant_id, snapshot_id), secret)
    connection.execute(insert(snapshot_secrets).values(snapshot_id=snapshot_id, secret=secret))
    change(
        connection,
        data_snapshots,
        snapshot_id,
        status=SnapshotStatus.SEALED,
        snapshot_hash=fixed,
        sealed_at=now_text(),
    )
    return fixed


def newest_sealed(connection: Connection, tenant_id: str) -> str | None:
    """Return the snapshot that was sealed last."""
    query = select(data_snapshots.c.id).where(
        data_snapshots.c.tenant_id == tenant_id, data_snapshots.c.status == SnapshotStatus.SEALED
    )
    newest: str | None = connection.execute(
        query.order_by(data_snapshots.c.sealed_at.desc(), data_snapshots.c.id).limit(1)
    ).scalar_one_or_none()
    return newest


def secret_of(connection: Connection, snapshot_id: str) -> bytes:
    """Return the secret of a sealed snapshot."""
    query = select(snapshot_secrets.c.secret).where(snapshot_secrets.c.snapshot_id == snapshot_id)
    return bytes(connection.execute(query).scalar_one())
