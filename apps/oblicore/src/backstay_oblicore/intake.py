"""What people bring in: documents, registers, evidence; stored, then handed to a job in the same transaction."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from datetime import date
from typing import Any
from uuid import UUID, uuid4

from backstay import JobHandle
from backstay_oblicore import files
from backstay_oblicore.domain import storage_paths
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.register.rows import MOST_BYTES, check_size
from backstay_oblicore.domain.words import MODULE_OF_TYPE
from backstay_oblicore.readers.documents import outline
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import Connection, acting_as, to_json

IMPORT_SECONDS = {"VALIDATE": "60s", "CREATE": "300s"}


async def site_of(connection: Connection, site: UUID) -> Any:
    """Return a site that the user may add things to; raise AccessDenied otherwise."""
    row = await connection.fetchrow(
        "SELECT id, company_id, name FROM oblicore.sites WHERE id = $1 AND deleted_at IS NULL"
        " AND oblicore.may_change(company_id, id)",
        site,
    )
    if row is None:
        raise AccessDenied("there is no such site, or you may not add anything to it")
    return row


async def add_document(
    services: Services,
    content: bytes,
    *,
    user: UUID,
    site: UUID,
    title: str,
    document_type: str = "ENVIRONMENTAL_PERMIT",
    permit_number: str | None = None,
    issue_date: date | None = None,
    expiry_date: date | None = None,
    parent: UUID | None = None,
) -> UUID:
    """Store an uploaded PDF and its row; damaged, locked and oversized files are refused before anything is kept."""
    shape = outline(content)
    if document_type not in MODULE_OF_TYPE:
        raise InvalidRequest(f"document_type is one of {', '.join(MODULE_OF_TYPE)}")
    document = uuid4()
    async with services.database.as_user(user) as connection:
        place = await site_of(connection, site)
        if parent is not None:
            await _check_parent(connection, parent, place["company_id"])
        path = storage_paths.document_original(str(place["company_id"]), str(site), str(document))
        await files.save(services.storage, path, content, "application/pdf")
        facts = (title, document_type, permit_number, issue_date, expiry_date, parent)
        file = (shape.page_count, len(content), hashlib.sha256(content).hexdigest(), shape.is_native, path)
        row = (document, place["company_id"], site, *facts, *file, user, MODULE_OF_TYPE[document_type])
        await connection.execute(_ADD_DOCUMENT, *row)
    return document


async def _check_parent(connection: Connection, parent: UUID, company: UUID) -> None:
    known = await connection.fetchval(
        "SELECT TRUE FROM oblicore.documents WHERE id = $1 AND company_id = $2 AND deleted_at IS NULL",
        parent,
        company,
    )
    if not known:
        raise InvalidRequest("the document that this one varies is none that you can see")


async def extract(services: Services, document: UUID, *, user: UUID, force: bool = False) -> JobHandle[Any]:
    """Hand a document to the job that reads it; a second request while it is read finds the first."""
    async with services.database.as_user(user) as connection:
        row = await connection.fetchrow(
            "SELECT company_id FROM oblicore.documents WHERE id = $1 AND deleted_at IS NULL", document
        )
    if row is None:
        raise AccessDenied("there is no such document, or you may not see it")
    handle: JobHandle[Any] = (
        await services.handlers["DOCUMENT_PROCESSING"]
        .options(tenant=str(row["company_id"]), created_by=str(user), unique=f"extract {document}")
        .enqueue(document_id=document, requested_by=user, force_reprocess=force)
    )
    return handle


async def add_import(
    services: Services, content: bytes, *, user: UUID, site: UUID, file_name: str, options: Mapping[str, Any]
) -> tuple[UUID, JobHandle[Any]]:
    """Store a register and enqueue its check in one transaction."""
    check_size(len(content))
    extension = file_name.rpartition(".")[2].lower()
    mapping = options.get("column_mapping")
    import_id = uuid4()
    async with services.database.connection() as connection, connection.transaction():
        async with acting_as(connection, user):
            place = await site_of(connection, site)
            path = storage_paths.import_file(
                str(place["company_id"]), str(site), str(import_id), extension=extension
            )
            await files.save(services.storage, path, content, "application/octet-stream")
            await connection.execute(
                """
                INSERT INTO oblicore.excel_imports (
                    id, company_id, site_id, user_id, file_name, file_format, file_path, options, column_mapping
                )
                VALUES ($1, $2, $3, $4, $5, $6, $7, ($8::text)::jsonb, ($9::text)::jsonb)
                """,
                import_id,
                place["company_id"],
                site,
                user,
                file_name,
                extension,
                path,
                to_json({key: value for key, value in options.items() if key != "column_mapping"}),
                to_json(mapping) if mapping else None,
            )
        job = await _import_job(services, connection, import_id, user, place["company_id"], "VALIDATE")
    return import_id, job


async def confirm_import(services: Services, import_id: UUID, *, user: UUID) -> JobHandle[Any]:
    """Let a checked register be created; refused unless it waits for exactly that."""
    async with services.database.connection() as connection, connection.transaction():
        async with acting_as(connection, user):
            row = await connection.fetchrow(
                "SELECT company_id, status FROM oblicore.excel_imports WHERE id = $1", import_id
            )
            if row is None:
                raise AccessDenied("there is no such import, or you may not see it")
            if row["status"] != "PENDING_REVIEW":
                raise InvalidRequest(f"the import is {row['status']}, so it cannot be confirmed")
        return await _import_job(services, connection, import_id, user, row["company_id"], "CREATE")


async def cancel_import(services: Services, import_id: UUID, *, user: UUID) -> None:
    """Give up a register that was not created yet."""
    async with services.database.as_user(user) as connection:
        done = await connection.execute(
            "UPDATE oblicore.excel_imports SET status = 'CANCELLED', updated_at = now()"
            " WHERE id = $1 AND status IN ('PENDING', 'PENDING_REVIEW')",
            import_id,
        )
    if done.endswith(" 0"):
        raise AccessDenied("there is no such import that could still be cancelled")


async def _import_job(
    services: Services, connection: Connection, import_id: UUID, user: UUID, company: UUID, phase: str
) -> JobHandle[Any]:
    handle: JobHandle[Any] = (
        await services.handlers["EXCEL_IMPORT_PROCESSING"]
        .options(
            tx=connection,
            tenant=str(company),
            created_by=str(user),
            timeout=IMPORT_SECONDS[phase],
            unique=f"import {import_id} {phase}",
        )
        .enqueue(import_id=import_id, user_id=user, phase=phase)
    )
    return handle


async def add_evidence(
    services: Services, content: bytes, *, user: UUID, site: UUID, file_name: str, obligations: list[UUID]
) -> UUID:
    """Store a file of evidence with its hash, and link it to obligations."""
    if not content or len(content) > 5 * MOST_BYTES:
        raise InvalidRequest("a file of evidence has from 1 to 50,000,000 bytes")
    evidence = uuid4()
    extension = re.sub(r"[^a-z0-9]", "", file_name.rpartition(".")[2].lower()) or "bin"
    mime = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
    async with services.database.as_user(user) as connection:
        place = await site_of(connection, site)
        path = storage_paths.evidence_file(
            str(place["company_id"]), str(site), str(evidence), name=str(uuid4()), extension=extension
        )
        await files.save(services.storage, path, content, mime)
        await connection.execute(
            "INSERT INTO oblicore.evidence_items (id, company_id, site_id, file_name, file_type, mime_type,"
            " file_size_bytes, file_hash, storage_path, uploaded_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            evidence,
            place["company_id"],
            site,
            file_name.replace("/", "_")[:200],
            extension,
            mime,
            len(content),
            hashlib.sha256(content).hexdigest(),
            path,
            user,
        )
        for obligation in obligations:
            done = await connection.execute(
                "INSERT INTO oblicore.obligation_evidence_links (obligation_id, evidence_id, company_id, linked_by)"
                " SELECT id, $2, company_id, $3 FROM oblicore.obligations WHERE id = $1",
                obligation,
                evidence,
                user,
            )
            if done.endswith(" 0"):
                raise AccessDenied(f"there is no obligation {obligation}, or you may not see it")
    return evidence


_ADD_DOCUMENT = """
INSERT INTO oblicore.documents (
    id, module_id, company_id, site_id, title, document_type, permit_number, issue_date, expiry_date,
    parent_document_id, page_count, file_size_bytes, file_hash, is_native_pdf, storage_path, uploaded_by
)
SELECT $1, id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15
FROM oblicore.modules WHERE module_code = $16
"""
