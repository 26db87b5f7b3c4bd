"""Uploading documents."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.facts import DocumentKind
from backstay_passport.files import IN_DATABASE
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.services import Services
from backstay_passport.store import documents

JSON_TYPES = ("application/json", "text/json")


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
    job = services.enqueue(
        "INGEST_DOCUMENT",
        tenant_id,
        tx=connection,
        document_id=document_id,
        file_url=f"{IN_DATABASE}{file_id}",
        mime_type=mime_type,
    )
    return str(job.id)
