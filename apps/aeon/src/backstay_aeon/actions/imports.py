"""Imports: begin, try out, start, correct, undo, and give a receipt."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID, uuid4

from backstay_aeon.actions import submit
from backstay_aeon.actions.uploads import keep
from backstay_aeon.domain.errors import BadSettings, Conflict
from backstay_aeon.domain.imports import mapping as mappings
from backstay_aeon.domain.imports import receipts
from backstay_aeon.domain.imports.batches import chained
from backstay_aeon.domain.imports.rejects import write_rejects
from backstay_aeon.services import Services
from backstay_aeon.store import imports


async def begin(
    services: Services,
    team_id: UUID,
    user_id: UUID | None,
    *,
    name: str,
    content: bytes,
    dataset: str,
    mapping: dict[str, str] | None = None,
    on_error: str = "skip",
    batch_size: int = 1000,
) -> UUID:
    """Keep the file and make an import of it; nothing runs yet."""
    options = {"mapping": mapping or {}, "on_error": on_error, "batch_size": batch_size}
    mappings.check_options(options)
    file = await keep(services, team_id, user_id, name, content)
    import_id = uuid4()
    values = {
        "id": import_id,
        "team_id": team_id,
        "created_by": user_id,
        "dataset": dataset,
        "file_id": file["id"],
    }
    await imports.add(services.database, {**values, **options})
    return import_id


async def remap(
    services: Services, team_id: UUID, import_id: UUID, mapping: dict[str, str]
) -> dict[str, Any]:
    """Say which column of the file is which one of the dataset, before anything is written."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
        dataset = await imports.dataset(connection, team_id, one["dataset"])
    if dataset is None or not one["form"].get("headers"):
        raise Conflict("the file was not read yet: start a dry run first")
    mappings.check_options({"mapping": mapping})
    given = mappings.checked(mapping, one["form"]["headers"], dataset)
    mappings.complete(given, one["form"]["headers"], dataset)
    if not await imports.remap(services.database, import_id, given):
        raise Conflict(f"the import is {one['status']}: the mapping counts before anything is written")
    return await show(services, team_id, import_id)


async def start(
    services: Services,
    team_id: UUID,
    user_id: UUID | None,
    import_id: UUID,
    *,
    dry_run: bool = False,
    priority: int = 5,
) -> str:
    """Enqueue the job of an import, or of its dry run; starting twice is one job."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
    if not dry_run and one["status"] not in ("draft", "failed"):
        raise Conflict(f"the import is {one['status']}: it cannot be started again")
    given = {
        "job_type": "data_import",
        "payload": {"import_id": str(import_id), **({"dry_run": True} if dry_run else {})},
        "priority": priority,
        "metadata": {"import_id": str(import_id)},
    }
    if not dry_run:
        given["idempotency_key"] = f"import-{import_id}-{one['job_id'] or 'first'}"
        given["timeout_ms"] = 3_600_000
    made = await submit.create(services, team_id, user_id, given)
    if not dry_run:
        await services.database.execute(
            "UPDATE aeon.imports SET status = 'waiting', job_id = $2 WHERE id = $1 AND status IN ('draft', 'failed')",
            import_id,
            UUID(made["job_id"]),
        )
    return str(made["job_id"])


async def show(services: Services, team_id: UUID, import_id: UUID) -> dict[str, Any]:
    """An import with its figures."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
        figures = await imports.counts(connection, import_id)
        reasons = await imports.reasons(connection, import_id)
        dataset = await imports.dataset(connection, team_id, one["dataset"])
    one.pop("storage_key")
    columns = [] if dataset is None else [column.name for column in dataset.columns]
    return {**one, "counts": figures, "reasons": reasons, "columns": columns}


async def rejects(services: Services, team_id: UUID, import_id: UUID) -> bytes:
    """The workbook of rows that are refused now."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
        rows = await imports.open_rejects(connection, import_id)
    headers = one["form"].get("headers") or []
    return write_rejects(headers, [(row["row_number"], row["cells"], row["problems"]) for row in rows])


async def resubmit(
    services: Services, team_id: UUID, user_id: UUID | None, import_id: UUID, name: str, content: bytes
) -> str:
    """Send corrected rows back into the same import."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
    if one["status"] != "completed":
        raise Conflict(f"the import is {one['status']}: corrected rows are taken when it is completed")
    file = await keep(services, team_id, user_id, name, content)
    part = await services.database.value(
        "INSERT INTO aeon.import_parts (import_id, part, file_id)"
        " SELECT $1, coalesce(max(part), 0) + 1, $2 FROM aeon.import_parts WHERE import_id = $1 RETURNING part",
        import_id,
        file["id"],
    )
    payload = {"import_id": str(import_id), "part": part}
    made = await submit.create(services, team_id, user_id, {"job_type": "data_import", "payload": payload})
    return str(made["job_id"])


async def undo(services: Services, team_id: UUID, user_id: UUID | None, import_id: UUID) -> str:
    """Take an import back."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
    if one["status"] not in ("completed", "failed"):
        raise Conflict(f"the import is {one['status']}: only an ended one can be undone")
    payload = {"import_id": str(import_id)}
    made = await submit.create(services, team_id, user_id, {"job_type": "undo_import", "payload": payload})
    return str(made["job_id"])


async def facts(services: Services, team_id: UUID, import_id: UUID) -> dict[str, Any]:
    """What a receipt tells, reckoned from what is stored now."""
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
        figures = await imports.counts(connection, import_id)
        written = await imports.hashes(connection, import_id)
        records = await imports.records_hash(connection, one)
    content = await services.files.get(one["storage_key"])
    return {
        "import_id": str(import_id),
        "team_id": str(team_id),
        "dataset": one["dataset"],
        "file_name": one["file_name"],
        "file_sha256": hashlib.sha256(content).hexdigest(),
        "file_size": len(content),
        "mapping": one["mapping"],
        "counts": figures,
        "batches": len(written),
        "rows_sha256": chained(written),
        "records": records["records"],
        "records_sha256": records["sha256"],
        "finished_at": one["finished_at"].isoformat() if one["finished_at"] else None,
    }


async def receipt(services: Services, team_id: UUID, import_id: UUID) -> dict[str, Any]:
    """A signed receipt of a completed import."""
    _need_secret(services)
    async with services.database.connection() as connection:
        one = await imports.get(connection, import_id, team_id)
    if one["status"] != "completed":
        raise Conflict(f"the import is {one['status']}: a receipt is given when it is completed")
    return receipts.sign(await facts(services, team_id, import_id), services.settings.secret)


async def verify(services: Services, given: dict[str, Any]) -> list[str]:
    """What does not hold of a receipt; empty when all of it does."""
    _need_secret(services)
    told = given.get("receipt") or {}
    try:
        import_id, team_id = UUID(told["import_id"]), UUID(told["team_id"])
    except (KeyError, TypeError, ValueError):
        return ["this is no receipt of an import"]
    return receipts.problems(given, await facts(services, team_id, import_id), services.settings.secret)


def _need_secret(services: Services) -> None:
    if not services.settings.is_secret_kept:
        raise BadSettings("AEON_SECRET is not set: a receipt could be verified by nobody but this process")
