"""INGEST_DOCUMENT: fetch a file, read it whatever its format, and make a document version of it."""

from __future__ import annotations

from sqlalchemy import Connection

from backstay import Context
from backstay_passport.domain.canonical import encode
from backstay_passport.domain.errors import DocumentRejected, NotCanonical
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.facts import DocumentKind
from backstay_passport.domain.lifecycle import DocumentStatus
from backstay_passport.files import fetch
from backstay_passport.ingest.reading import ReadDocument, read_document
from backstay_passport.services import Services
from backstay_passport.store import documents
from backstay_passport.store.rows import find
from backstay_passport.store.tables import documents as documents_table


def run(ctx: Context, services: Services, document_id: str, file_url: str, mime_type: str) -> str:
    """Store the version and, if its format is known, the job that reads its facts."""
    with services.database.read() as connection:
        wanted = find(connection, documents_table, ctx.tenant, document_id, "document")["kind"]
    try:
        read, canonical = _read(services, ctx.tenant, file_url, mime_type)
    except DocumentRejected as error:
        return _reject(ctx, services, document_id, wanted, mime_type, error)
    # What somebody has called a bill of materials is read as one, and refused where it is none.
    kind = DocumentKind(wanted) if wanted else read.kind
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        version_id = documents.add_version(
            connection,
            ctx.tenant,
            document_id=document_id,
            kind=kind,
            content=canonical,
            mime_type=mime_type,
            format=read.format,
            job_id=str(ctx.job_id),
        )
        _tell(ctx, services, connection, version_id, read)
        if kind != DocumentKind.OTHER:
            services.enqueue(
                "PARSE_FACTS", ctx.tenant, key=f"parse-{version_id}", document_version_id=version_id
            )
        tx.result(version_id)
    return version_id


def _read(services: Services, tenant_id: str, file_url: str, mime_type: str) -> tuple[ReadDocument, bytes]:
    with services.database.read() as connection:
        content = fetch(services, connection, tenant_id, file_url)
    read = read_document(content, mime_type)
    try:
        return read, encode(read.content if read.content is not None else {"text": read.text})
    except NotCanonical as error:
        raise DocumentRejected(error.pointer, error.problem) from None


def _tell(
    ctx: Context, services: Services, connection: Connection, version_id: str, read: ReadDocument
) -> None:
    told = NewEvent(
        "DocumentVersion", version_id, "DOCUMENT_INGESTED", {"format": read.format, "kind": read.kind}
    )
    services.tell(connection, ctx.tenant, told, in_job=True)


def _reject(
    ctx: Context,
    services: Services,
    document_id: str,
    kind: str | None,
    mime_type: str,
    error: DocumentRejected,
) -> str:
    """Keep a rejected version without content, so that the inbox can say why, and fail the job, both or neither."""
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        version_id = documents.add_version(
            connection,
            ctx.tenant,
            document_id=document_id,
            kind=kind or DocumentKind.OTHER,
            content=b"",
            mime_type=mime_type,
            format="unreadable",
            job_id=str(ctx.job_id),
            status=DocumentStatus.REJECTED,
            error={"code": error.code, **error.details},
        )
        told = NewEvent("DocumentVersion", version_id, "DOCUMENT_REJECTED", {"pointer": error.pointer})
        services.tell(connection, ctx.tenant, told, in_job=True)
        tx.fail(error)
    return version_id
