"""Writing a version as a file, for jobs, commands and pages alike."""

from __future__ import annotations

from backstay_passport.domain.lifecycle import require_exportable
from backstay_passport.export import ExportFormat, export
from backstay_passport.export.credential import Issuer
from backstay_passport.services import Services
from backstay_passport.store import access, passports


def export_content(
    services: Services, tenant_id: str, version_id: str, chosen: ExportFormat, *, public: bool
) -> bytes:
    """Return a signed version that is not revoked as a file."""
    with services.database.read() as connection:
        row = passports.version(connection, tenant_id, version_id)
        require_exportable(version_id, row["status"])
        given = passports.compiled_from(connection, tenant_id, row)
    issuer = present_issuer(services) if chosen == ExportFormat.VC else None
    return export(row, given, chosen, public=public, public_url=services.settings.public_url, issuer=issuer)


def present_issuer(services: Services) -> Issuer:
    """Return who signs credentials now; a key that was never used before is remembered from this moment."""
    key = services.settings.signing_key()
    with services.database.begin() as connection:
        access.remember_key(connection, key.key_id, key.public)
        return Issuer(key, access.key_since(connection, key.key_id))
