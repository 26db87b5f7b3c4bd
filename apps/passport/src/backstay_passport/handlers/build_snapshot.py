"""BUILD_SNAPSHOT: check a snapshot and move it from BUILDING to READY."""

from __future__ import annotations

from backstay import Context
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.snapshots import SnapshotStatus, require_single_facts, require_status
from backstay_passport.services import Services
from backstay_passport.store import snapshots


def run(ctx: Context, services: Services, snapshot_id: str) -> None:
    """Make the snapshot READY; a job that has done so already does nothing."""
    with services.database.connect() as connection, ctx.transaction(connection):
        row = snapshots.get(connection, ctx.tenant, snapshot_id, lock=True)
        if row["built_by_job"] == str(ctx.job_id):
            return
        require_status(snapshot_id, row["status"], SnapshotStatus.BUILDING)
        require_single_facts(snapshots.items(connection, ctx.tenant, snapshot_id))
        snapshots.make_ready(connection, snapshot_id, str(ctx.job_id))
        services.tell(
            connection, ctx.tenant, NewEvent("DataSnapshot", snapshot_id, "SNAPSHOT_READY", {}), in_job=True
        )
