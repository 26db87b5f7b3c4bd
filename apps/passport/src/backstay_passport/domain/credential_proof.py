"""Checking a W3C credential's Data Integrity proof of the suite eddsa-jcs-2022."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import base58

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.errors import PassportError
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.signing import is_signed_by
from backstay_passport.domain.verify import Check

MULTICODEC_ED25519 = b"\xed\x01"
DID_KEY = "did:key:"


def credential_checks(document: Mapping[str, Any], known_keys: Mapping[bytes, str]) -> list[Check]:
    """Check who has signed a credential, and that nothing in it was changed."""
    issuer = str(document.get("issuer", ""))
    public = key_of_did(issuer)
    if public is None:
        return [Check("issuer", False, f"{issuer[:100]!r} is not a did:key of Ed25519")]
    ok = _is_signed(document, public)
    detail = "the issuer has signed exactly this" if ok else "the proof does not fit what the credential says"
    name = known_keys.get(public)
    trust = f"the issuer is {name}, a key of the maker" if name else f"{issuer} is not a key known here"
    return [Check("signature", ok, detail), Check("key", name is not None, trust)]


def key_of_did(did: str) -> bytes | None:
    """Return the Ed25519 key that a did:key is made of; None if it is none."""
    if not did.startswith(f"{DID_KEY}z"):
        return None
    try:
        content = base58.b58decode(did.removeprefix(f"{DID_KEY}z"))
    except ValueError:
        return None
    return content.removeprefix(MULTICODEC_ED25519) if content.startswith(MULTICODEC_ED25519) else None


def _is_signed(document: Mapping[str, Any], public: bytes) -> bool:
    proof = document.get("proof")
    if not isinstance(proof, Mapping) or proof.get("cryptosuite") != "eddsa-jcs-2022":
        return False
    value = str(proof.get("proofValue", ""))
    options = {name: part for name, part in proof.items() if name != "proofValue"}
    claims = {name: part for name, part in document.items() if name != "proof"}
    try:
        signature = base58.b58decode(value.removeprefix("z"))
        signed = sha256(encode(options)) + sha256(encode(claims))
    except (ValueError, PassportError):
        return False
    return is_signed_by(public, signed, signature)
