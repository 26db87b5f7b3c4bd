"""Verifying exports that carry no proof of their own: they are compared with the version that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pypdfium2 import PdfiumError  # type: ignore[import-untyped]  # it has no types
from sqlalchemy import RowMapping

from backstay_parts.pdf import BadPdf, open_pdf
from backstay_passport.actions.passports import status_check
from backstay_passport.domain.bundle import disclosed_payload
from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.credential_proof import credential_checks
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.tiers import AUDIENCES, audience
from backstay_passport.domain.verify import Artifacts, Check, holds, verify
from backstay_passport.export.comparison import first_difference, flat_json, flat_xml
from backstay_passport.export.linked_data import linked_data
from backstay_passport.export.page import passport_pdf
from backstay_passport.export.xml import passport_xml
from backstay_passport.services import Services
from backstay_passport.store import access, passports

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class _Held:
    """A stored version, and what it says."""

    row: RowMapping
    artifacts: Artifacts

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = parse(self.artifacts.payload)
        return payload

    @property
    def receipt(self) -> dict[str, Any]:
        receipt: dict[str, Any] = parse(self.artifacts.receipt)
        return receipt

    def checks(self, first: Check) -> tuple[str, list[Check]]:
        return self.row["id"], [first, *verify(self.artifacts), status_check(self.row["status"])]


def verify_json(services: Services, content: bytes) -> tuple[str | None, list[Check]]:
    """Check JSON of ours: the public page's, a credential, or JSON-LD."""
    values = flat_json(content)
    if "payload.passport_version_id" in values:
        return _verify_public(services, parse(content))
    if any(name.startswith("proof.") for name in values):
        return _verify_credential(services, parse(content))
    held = _held(services, values.get("passportVersion", "").removeprefix("urn:uuid:"))
    whole = flat_json(linked_data(disclosed_payload(held.payload, audience("maker")), held.receipt))
    return held.checks(_values_check(values, whole))


def verify_xml(services: Services, content: bytes) -> tuple[str | None, list[Check]]:
    """Check an XML export."""
    values = flat_xml(content)
    held = _held(services, values.get("BatteryPassport@version", ""))
    whole = flat_xml(passport_xml(disclosed_payload(held.payload, audience("maker")), held.receipt))
    return held.checks(_values_check(values, whole))


def verify_pdf(services: Services, content: bytes) -> tuple[str | None, list[Check]]:
    """Check a PDF export: it must be byte for byte what some audience gets of the version that it names."""
    try:
        with open_pdf(content) as pdf:
            text = "\n".join(pdf.page(number).text for number in range(1, min(pdf.page_count, 60) + 1))
    except (BadPdf, PdfiumError) as error:
        raise InvalidInput(f"this PDF cannot be read: {error}") from None
    named = re.search(rf"Version\s+({_UUID.pattern})", text)
    held = _held(services, named[1] if named else "")
    return held.checks(_pdf_check(held, content))


def _pdf_check(held: _Held, content: bytes) -> Check:
    for tiers in set(AUDIENCES.values()):
        payload = disclosed_payload(held.payload, tiers)
        if passport_pdf(payload, held.receipt, held.artifacts.qr_text) == content:
            return Check("file", True, "the file is what this version is exported as, byte for byte")
    return Check(
        "file", False, "the file is not what this version is exported as; something in it was changed"
    )


def _values_check(given: Mapping[str, str], whole: Mapping[str, str]) -> Check:
    difference = first_difference(given, whole)
    detail = f"{len(given)} values are those of this version" if difference is None else difference
    return Check("fields", difference is None, detail)


def _held(services: Services, version_id: str) -> _Held:
    if not _UUID.fullmatch(version_id):
        raise InvalidInput("this file names no passport version; it is not an export of ours")
    with services.database.read() as connection:
        row = passports.any_version(connection, version_id)
    if row is None:
        raise InvalidInput(f"there is no passport version {version_id} here")
    return _Held(row, passports.artifacts(row))


def _verify_public(services: Services, found: Any) -> tuple[str | None, list[Check]]:
    try:
        given = Artifacts(
            payload=encode(found["payload"]),
            proof=encode(found["proof"]),
            receipt=encode(found["receipt"]),
            signature=bytes.fromhex(found["signature"]["signature"]),
            public_key=bytes.fromhex(found["signature"]["public_key"]),
            qr_text=found.get("qr"),
            whole_payload="salt" in found["payload"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"this JSON lacks a part of a passport: {error!r}") from None
    checks = verify(given)
    if not holds(checks):
        return None, checks
    return _signed_here(services, found["receipt"], given.public_key, checks)


def _signed_here(
    services: Services, receipt: Mapping[str, Any], public: bytes | None, checks: list[Check]
) -> tuple[str | None, list[Check]]:
    """Add whether the key is the maker's, and whether the version still counts."""
    version_id = str(receipt.get("passport_version_id"))
    with services.database.read() as connection:
        known = {row["key_id"]: bytes(row["public_key"]) for row in access.public_keys(connection)}
        row = passports.any_version(connection, version_id)
    checks = [*checks, key_check(str(receipt.get("signing_key_id")), public, known)]
    if row is not None:
        checks.append(status_check(row["status"]))
    return version_id, checks


def key_check(key_id: str, public: bytes | None, known: Mapping[str, bytes]) -> Check:
    """Anybody can sign with a key of their own; a passport is true only if the key is the maker's."""
    ok = public is not None and known.get(key_id) == public
    return Check("key", ok, f"{key_id} is a key of the maker" if ok else f"{key_id} is not a key known here")


def _verify_credential(services: Services, document: Any) -> tuple[str | None, list[Check]]:
    with services.database.read() as connection:
        known = {bytes(row["public_key"]): str(row["key_id"]) for row in access.public_keys(connection)}
    checks = credential_checks(document, known)
    held = _held(services, str(document.get("id", "")).removeprefix("urn:uuid:"))
    subject = document.get("credentialSubject")
    root = subject.get("proofRootHash") if isinstance(subject, Mapping) else None
    ok = root == held.receipt["proof_root_hash"]
    detail = (
        "the credential is of this version" if ok else "the proof root is another one than this version's"
    )
    return held.row["id"], [*checks, Check("version", ok, detail), status_check(held.row["status"])]


READERS: tuple[tuple[bytes, Callable[[Services, bytes], tuple[str | None, list[Check]]]], ...] = (
    (b"%PDF-", verify_pdf),
    (b"<", verify_xml),
    (b"{", verify_json),
)
