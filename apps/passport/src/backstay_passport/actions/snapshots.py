"""Making, filling, building and sealing snapshots."""

from __future__ import annotations

from collections.abc import Iterable

from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.snapshots import SnapshotStatus, require_single_facts, require_status
from backstay_passport.services import Services
from backstay_passport.store import documents, snapshots


def create(services: Services, tenant_id: str, name: str, actor: str | None = None) -> str:
    """Make an empty snapshot."""
    with services.database.begin() as connection:
        snapshot_id = snapshots.create(connection, tenant_id, name)
        told = NewEvent("DataSnapshot", snapshot_id, "SNAPSHOT_CREATED", {"name": name}, actor)
        services.tell(connection, tenant_id, told)
    return snapshot_id


def add_facts(services: Services, tenant_id: str, snapshot_id: str, fact_ids: Iterable[str]) -> int:
    """Add facts to a snapshot that is BUILDING."""
    with services.database.begin() as connection:
        return snapshots.add_facts(connection, tenant_id, snapshot_id, fact_ids)


def add_document(services: Services, tenant_id: str, snapshot_id: str, version_id: str) -> int:
    """Add all facts of a document version."""
    with services.database.begin() as connection:
        documents.version(connection, tenant_id, version_id)
        rows = documents.facts_of(connection, tenant_id, version_id)
        return snapshots.add_facts(connection, tenant_id, snapshot_id, [row["id"] for row in rows])


def add_newest(services: Services, tenant_id: str, snapshot_id: str) -> int:
    """Add the newest fact of each type and key."""
    with services.database.begin() as connection:
        rows = documents.newest_facts(connection, tenant_id)
        return snapshots.add_facts(connection, tenant_id, snapshot_id, [row["id"] for row in rows])


def build(services: Services, tenant_id: str, snapshot_id: str) -> str:
    """Ask for a snapshot to be built and return the job's id."""
    with services.database.begin() as connection:
        snapshots.get(connection, tenant_id, snapshot_id)
        job = services.enqueue("BUILD_SNAPSHOT", tenant_id, tx=connection, snapshot_id=snapshot_id)
    return str(job.id)


def seal(services: Services, tenant_id: str, snapshot_id: str, actor: str | None = None) -> bytes:
    """Seal a snapshot and return its hash; one that is still BUILDING becomes READY first."""
    with services.database.begin() as connection:
        row = snapshots.get(connection, tenant_id, snapshot_id, lock=True)
        if row["status"] == SnapshotStatus.BUILDING:
            require_single_facts(snapshots.items(connection, tenant_id, snapshot_id))
            snapshots.make_ready(connection, snapshot_id, None)
            ready = NewEvent("DataSnapshot", snapshot_id, "SNAPSHOT_READY", {}, actor)
            services.tell(connection, tenant_id, ready)
        else:
            require_status(snapshot_id, row["status"], SnapshotStatus.READY)
        fixed = snapshots.seal(connection, tenant_id, snapshot_id)
        told = NewEvent("DataSnapshot", snapshot_id, "SNAPSHOT_SEALED", {"snapshot_hash": fixed.hex()}, actor)
        services.tell(connection, tenant_id, told)
    return fixed
