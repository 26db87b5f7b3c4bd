"""undo_import: take back what one import wrote, but for records that a later import has changed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay import Context
from backstay_aeon import services
from backstay_aeon.domain.errors import BadRequest, Conflict
from backstay_aeon.job_types import Envelope, JobType, add
from backstay_aeon.store import imports


class UndoImport(JobType):
    """Undo an import by its before-images."""

    name = "undo_import"
    queue = "imports"
    title = "Undo an import"

    def validate(self, payload: dict[str, Any]) -> None:
        """The id of an import."""
        try:
            UUID(str(payload.get("import_id")))
        except ValueError:
            raise BadRequest("undo_import needs an import_id", field="payload/import_id") from None

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        """All of it in one transaction."""
        here = services.here()
        async with here.database.transaction() as connection:
            one = await imports.get(connection, UUID(payload["import_id"]), UUID(envelope.team_id))
            await imports.lock_dataset(connection, one["team_id"], one["dataset"])
            one = await imports.get(connection, UUID(payload["import_id"]), UUID(envelope.team_id))
            if one["status"] == "undone":
                return {"import_id": str(one["id"]), "already": True}
            if one["status"] not in ("completed", "failed"):
                raise Conflict(f"the import is {one['status']}: cancel it or wait for its end first")
            return {"import_id": str(one["id"]), **await imports.undo(connection, one)}


add(UndoImport())
