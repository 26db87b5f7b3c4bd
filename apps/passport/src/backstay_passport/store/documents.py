"""Documents, their versions, uploaded files, and the facts that were read from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, select

from backstay_passport.domain.canonical import parse
from backstay_passport.domain.facts import Fact
from backstay_passport.domain.facts.current import current_facts
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.lifecycle import DocumentStatus
from backstay_passport.store.database import new_id, now_text
from backstay_passport.store.rows import add, change, find
from backstay_passport.store.tables import document_versions, documents, facts, files


def add_document(connection: Connection, tenant_id: str, name: str, kind: str | None) -> str:
    """Store a document, which gets versions."""
    return add(connection, documents, tenant_id, name=name, kind=kind)


def add_file(connection: Connection, tenant_id: str, content: bytes, mime_type: str) -> str:
    """Store the bytes of an uploaded file."""
    return add(connection, files, tenant_id, content=content, mime_type=mime_type)


def file_content(connection: Connection, tenant_id: str, file_id: str) -> bytes:
    """Return the bytes of an uploaded file."""
    return bytes(find(connection, files, tenant_id, file_id, "file")["content"])


def add_version(
    connection: Connection,
    tenant_id: str,
    *,
    document_id: str,
    kind: str,
    content: bytes,
    mime_type: str,
    format: str = "json",  # noqa: A002 - the column's name
    job_id: str | None = None,
    status: DocumentStatus = DocumentStatus.UPLOADED,
    error: dict[str, Any] | None = None,
) -> str:
    """Store a version of a document."""
    find(connection, documents, tenant_id, document_id, "document")
    return add(
        connection,
        document_versions,
        tenant_id,
        document_id=document_id,
        kind=kind,
        content=content,
        content_hash=sha256(content),
        mime_type=mime_type,
        format=format,
        status=status,
        error=None if error is None else json.dumps(error),
        job_id=job_id,
    )


def version(connection: Connection, tenant_id: str, version_id: str) -> RowMapping:
    """Return a document version."""
    return find(connection, document_versions, tenant_id, version_id, "document version")


def newest_version(connection: Connection, tenant_id: str, document_id: str) -> RowMapping | None:
    """Return the newest version of a document, if it has one yet."""
    query = select(document_versions).where(
        document_versions.c.tenant_id == tenant_id, document_versions.c.document_id == document_id
    )
    return connection.execute(query.order_by(document_versions.c.created_at.desc())).mappings().first()


def note_job(connection: Connection, document_id: str, job_id: str) -> None:
    """Write down which job reads a document."""
    change(connection, documents, document_id, job_id=job_id)


def without_version(connection: Connection, tenant_id: str, limit: int = 200) -> Sequence[RowMapping]:
    """Return the newest documents that are still to be read, or could not be."""
    query = (
        select(documents)
        .outerjoin(document_versions, document_versions.c.document_id == documents.c.id)
        .where(documents.c.tenant_id == tenant_id, document_versions.c.id.is_(None))
        .order_by(documents.c.created_at.desc())
        .limit(limit)
    )
    return connection.execute(query).mappings().all()


def set_status(
    connection: Connection, version_id: str, status: DocumentStatus, error: dict[str, Any] | None = None
) -> None:
    """Move a document version, with the error that was the reason."""
    change(
        connection,
        document_versions,
        version_id,
        status=status,
        error=None if error is None else json.dumps(error),
    )


def inbox(connection: Connection, tenant_id: str, limit: int = 200) -> Sequence[RowMapping]:
    """Return the newest document versions with their documents' names."""
    columns = [
        document_versions.c[name]
        for name in ("id", "document_id", "kind", "format", "status", "error", "created_at", "mime_type")
    ]
    query = (
        select(*columns, documents.c.name)
        .join(documents, documents.c.id == document_versions.c.document_id)
        .where(document_versions.c.tenant_id == tenant_id)
        .order_by(document_versions.c.created_at.desc())
        .limit(limit)
    )
    return connection.execute(query).mappings().all()


def insert_facts(connection: Connection, tenant_id: str, version_id: str, found: Iterable[Fact]) -> None:
    """Store the facts of a document version."""
    rows = [
        {
            "id": new_id(),
            "tenant_id": tenant_id,
            "fact_type": fact.fact_type,
            "fact_key": fact.fact_key,
            "schema_version": fact.schema_version,
            "source_doc_version_id": version_id,
            "payload_canonical": fact.payload_canonical,
            "payload_hash": fact.payload_hash,
            "created_at": now_text(),
        }
        for fact in found
    ]
    if rows:
        connection.execute(insert(facts), rows)


def fact_of(row: RowMapping) -> Fact:
    """Read a fact from its bytes; they are never made anew."""
    canonical = bytes(row["payload_canonical"])
    return Fact(
        row["fact_type"],
        row["fact_key"],
        row["schema_version"],
        parse(canonical),
        canonical,
        bytes(row["payload_hash"]),
        row["source_doc_version_id"],
    )


def facts_of(connection: Connection, tenant_id: str, version_id: str) -> Sequence[RowMapping]:
    """Return the facts of a document version."""
    query = select(facts).where(facts.c.tenant_id == tenant_id, facts.c.source_doc_version_id == version_id)
    return connection.execute(query.order_by(facts.c.fact_type, facts.c.fact_key)).mappings().all()


def newest_facts(connection: Connection, tenant_id: str) -> list[RowMapping]:
    """Return the facts that hold now: of each battery and supplier all that its newest document says."""
    # Facts of one document have their moments one after the other; the id parts those of the same microsecond.
    query = select(facts).where(facts.c.tenant_id == tenant_id).order_by(facts.c.created_at, facts.c.id)
    rows = connection.execute(query).mappings().all()
    held = {(fact.fact_type, fact.fact_key, fact.source) for fact in current_facts([*map(fact_of, rows)])}
    return [row for row in rows if (row["fact_type"], row["fact_key"], row["source_doc_version_id"]) in held]


def names_of_versions(connection: Connection, tenant_id: str) -> dict[str, str]:
    """Return the name of the document of each document version."""
    query = (
        select(document_versions.c.id, documents.c.name)
        .join(documents, documents.c.id == document_versions.c.document_id)
        .where(document_versions.c.tenant_id == tenant_id)
    )
    return {row.id: row.name for row in connection.execute(query)}
