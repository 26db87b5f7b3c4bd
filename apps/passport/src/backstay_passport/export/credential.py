"""A W3C verifiable credential with a Data Integrity proof of the suite eddsa-jcs-2022."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import base58

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.credential_proof import MULTICODEC_ED25519
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.signing import SigningKey

CONTEXT = "https://www.w3.org/ns/credentials/v2"


@dataclass(frozen=True)
class Issuer:
    """Who signs credentials now: the key, and since when it is known here."""

    key: SigningKey
    since: str


def credential(payload: dict[str, Any], receipt: dict[str, Any], issuer: Issuer, public_url: str) -> bytes:
    """Return the credential; decimals stay text, so that JCS has nothing to round."""
    key = issuer.key
    method = f"did:key:{multibase_key(key.public)}"
    document: dict[str, Any] = {
        "@context": [CONTEXT, {"@vocab": "https://w3id.org/backstay/battery-passport#"}],
        "type": ["VerifiableCredential", "BatteryPassportCredential"],
        "id": f"urn:uuid:{payload['passport_version_id']}",
        "issuer": method,
        "validFrom": _seconds(receipt["issued_at"]),
        "credentialSubject": {
            "id": f"urn:uuid:{payload['passport_id']}",
            "batteryPassport": payload["submodels"],
            "proofRootHash": receipt["proof_root_hash"],
            "verifyAt": f"{public_url.rstrip('/')}/verify",
        },
    }
    proof: dict[str, Any] = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        # Never before the key was there: after a rotation an old version is signed by the new one. Not the present
        # moment either, so that the same version gives the same bytes.
        "created": _seconds(max(receipt["issued_at"], issuer.since)),
        "verificationMethod": f"{method}#{multibase_key(key.public)}",
        "proofPurpose": "assertionMethod",
        "@context": document["@context"],
    }
    signature = key.sign(sha256(encode(proof)) + sha256(encode(document)))
    return encode({**document, "proof": {**proof, "proofValue": f"z{base58.b58encode(signature).decode()}"}})


def multibase_key(public: bytes) -> str:
    """Return a public key as did:key writes it."""
    return f"z{base58.b58encode(MULTICODEC_ED25519 + public).decode()}"


def _seconds(moment: str) -> str:
    return moment.split(".")[0].rstrip("Z") + "Z"
