"""Uploading documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from sqlalchemy import Connection

from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.facts import DocumentKind
from backstay_passport.files import IN_DATABASE
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.job_views import job_of
from backstay_passport.services import Services
from backstay_passport.store import documents

JSON_TYPES = ("application/json", "text/json")
ADDRESSES = ("file", "s3")
# What the status of the job that reads a document says of the document.
READING = {"QUEUED": "WAITING", "RUNNING": "READING", "SUCCEEDED": "UPLOADED", "DEAD_LETTER": "FAILED"}


@dataclass(frozen=True)
class Uploaded:
    """What an upload made: a document, a version if it is known already, and the job that goes on with it."""

    document_id: str
    version_id: str | None
    job_id: str


def read_kind(text: str | None) -> DocumentKind | None:
    """Read a kind; none means that it is found out."""
    if not text:
        return None
    name = text.strip().upper().replace("-", "_")
    if name not in DocumentKind.__members__:
        raise InvalidInput(f"no kind {text!r}; there are {', '.join(DocumentKind)}")
    return DocumentKind(name)


def upload(
    services: Services,
    tenant_id: str,
    *,
    name: str,
    content: bytes,
    mime_type: str,
    kind: DocumentKind | None,
    actor: str | None = None,
) -> Uploaded:
    """Store an upload: JSON of a known kind becomes a version at once, everything else is ingested first."""
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"{len(content)} bytes; a document may have {MAX_BYTES}")
    with services.database.begin() as connection:
        document_id = documents.add_document(connection, tenant_id, name, kind)
        version_id = None
        if kind is not None and mime_type.split(";")[0].strip() in JSON_TYPES:
            version_id, job_id = _add_version(
                services, connection, tenant_id, (document_id, kind), content, mime_type
            )
        else:
            job_id = _add_file(services, connection, tenant_id, document_id, content, mime_type)
        told = NewEvent("Document", document_id, "DOCUMENT_UPLOADED", {"name": name}, actor)
        services.tell(connection, tenant_id, told)
    return Uploaded(document_id, version_id, job_id)


def ingest_address(
    services: Services,
    tenant_id: str,
    *,
    file_url: str,
    name: str,
    mime_type: str,
    kind: DocumentKind | None,
    actor: str | None = None,
) -> Uploaded:
    """Ask for a document to be read that lies in the files' folder or in a bucket."""
    parts = urlsplit(file_url)
    if parts.scheme not in ADDRESSES or not parts.path.strip("/"):
        raise InvalidInput(f"{file_url!r} is not an address of a file: file:///path or s3://bucket/key")
    given = name or unquote(parts.path.rsplit("/", 1)[-1])
    with services.database.begin() as connection:
        document_id = documents.add_document(connection, tenant_id, given, kind)
        job_id = _ingest(services, connection, tenant_id, document_id, file_url, mime_type)
        told = NewEvent("Document", document_id, "DOCUMENT_UPLOADED", {"name": given}, actor)
        services.tell(connection, tenant_id, told)
    return Uploaded(document_id, None, job_id)


def inbox(services: Services, tenant_id: str) -> list[dict[str, Any]]:
    """Return the newest documents: each version with its status, and those of which there is no version yet."""
    with services.database.read() as connection:
        versions = [dict(row) for row in documents.inbox(connection, tenant_id)]
        unread = [dict(row) for row in documents.without_version(connection, tenant_id)]
    for row in versions:
        row["error"] = None if row["error"] is None else json.loads(row["error"])
    return [_unread(services, tenant_id, row) for row in unread] + versions


def _unread(services: Services, tenant_id: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a document without a version as the inbox shows it: its job says how it stands."""
    job = None if row["job_id"] is None else job_of(services, tenant_id, UUID(row["job_id"]))
    status = "UPLOADED" if job is None else READING.get(job["status"], job["status"])
    error = None if job is None else job["last_error"]
    problem = None if error is None else {"code": error.get("code"), "problem": error.get("message")}
    return {
        "id": None,
        "document_id": row["id"],
        "kind": row["kind"],
        "format": None,
        "status": status,
        "error": problem,
        "created_at": row["created_at"],
        "mime_type": None,
        "name": row["name"],
    }


def _add_version(
    services: Services,
    connection: Connection,
    tenant_id: str,
    document: tuple[str, DocumentKind],
    content: bytes,
    mime_type: str,
) -> tuple[str, str]:
    version_id = documents.add_version(
        connection, tenant_id, document_id=document[0], kind=document[1], content=content, mime_type=mime_type
    )
    job = services.enqueue(
        "PARSE_FACTS", tenant_id, tx=connection, key=f"parse-{version_id}", document_version_id=version_id
    )
    return version_id, str(job.id)


def _add_file(
    services: Services,
    connection: Connection,
    tenant_id: str,
    document_id: str,
    content: bytes,
    mime_type: str,
) -> str:
    file_id = documents.add_file(connection, tenant_id, content, mime_type)
    return _ingest(services, connection, tenant_id, document_id, f"{IN_DATABASE}{file_id}", mime_type)


def _ingest(
    services: Services,
    connection: Connection,
    tenant_id: str,
    document_id: str,
    file_url: str,
    mime_type: str,
) -> str:
    job = services.enqueue(
        "INGEST_DOCUMENT",
        tenant_id,
        tx=connection,
        document_id=document_id,
        file_url=file_url,
        mime_type=mime_type,
    )
    documents.note_job(connection, document_id, str(job.id))
    return str(job.id)
