"""A verifier written from format.md alone: python verifier.py passport.zip THE_MAKERS_PUBLIC_KEY."""

import base64
import hashlib
import json
import sys
import zipfile

from nacl.signing import VerifyKey

OPENED = {"inputs", "line", "path", "rule", "rules_sha256", "salt", "value_hash"}


def sha(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def encode(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def need(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"does not hold: {what}")


def is_empty(tree: object) -> bool:
    return isinstance(tree, dict) and all(is_empty(part) for part in tree.values())


with zipfile.ZipFile(sys.argv[1]) as archive:
    files = {name: archive.read(name) for name in archive.namelist()}
    need(len(files) == len(archive.namelist()), "each name stands in the zip once")
payload, proof, receipt = [json.loads(files[f"{name}.json"]) for name in ("payload", "proof", "receipt")]
for name, value in (("payload", payload), ("proof", proof), ("receipt", receipt)):
    need(encode(value) == files[f"{name}.json"], f"{name}.json is canonical")
signature = bytes.fromhex(json.loads(files["signature.json"])["signature"])
VerifyKey(bytes.fromhex(sys.argv[2])).verify(sha(files["receipt.json"]), signature)
whole, leaves = json.loads(files["manifest.json"])["scope"] == "holder", proof["leaves"]
members = {"passport_id", "passport_version_id", "payload_version", "submodels"} | (
    {"salt"} if whole else set()
)
need(set(payload) == members and payload["payload_version"] == "BPC-PASSPORT-1", "form of the payload")
members = {"leaves", "proof_version", "root"} | ({"sources"} if whole else set())
need(set(proof) == members and proof["proof_version"] == "BPC-PROOF-1", "form of the proof")
need(all(set(leaf) in (OPENED, {"content_hash", "path"}) for leaf in leaves), "form of the leaves")
need([leaf["path"] for leaf in leaves] == sorted({leaf["path"] for leaf in leaves}), "order of the leaves")
for name in ("passport_id", "passport_version_id"):
    need(payload[name] == receipt[name], f"{name} in payload and receipt")
inner = [sha(encode(leaf)) if "salt" in leaf else bytes.fromhex(leaf["content_hash"]) for leaf in leaves]
level = [sha(b"\0" + sha(leaf["path"].encode()) + one) for leaf, one in zip(leaves, inner, strict=True)]
while len(level) > 1:
    pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
    level = [sha(b"\1" + pair[0] + pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
need((level or [bytes(32)])[0].hex() == proof["root"] == receipt["proof_root_hash"], "root of the proof")
for path, value_hash in [(leaf["path"], leaf["value_hash"]) for leaf in leaves if "salt" in leaf]:
    place, (*parents, name) = payload["submodels"], path.split(".")
    for parent in parents:
        place = place[parent]
    need(sha(encode(place.pop(name))).hex() == value_hash, f"value of {path}")
need(is_empty(payload["submodels"]), "no value without an opened leaf")
if whole:
    need(sha(files["payload.json"]).hex() == receipt["payload_hash"], "hash of the payload")
hashes = [receipt["payload_hash"], receipt["proof_root_hash"], sha(files["receipt.json"]).hex()]
code = [base64.b32encode(bytes.fromhex(one)).decode().rstrip("=") for one in hashes]
text = f"BPC1|pv={receipt['passport_version_id']}|ph={code[0]}|pr={code[1]}|rh={code[2]}"
need(files.get("qr.txt", text.encode()) == text.encode(), "code")
