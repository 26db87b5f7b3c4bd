"""SIGN_PASSPORT: sign the receipt of a compiled version."""

from __future__ import annotations

from backstay import Context
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.lifecycle import PassportStatus, require_passport_status
from backstay_passport.domain.signing import require_key_id
from backstay_passport.services import Services
from backstay_passport.store import access, passports


def run(ctx: Context, services: Services, passport_version_id: str) -> None:
    """Store the signature, the event and the job that draws the code."""
    with services.database.connect() as connection, ctx.transaction(connection):
        row = passports.version(connection, ctx.tenant, passport_version_id)
        require_passport_status(passport_version_id, row["status"], PassportStatus.COMPILING)
        key = services.settings.signing_key()
        require_key_id(parse(bytes(row["receipt_canonical"]))["signing_key_id"], key.key_id)
        access.remember_key(connection, key.key_id, key.public)
        passports.sign(connection, passport_version_id, key, key.sign(bytes(row["receipt_hash"])))
        told = NewEvent("PassportVersion", passport_version_id, "PASSPORT_SIGNED", {"key_id": key.key_id})
        services.tell(connection, ctx.tenant, told, in_job=True)
        services.enqueue(
            "GENERATE_QR",
            ctx.tenant,
            key=f"qr-{passport_version_id}",
            passport_version_id=passport_version_id,
        )
