"""EXPORT_PASSPORT: write a signed version as PDF, JSON-LD, XML, verifiable credential or bundle."""

from __future__ import annotations

from backstay import Context
from backstay_passport.actions.exports import export_content
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.hashing import sha256
from backstay_passport.export import ExportFormat
from backstay_passport.files import put
from backstay_passport.services import Services
from backstay_passport.store.rows import add
from backstay_passport.store.tables import passport_exports


def run(
    ctx: Context,
    services: Services,
    version_id: str,
    format_name: str,
    destination: str | None,
    *,
    public: bool,
) -> str:
    """Store the file, at its destination too if there is one, and the event."""
    chosen = ExportFormat(format_name)
    content = export_content(services, ctx.tenant, version_id, chosen, public=public)
    if destination is not None:
        put(services, destination, content)
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        export_id = add(
            connection,
            passport_exports,
            ctx.tenant,
            passport_version_id=version_id,
            format=chosen,
            is_public=public,
            content=content,
            content_hash=sha256(content),
            destination=destination,
            job_id=str(ctx.job_id),
        )
        told = {"export_id": export_id, "format": chosen, "sha256": sha256(content).hex()}
        services.tell(
            connection,
            ctx.tenant,
            NewEvent("PassportVersion", version_id, "PASSPORT_EXPORTED", told),
            in_job=True,
        )
        tx.result(export_id)
    return export_id
