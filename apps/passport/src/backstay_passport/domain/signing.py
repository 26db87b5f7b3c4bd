"""BPC-SIGN-1: Ed25519 over the 32 bytes of a receipt's hash."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from backstay_passport.domain.errors import InvalidSigningKey, SigningKeyMissing

KEY_VARIABLE = "BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64"
SEED_BYTES = 32
SECRET_BYTES = 64
PUBLIC_BYTES = 32


@dataclass(frozen=True)
class SigningKey:
    """A private key and its public half; the private one is never shown."""

    key_id: str
    public: bytes
    _private: Ed25519PrivateKey = field(repr=False)

    def sign(self, receipt_hash: bytes) -> bytes:
        """Return the 64 bytes of the signature."""
        return self._private.sign(receipt_hash)


def read_key(encoded: str | None, key_id: str) -> SigningKey:
    """Read a key of 32 bytes (seed) or 64 bytes (seed and public key) in base64."""
    if not encoded:
        raise SigningKeyMissing(f"no signing key: set {KEY_VARIABLE}", {"variable": KEY_VARIABLE})
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidSigningKey(f"{KEY_VARIABLE} is not base64") from None
    if len(content) not in (SEED_BYTES, SECRET_BYTES):
        raise InvalidSigningKey(f"{KEY_VARIABLE} has {len(content)} bytes; it must have 32 or 64")
    key = key_from_seed(content[:SEED_BYTES], key_id)
    if len(content) == SECRET_BYTES and content[SEED_BYTES:] != key.public:
        raise InvalidSigningKey(f"the halves of {KEY_VARIABLE} do not belong together")
    return key


def key_from_seed(seed: bytes, key_id: str) -> SigningKey:
    """Return the key that a seed of 32 bytes stands for."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return SigningKey(key_id, private.public_key().public_bytes_raw(), private)


def require_key_id(named: str, actual: str) -> None:
    """Refuse to sign a receipt that names another key."""
    if named != actual:
        raise InvalidSigningKey(
            f"the receipt names the key {named}, the signing key is {actual}; compile again or sign with {named}",
            {"expected": named, "actual": actual},
        )


def is_signed_by(public: bytes, receipt_hash: bytes, signature: bytes) -> bool:
    """True if the signature over the receipt's hash was made with the key."""
    if len(public) != PUBLIC_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, receipt_hash)
    except (InvalidSignature, ValueError):
        return False
    return True
