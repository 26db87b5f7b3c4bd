"""Verifying whatever somebody holds: a scanned text, a picture of a code, or an export of any format."""

from __future__ import annotations

import zxingcpp

from backstay_passport.actions.export_verification import READERS, key_check
from backstay_passport.actions.passports import status_check, verify_text
from backstay_passport.domain.bundle import bundle_artifacts, read_zip
from backstay_passport.domain.canonical import parse
from backstay_passport.domain.errors import InvalidInput, PassportError
from backstay_passport.domain.verify import Check, holds, verify
from backstay_passport.ingest.pictures import BadPicture, open_picture
from backstay_passport.services import Services
from backstay_passport.store import access, passports

MAX_UPLOAD = 20 * 1024 * 1024
BLANK = b"\xef\xbb\xbf \t\r\n"


def verify_content(services: Services, text: str, content: bytes) -> tuple[str | None, list[Check]]:
    """Check a text, a picture or an export of any format; there is always an answer."""
    try:
        if len(content) > MAX_UPLOAD:
            raise InvalidInput("the file is too large")
        if content.startswith(b"PK"):
            return None, _verify_bundle(services, content)
        start = content.lstrip(BLANK)
        for beginning, read in READERS:
            if start.startswith(beginning):
                return read(services, content)
        if content:
            text = read_picture(content)
        if not text.strip():
            raise InvalidInput("give the scanned text, a picture of the code, or an exported file")
        return verify_text(services, text)
    except PassportError as error:
        return None, [Check("form", False, error.message)]


def verify_with_key(content: bytes, public_key: str) -> list[Check]:
    """Check a bundle against the public key of a maker that the caller trusts; no database is needed."""
    try:
        given = bundle_artifacts(read_zip(content))
    except PassportError as error:
        return [Check("form", False, error.message)]
    ok = given.public_key is not None and given.public_key.hex() == public_key.strip().lower()
    detail = "the key is the one that you trust" if ok else "the key is not the one that you trust"
    return [*verify(given), Check("key", ok, detail)]


def _verify_bundle(services: Services, content: bytes) -> list[Check]:
    given = bundle_artifacts(read_zip(content))
    checks = verify(given)
    if not holds(checks):
        return checks
    receipt = parse(given.receipt)
    with services.database.read() as connection:
        known = {row["key_id"]: bytes(row["public_key"]) for row in access.public_keys(connection)}
        row = passports.any_version(connection, str(receipt["passport_version_id"]))
    checks.append(key_check(str(receipt["signing_key_id"]), given.public_key, known))
    if row is not None:
        checks.append(status_check(row["status"]))
    return checks


def read_picture(content: bytes) -> str:
    """Return the text of the code in a picture."""
    try:
        found = zxingcpp.read_barcodes(open_picture(content))
    except BadPicture as error:
        raise InvalidInput(f"this file is neither an export of ours nor a picture: {error}") from None
    if not found:
        raise InvalidInput("there is no code in this picture")
    return str(found[0].text)
