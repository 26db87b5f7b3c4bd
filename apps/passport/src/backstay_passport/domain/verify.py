"""Verification: every check that a passport version must pass, and the exact place where it breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import PAYLOAD_VERSION
from backstay_passport.domain.errors import PassportError
from backstay_passport.domain.hashing import hash_of, sha256
from backstay_passport.domain.merkle import root_of
from backstay_passport.domain.proof import PROOF_VERSION, hash_of_entry
from backstay_passport.domain.qr import read_qr_text
from backstay_passport.domain.signing import is_signed_by


@dataclass(frozen=True)
class Artifacts:
    """What a verifier holds of a passport version; the payload may be whole or for an audience."""

    payload: bytes
    proof: bytes
    receipt: bytes
    signature: bytes | None
    public_key: bytes | None
    qr_text: str | None = None
    whole_payload: bool = True


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it held, and what was found."""

    name: str
    ok: bool
    detail: str


def verify(given: Artifacts) -> list[Check]:
    """Run every check that the artifacts allow."""
    checks: list[Check] = []
    receipt = _read("receipt", given.receipt, checks)
    proof = _read("proof", given.proof, checks)
    payload = _read("payload", given.payload, checks)
    if receipt is None or proof is None or payload is None:
        return checks
    try:
        checks.extend(_signature(given))
        if given.whole_payload:
            checks.append(_equal("payload hash", sha256(given.payload), receipt.get("payload_hash")))
        checks.append(_form(payload, proof, whole=given.whole_payload))
        checks.append(_identity(payload, receipt))
        checks.append(_root(proof, receipt))
        checks.append(_fields(payload, proof))
        if given.qr_text is not None:
            checks.append(_qr(given.qr_text, given.receipt, receipt))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        checks.append(Check("form", False, f"a part of the proof is not as it should be: {error!r}"))
    return checks


def holds(checks: list[Check]) -> bool:
    """True if every check held."""
    return all(check.ok for check in checks)


def _read(name: str, content: bytes, checks: list[Check]) -> dict[str, Any] | None:
    try:
        value = parse(content)
    except PassportError as error:
        checks.append(Check(f"{name} form", False, f"the {name} cannot be read: {error.message}"))
        return None
    if not isinstance(value, dict) or encode(value) != content:
        checks.append(Check(f"{name} form", False, f"the {name} is not in canonical form"))
        return None
    return value


def _signature(given: Artifacts) -> Iterator[Check]:
    if given.signature is None or given.public_key is None:
        yield Check("signature", False, "the version is not signed")
        return
    ok = is_signed_by(given.public_key, sha256(given.receipt), given.signature)
    detail = (
        "the receipt was signed with this key"
        if ok
        else "the signature does not fit the receipt and this key"
    )
    yield Check("signature", ok, detail)


def _equal(name: str, found: bytes, expected: Any) -> Check:
    ok = found.hex() == expected
    detail = f"{found.hex()} as the receipt says" if ok else f"is {found.hex()}, the receipt says {expected}"
    return Check(name, ok, detail)


def _form(payload: Mapping[str, Any], proof: Mapping[str, Any], *, whole: bool) -> Check:
    """Nothing may stand in payload or proof that no hash covers."""
    known = {"payload_version", "passport_id", "passport_version_id", "submodels"} | (
        {"salt"} if whole else set()
    )
    if set(payload) != known or payload["payload_version"] != PAYLOAD_VERSION:
        return Check("form", False, f"the payload is not of the form {PAYLOAD_VERSION}")
    known = {"proof_version", "root", "leaves"} | ({"sources"} if whole else set())
    if set(proof) != known or proof["proof_version"] != PROOF_VERSION:
        return Check("form", False, f"the proof is not of the form {PROOF_VERSION}")
    return Check("form", True, f"{PAYLOAD_VERSION} and {PROOF_VERSION}")


def _identity(payload: Mapping[str, Any], receipt: Mapping[str, Any]) -> Check:
    for name in ("passport_id", "passport_version_id"):
        if payload.get(name) != receipt.get(name):
            detail = f"{name}: the payload says {payload.get(name)}, the receipt {receipt.get(name)}"
            return Check("identity", False, detail)
    return Check("identity", True, "payload and receipt speak of the same passport version")


def _root(proof: Mapping[str, Any], receipt: Mapping[str, Any]) -> Check:
    entries = proof["leaves"]
    paths = [entry["path"] for entry in entries]
    if paths != sorted(set(paths)):
        return Check("proof root", False, "the leaves are not sorted by path, or one stands there twice")
    root = root_of([hash_of_entry(entry) for entry in entries])
    if proof["root"] != root.hex():
        return Check("proof root", False, f"the proof says {proof['root']}, its leaves give {root.hex()}")
    return _equal("proof root", root, receipt["proof_root_hash"])


def _fields(payload: Mapping[str, Any], proof: Mapping[str, Any]) -> Check:
    opened = {entry["path"]: entry for entry in proof["leaves"] if "salt" in entry}
    rest = _copy(payload["submodels"])
    for path, entry in opened.items():
        value = _take(rest, path.split("."))
        if value is None:
            return Check("fields", False, f"{path}: has a leaf, but is not in the payload")
        if hash_of(value).hex() != entry["value_hash"]:
            return Check("fields", False, f"{path}: the value is not the one that was proved")
    extra = next(_paths(rest, ""), None)
    if extra is not None:
        return Check("fields", False, f"{extra}: is in the payload, but has no leaf")
    hidden = len(proof["leaves"]) - len(opened)
    return Check("fields", True, f"{len(opened)} fields are as they were proved, {hidden} are not shown")


def _copy(value: Any) -> Any:
    return {name: _copy(part) for name, part in value.items()} if isinstance(value, dict) else value


def _take(tree: dict[str, Any], parts: list[str]) -> Any:
    place: Any = tree
    for part in parts[:-1]:
        place = place.get(part) if isinstance(place, dict) else None
    return place.pop(parts[-1], None) if isinstance(place, dict) else None


def _paths(tree: dict[str, Any], prefix: str) -> Iterator[str]:
    for name, value in tree.items():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict):
            yield from _paths(value, path)
        else:
            yield path


def _qr(text: str, receipt_bytes: bytes, receipt: Mapping[str, Any]) -> Check:
    try:
        scanned = read_qr_text(text)
    except PassportError as error:
        return Check("code", False, error.message)
    pairs = {
        "pv (version)": (scanned.passport_version_id, receipt["passport_version_id"]),
        "ph (payload hash)": (scanned.payload_hash.hex(), receipt["payload_hash"]),
        "pr (proof root)": (scanned.proof_root_hash.hex(), receipt["proof_root_hash"]),
        "rh (receipt hash)": (scanned.receipt_hash.hex(), sha256(receipt_bytes).hex()),
    }
    for name, (found, expected) in pairs.items():
        if found != expected:
            return Check("code", False, f"{name}: the code says {found}, the version {expected}")
    return Check("code", True, "the scanned code belongs to this version")
