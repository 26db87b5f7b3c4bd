"""BPC-BUNDLE-1: a passport version in one file, to verify it (public) or to recompute it (holder)."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import CompileInput
from backstay_passport.domain.errors import InvalidInput, NotCanonical
from backstay_passport.domain.facts import Fact, make_fact
from backstay_passport.domain.proof import disclosed
from backstay_passport.domain.tiers import Tier, visible
from backstay_passport.domain.verify import Artifacts

BUNDLE_VERSION = "BPC-BUNDLE-1"
HOLDER = "holder"
PUBLIC = "public"
MAX_BUNDLE_BYTES = 64 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
# What a damaged, locked or foreign zip makes of the reader.
_NOT_A_BUNDLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    KeyError,
    TypeError,
    ValueError,
    NotCanonical,
)


@dataclass(frozen=True)
class Bundle:
    """The files of a bundle by name."""

    scope: str
    files: Mapping[str, bytes]

    def json(self, name: str) -> Any:
        """Return a file that holds canonical JSON."""
        if name not in self.files:
            raise InvalidInput(f"the bundle has no {name}")
        return parse(self.files[name])


def disclosed_payload(payload: Mapping[str, Any], tiers: frozenset[Tier]) -> dict[str, Any]:
    """Return a payload for an audience: without the salt, and without the fields of other tiers."""
    shown = {name: value for name, value in payload.items() if name != "salt"}
    return {**shown, "submodels": visible(payload["submodels"], tiers)}


def public_bundle(artifacts: Artifacts, key_id: str, tiers: frozenset[Tier]) -> Bundle:
    """Return the bundle that is enough to verify what an audience may see."""
    payload = disclosed_payload(parse(artifacts.payload), tiers)
    proof = disclosed(parse(artifacts.proof), tiers)
    files = _signed_files(artifacts, key_id, PUBLIC)
    return Bundle(PUBLIC, {**files, "payload.json": encode(payload), "proof.json": encode(proof)})


def holder_bundle(artifacts: Artifacts, key_id: str, given: CompileInput) -> Bundle:
    """Return the bundle that is enough to compile the version again."""
    return Bundle(
        HOLDER,
        {
            **_signed_files(artifacts, key_id, HOLDER),
            "payload.json": artifacts.payload,
            "proof.json": artifacts.proof,
            "product.json": encode(dict(given.product)),
            "unit.json": encode(None if given.unit is None else dict(given.unit)),
            "facts.json": encode([_fact_json(fact) for fact in sorted(given.facts, key=Fact.order)]),
            "secret.json": encode({"snapshot_secret": given.snapshot_secret.hex()}),
            "rules.txt": given.rules_source.encode(),
            "tests.txt": given.tests_source.encode(),
        },
    )


def write_zip(bundle: Bundle) -> bytes:
    """Return the bundle as a zip; the same files give the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(bundle.files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), bundle.files[name])
    return target.getvalue()


def read_zip(content: bytes) -> Bundle:
    """Read a bundle; refuse what is none, or is far too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BUNDLE_BYTES:
                raise InvalidInput("the bundle is too large")
            if len(archive.infolist()) != len(set(archive.namelist())):
                raise InvalidInput("a name stands in the bundle twice")
            files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        manifest = parse(files["manifest.json"])
        scope = str(manifest["scope"])
    except _NOT_A_BUNDLE as error:
        raise InvalidInput(f"not a passport bundle: {error}") from None
    if manifest.get("bundle_version") != BUNDLE_VERSION:
        raise InvalidInput(
            f"a bundle of version {manifest.get('bundle_version')}; this reads {BUNDLE_VERSION}"
        )
    return Bundle(scope, files)


def bundle_artifacts(bundle: Bundle) -> Artifacts:
    """Return what is to be verified in a bundle."""
    signed = bundle.json("signature.json")
    missing = [name for name in ("payload.json", "proof.json", "receipt.json") if name not in bundle.files]
    if missing:
        raise InvalidInput(f"the bundle has no {', '.join(missing)}")
    try:
        signature, public = bytes.fromhex(signed["signature"]), bytes.fromhex(signed["public_key"])
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("signature.json has no signature and public_key in hexadecimal") from None
    return Artifacts(
        payload=bundle.files["payload.json"],
        proof=bundle.files["proof.json"],
        receipt=bundle.files["receipt.json"],
        signature=signature,
        public_key=public,
        qr_text=bundle.files["qr.txt"].decode("utf-8", "replace") if "qr.txt" in bundle.files else None,
        whole_payload=bundle.scope == HOLDER,
    )


def facts_from_json(entries: Sequence[Mapping[str, Any]]) -> list[Fact]:
    """Read the facts of a bundle; their hashes are computed anew."""
    return [
        make_fact(one["type"], one["key"], one["payload"], one.get("document_version_id") or "")
        for one in entries
    ]


def _signed_files(artifacts: Artifacts, key_id: str, scope: str) -> dict[str, bytes]:
    if artifacts.signature is None or artifacts.public_key is None:
        raise InvalidInput("only signed versions are exported")
    signature = {
        "alg": "ED25519",
        "key_id": key_id,
        "public_key": artifacts.public_key.hex(),
        "signature": artifacts.signature.hex(),
    }
    files = {
        "manifest.json": encode({"bundle_version": BUNDLE_VERSION, "scope": scope}),
        "receipt.json": artifacts.receipt,
        "signature.json": encode(signature),
    }
    if artifacts.qr_text is not None:
        files["qr.txt"] = artifacts.qr_text.encode()
    return files


def _fact_json(fact: Fact) -> dict[str, Any]:
    return {
        "type": fact.fact_type,
        "key": fact.fact_key,
        "payload": fact.payload,
        "document_version_id": fact.source or None,
    }
