"""EXCEL_IMPORT_PROCESSING: check a register; then, once a person has confirmed it, create its obligations."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from backstay import Context
from backstay_oblicore import files
from backstay_oblicore.domain import texts
from backstay_oblicore.domain.errors import FileUnreadable, ImportMissing, OblicoreError
from backstay_oblicore.domain.register.headers import map_headers
from backstay_oblicore.domain.register.rows import Checked, Known, check_rows, check_size
from backstay_oblicore.domain.words import AlertType, Channel, ImportStatus, Severity
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store import imports
from backstay_oblicore.store.database import from_json
from backstay_oblicore.store.notifications import Note, write
from backstay_parts.sheets import BadSheet, read_sheets

KIND = "EXCEL_IMPORT_PROCESSING"
VALIDATE_SECONDS, CREATE_SECONDS = 60, 300


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def excel_import_processing(
        ctx: Context,
        import_id: UUID,
        user_id: UUID,
        phase: Literal["VALIDATE", "CREATE"] = "VALIDATE",
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        try:
            if phase == "VALIDATE":
                await _validate(services, ctx, import_id, user_id)
            else:
                await _create(services, ctx, import_id, user_id)
        except OblicoreError as error:
            await _failed(services, ctx, import_id, error)
            raise
        return {}

    return excel_import_processing


async def _validate(services: Services, ctx: Context, import_id: UUID, user: UUID) -> None:
    async with services.database.as_user(user) as connection:
        row = await imports.load(connection, import_id)
        if row is None or row["status"] not in (ImportStatus.PENDING, ImportStatus.PROCESSING):
            raise ImportMissing(f"import {import_id} is not there, or has been checked already")
        await imports.set_status(connection, import_id, ImportStatus.PROCESSING)
        known = await imports.known_facts(connection, row)
    await services.remember(
        ctx, import_id=str(import_id), file_name=row["file_name"], execution_step="VALIDATE"
    )
    content = await files.load(services.storage, row["file_path"])
    async with asyncio.timeout(VALIDATE_SECONDS):
        checked = await asyncio.to_thread(check_file, content, known, from_json(row["column_mapping"]))
    async with services.closing(ctx, user) as closing:
        await imports.save_preview(closing.connection, import_id, checked)
        message = texts.IMPORT_READY.format(valid=len(checked.valid), errors=len(checked.errors))
        url = f"/obligations/import/{import_id}/preview"
        closing.notes.append(_note(row, Severity.INFO, texts.IMPORT_READY_TITLE, message, url))
        closing.result |= {"valid_count": len(checked.valid), "error_count": len(checked.errors)}


def check_file(content: bytes, known: Known, mapping: dict[str, str] | None) -> Checked:
    """Read a register of any format and check its rows."""
    check_size(len(content))
    try:
        sheets = read_sheets(content)
    except BadSheet as error:
        raise FileUnreadable(str(error)) from error
    rows = next((sheet.rows for sheet in sheets if sheet.rows), [])
    if not rows:
        raise FileUnreadable("the register has no rows: the first row must hold the names of the columns")
    headers = [str(cell) if cell is not None else "" for cell in rows[0]]
    mapped = map_headers(headers, custom=mapping)
    return check_rows(enumerate(rows[1:], start=2), mapped.columns, known)


async def _create(services: Services, ctx: Context, import_id: UUID, user: UUID) -> None:
    async with services.closing(ctx, user) as closing:
        row = await imports.load(closing.connection, import_id)
        if row is None or row["status"] != ImportStatus.PENDING_REVIEW:
            raise ImportMissing(f"import {import_id} is not there, or does not wait for a confirmation")
        options = from_json(row["options"])
        created: list[UUID] = []
        errors = list(from_json(row["error_rows"]))
        for entry in from_json(row["valid_rows"]):
            if texts.DUPLICATE_OBLIGATION in entry["warnings"]:
                continue
            problem, obligation = await _create_row(closing, row, entry, options)
            if problem:
                errors.append({"row_number": entry["row_number"], "errors": [problem]})
            elif obligation:
                created.append(obligation)
        await imports.finish(closing.connection, import_id, created, errors)
        message = texts.IMPORT_DONE.format(count=len(created))
        url = f"/sites/{row['site_id']}/obligations"
        closing.notes.append(_note(row, Severity.SUCCESS, texts.IMPORT_DONE_TITLE, message, url))
        closing.result |= {"success_count": len(created)}


async def _create_row(
    closing: Closing, row: Any, entry: dict[str, Any], options: dict[str, Any]
) -> tuple[str | None, UUID | None]:
    data = entry["data"]
    create_sites = bool(options.get("create_missing_sites", False))
    if data["site_id"]:
        site: UUID | None = UUID(data["site_id"])
    else:
        site = await imports.find_site(
            closing.connection, row["company_id"], data["site_name"], create=create_sites
        )
    if site is None:
        return texts.SITE_NOT_FOUND, None
    create_permits = bool(options.get("create_missing_permits", False))
    permit = await imports.find_permit(
        closing.connection, row, data["permit_number"], site, create=create_permits
    )
    if permit is None:
        return texts.PERMIT_NOT_FOUND, None
    return None, await imports.add_obligation(closing.connection, row, entry, document=permit, site=site)


def _note(row: Any, severity: Severity, title: str, message: str, url: str) -> Note:
    return Note(
        user_id=str(row["user_id"]),
        company_id=row["company_id"],
        site_id=row["site_id"],
        alert_type=AlertType.SYSTEM,
        severity=severity,
        channels=(Channel.EMAIL, Channel.IN_APP),
        title=title,
        message=message,
        entity_type="excel_import",
        entity_id=row["id"],
        action_url=url,
        dedupe_key=f"import:{row['id']}:{title}",
    )


async def _failed(services: Services, ctx: Context, import_id: UUID, error: OblicoreError) -> None:
    if error.retryable and ctx.attempt < ctx.max_attempts:
        return
    async with services.database.as_service() as connection:
        row = await connection.fetchrow("SELECT * FROM oblicore.excel_imports WHERE id = $1", import_id)
        if row is None or row["status"] in (ImportStatus.COMPLETED, ImportStatus.CANCELLED):
            return
        await imports.set_status(connection, import_id, ImportStatus.FAILED, error=str(error))
        message = texts.IMPORT_FAILED.format(error=error)
        note = _note(
            row, Severity.ERROR, "Excel import failed", message, f"/obligations/import/{import_id}/preview"
        )
        written = await write(connection, [note], now=ctx.now)
    await services.deliver(written)
