"""GENERATE_QR: draw the code that proves a signed version."""

from __future__ import annotations

from backstay import Context
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.lifecycle import PassportStatus, require_passport_status
from backstay_passport.domain.qr import QrContent, qr_png
from backstay_passport.services import Services
from backstay_passport.store import passports


def run(ctx: Context, services: Services, passport_version_id: str) -> str:
    """Store text and picture of the code, and the event; the version stays SIGNED."""
    with services.database.read() as connection:
        row = passports.version(connection, ctx.tenant, passport_version_id)
    require_passport_status(passport_version_id, row["status"], PassportStatus.SIGNED)
    text = QrContent(
        passport_version_id,
        bytes(row["payload_hash"]),
        bytes(row["proof_root_hash"]),
        bytes(row["receipt_hash"]),
    ).text()
    picture = qr_png(text, scale=services.settings.qr_scale, border=services.settings.qr_border)
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        row = passports.version(connection, ctx.tenant, passport_version_id)
        require_passport_status(passport_version_id, row["status"], PassportStatus.SIGNED)
        passports.store_code(connection, passport_version_id, text, picture)
        told = NewEvent("PassportVersion", passport_version_id, "QR_GENERATED", {"qr_payload": text})
        services.tell(connection, ctx.tenant, told, in_job=True)
        tx.result(text)
    return text
