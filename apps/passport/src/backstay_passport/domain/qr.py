"""BPC-QR-1, the text that proves a passport version, and QR codes as pictures."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

import segno

from backstay_passport.domain.errors import InvalidInput, QrEncodeFailed
from backstay_passport.domain.hashing import base32_no_pad, from_base32

SCALE = 10
BORDER = 4
"""Modules of white around the code; without them a code on a dark ground is not found."""

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TEXT = re.compile(rf"BPC1\|pv=({_UUID})\|ph=([A-Z2-7]{{52}})\|pr=([A-Z2-7]{{52}})\|rh=([A-Z2-7]{{52}})")


@dataclass(frozen=True)
class QrContent:
    """What the proof code says: which version, and its three hashes."""

    passport_version_id: str
    payload_hash: bytes
    proof_root_hash: bytes
    receipt_hash: bytes

    def text(self) -> str:
        """Return the text, always of 212 characters."""
        return (
            f"BPC1|pv={self.passport_version_id}|ph={base32_no_pad(self.payload_hash)}"
            f"|pr={base32_no_pad(self.proof_root_hash)}|rh={base32_no_pad(self.receipt_hash)}"
        )


def read_qr_text(text: str) -> QrContent:
    """Read a scanned text; raise `InvalidInput` if it is not BPC-QR-1."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise InvalidInput("not a BPC-QR-1 text: BPC1|pv=<uuid>|ph=<52>|pr=<52>|rh=<52>")
    version_id, payload, proof, receipt = found.groups()
    return QrContent(version_id, from_base32(payload), from_base32(proof), from_base32(receipt))


def qr_png(text: str, *, scale: int = SCALE, border: int = BORDER) -> bytes:
    """Return a QR code of error level M as PNG; the same text gives the same bytes."""
    try:
        code = segno.make(text, error="m", boost_error=False, micro=False)
    except ValueError as error:
        raise QrEncodeFailed(text, str(error)) from None
    picture = io.BytesIO()
    code.save(picture, kind="png", scale=scale, border=border)
    return picture.getvalue()


def qr_terminal(text: str) -> str:
    """Return a QR code drawn with characters, for a terminal."""
    drawing = io.StringIO()
    segno.make(text, error="m", boost_error=False, micro=False).terminal(drawing, compact=True)
    return drawing.getvalue()
