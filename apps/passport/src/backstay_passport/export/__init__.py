"""Passport versions as files for others; the same version gives the same bytes."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import RowMapping

from backstay_passport.domain.bundle import disclosed_payload, holder_bundle, public_bundle, write_zip
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.compile import CompileInput
from backstay_passport.domain.tiers import audience
from backstay_passport.export.credential import Issuer, credential
from backstay_passport.export.linked_data import linked_data
from backstay_passport.export.page import passport_pdf
from backstay_passport.export.xml import passport_xml
from backstay_passport.store.passports import artifacts


class ExportFormat(StrEnum):
    """The formats of an export."""

    PDF = "PDF"
    JSON_LD = "JSON_LD"
    XML = "XML"
    VC = "VC"
    ZIP = "ZIP"


MEDIA_TYPES = {
    ExportFormat.PDF: "application/pdf",
    ExportFormat.JSON_LD: "application/ld+json",
    ExportFormat.XML: "application/xml",
    ExportFormat.VC: "application/vc",
    ExportFormat.ZIP: "application/zip",
}
ENDINGS = {
    ExportFormat.PDF: "pdf",
    ExportFormat.JSON_LD: "jsonld",
    ExportFormat.XML: "xml",
    ExportFormat.VC: "vc.json",
    ExportFormat.ZIP: "zip",
}


def export(
    row: RowMapping,
    given: CompileInput,
    chosen: ExportFormat,
    *,
    public: bool,
    public_url: str,
    issuer: Issuer | None = None,
) -> bytes:
    """Write a version; with `public` only what everybody may see."""
    tiers = audience("public" if public else "maker")
    held = artifacts(row)
    if chosen == ExportFormat.ZIP:
        key_id = str(row["signing_key_id"])
        return write_zip(public_bundle(held, key_id, tiers) if public else holder_bundle(held, key_id, given))
    payload = disclosed_payload(parse(held.payload), tiers)
    receipt = parse(held.receipt)
    match chosen:
        case ExportFormat.PDF:
            return passport_pdf(payload, receipt, held.qr_text)
        case ExportFormat.JSON_LD:
            return linked_data(payload, receipt)
        case ExportFormat.XML:
            return passport_xml(payload, receipt)
        case ExportFormat.VC:
            assert issuer is not None, "a credential needs a key"
            return credential(payload, receipt, issuer, public_url)
