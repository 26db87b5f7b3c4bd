"""PARSE_FACTS: read the facts of a document version."""

from __future__ import annotations

from backstay import Context
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.errors import DocumentRejected, NotCanonical
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.facts import DocumentKind, Fact, read_facts
from backstay_passport.domain.lifecycle import DocumentStatus
from backstay_passport.services import Services
from backstay_passport.store import documents


def run(ctx: Context, services: Services, document_version_id: str) -> int:
    """Store the facts and validate the version, or reject it with the place that is wrong."""
    with services.database.read() as connection:
        row = documents.version(connection, ctx.tenant, document_version_id)
    if row["status"] == DocumentStatus.VALIDATED:
        return 0
    try:
        facts = _facts(row["kind"], bytes(row["content"]))
    except DocumentRejected as error:
        if row["status"] == DocumentStatus.REJECTED:
            raise
        _reject(ctx, services, document_version_id, error)
        return 0
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        documents.insert_facts(connection, ctx.tenant, document_version_id, facts)
        documents.set_status(connection, document_version_id, DocumentStatus.VALIDATED)
        told = NewEvent("DocumentVersion", document_version_id, "FACTS_PARSED", {"fact_count": len(facts)})
        services.tell(connection, ctx.tenant, told, in_job=True)
        tx.result(len(facts))
    return len(facts)


def _reject(ctx: Context, services: Services, version_id: str, error: DocumentRejected) -> None:
    """Reject the version and fail the job with its reason, both or neither."""
    details = {"code": error.code, **error.details}
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        documents.set_status(connection, version_id, DocumentStatus.REJECTED, details)
        told = NewEvent("DocumentVersion", version_id, "FACTS_REJECTED", {"pointer": error.pointer})
        services.tell(connection, ctx.tenant, told, in_job=True)
        tx.fail(error)


def _facts(kind: str, content: bytes) -> list[Fact]:
    try:
        value = parse(content)
    except NotCanonical as error:
        raise DocumentRejected(error.pointer, error.problem) from None
    return read_facts(DocumentKind(kind), value)
