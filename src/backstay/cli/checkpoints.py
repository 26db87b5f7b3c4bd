"""Checkpoints of the audit trail as files: the heads of its chains, signed with a key that no database has."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backstay.errors import InvalidSettings
from backstay.handlers.audit_links import canonical

if TYPE_CHECKING:
    from backstay.model.audit_chain import ChainHead

MAKE_ONE = "openssl genpkey -algorithm ed25519 -out audit-key.pem"


def checkpoint_of(heads: Iterable[ChainHead], key: Path | None) -> dict[str, Any]:
    """A checkpoint as it is written; with a key it is signed (Ed25519 over canonical JSON)."""
    told: dict[str, Any] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "heads": [{"tenant": head.tenant, "sequence": head.sequence, "hash": head.hash} for head in heads],
    }
    if key is not None:
        told["signature"] = base64.b64encode(_private_key(key).sign(canonical(told))).decode()
    return told


def heads_of(path: Path, public_key: Path | None) -> list[ChainHead]:
    """The heads of a checkpoint; raises InvalidSettings if it is malformed or not signed by the key."""
    from backstay.model.audit_chain import ChainHead

    try:
        told = json.loads(path.read_text("utf-8"))
        heads = [ChainHead(**head) for head in told["heads"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidSettings(f"{path} is no checkpoint of 'backstay audit checkpoint'") from error
    if public_key is not None:
        _check(path, told, public_key)
    return heads


def _check(path: Path, told: dict[str, Any], public_key: Path) -> None:
    from cryptography.exceptions import InvalidSignature

    key = _public_key(public_key)
    signature = str(told.pop("signature", ""))
    try:
        key.verify(base64.b64decode(signature, validate=True), canonical(told))
    except (InvalidSignature, ValueError) as error:
        problem = "was changed, or signed with another key" if signature else "is not signed"
        raise InvalidSettings(f"the checkpoint {path} {problem}") from error


def _private_key(path: Path) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidSettings(f"{path} holds no private key: make one with '{MAKE_ONE}'") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidSettings(f"{path} is no Ed25519 key: make one with '{MAKE_ONE}'")
    return key


def _public_key(path: Path) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidSettings(
            f"{path} holds no public key: 'openssl pkey -in audit-key.pem -pubout' prints it"
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidSettings(f"{path} is no Ed25519 key")
    return key
