"""BPC-RECEIPT-1: what was made of what, with which rules, when and by whom; its hash is what is signed."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from backstay_passport.domain.canonical import encode

RECEIPT_VERSION = "BPC-RECEIPT-1"
SIGNATURE_ALGORITHM = "ED25519"


@dataclass(frozen=True)
class Receipt:
    """The receipt of one passport version; a signature stands beside it, never in it."""

    issued_at: str
    tenant_id: str
    passport_version_id: str
    passport_id: str
    battery_product_id: str
    battery_unit_id: str | None
    snapshot_id: str
    snapshot_hash: str
    rule_package_version_id: str
    dsl_sha256: str
    tests_sha256: str
    compiler_build_id: str
    payload_hash: str
    proof_root_hash: str
    signing_key_id: str
    receipt_version: str = RECEIPT_VERSION
    signature_alg: str = SIGNATURE_ALGORITHM

    def canonical(self) -> bytes:
        """Return the bytes that are stored, measured and hashed."""
        return encode(asdict(self))
