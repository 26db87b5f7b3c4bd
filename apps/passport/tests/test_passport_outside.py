"""What others can do without our code: verify an export with PyNaCl and openssl, recompute it anywhere."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import nacl.exceptions
import nacl.signing
import pytest
from passport_examples import example_input

from backstay_passport.domain.bundle import holder_bundle, public_bundle, read_zip, write_zip
from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import compile_passport
from backstay_passport.domain.qr import QrContent
from backstay_passport.domain.signing import SigningKey, key_from_seed
from backstay_passport.domain.tiers import audience
from backstay_passport.domain.verify import Artifacts

DER_ED25519 = bytes.fromhex("302a300506032b6570032100")
ZONES = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham", "Europe/Berlin", "Pacific/Apia"]
LOCALES = ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "POSIX"]


def bundles(key: SigningKey) -> dict[str, bytes]:
    """The public and the holder's bundle of a version that this key has signed."""
    given = example_input(signing_key_id=key.key_id)
    output = compile_passport(given)
    hashes = (output.payload_hash, output.proof_root_hash, output.receipt_hash)
    artifacts = Artifacts(
        payload=output.payload_canonical,
        proof=output.proof_canonical,
        receipt=output.receipt_canonical,
        signature=key.sign(output.receipt_hash),
        public_key=key.public,
        qr_text=QrContent(given.passport_version_id, *hashes).text(),
    )
    return {
        "public": write_zip(public_bundle(artifacts, key.key_id, audience("public"))),
        "holder": write_zip(holder_bundle(artifacts, key.key_id, given)),
    }


def openssl_agrees(folder: Path, public: bytes, message: bytes, signature: bytes) -> bool:
    """Ask openssl, with a key written as DER by hand."""
    (folder / "key.der").write_bytes(DER_ED25519 + public)
    (folder / "message").write_bytes(message)
    (folder / "signature").write_bytes(signature)
    command = (
        "openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in message -sigfile signature"
    )
    done = subprocess.run(command.split(), cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("scope", ["public", "holder"])
def test_an_export_is_verified_by_pynacl_and_openssl(scope: str, tmp_path: Path) -> None:
    """BPC-027, BPC-029, TC-P5-02: zip, SHA-256 and Ed25519 of other people; two keys, each for its own receipt."""
    made = {name: bundles(key_from_seed(name.encode() * 16, name))[scope] for name in ("k1", "k2")}
    receipts, signatures, keys = {}, {}, {}
    for name, content in made.items():
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            receipts[name] = hashlib.sha256(archive.read("receipt.json")).digest()
            signed = json.loads(archive.read("signature.json"))
            assert json.loads(archive.read("receipt.json"))["signing_key_id"] == signed["key_id"] == name
        signatures[name], keys[name] = bytes.fromhex(signed["signature"]), bytes.fromhex(signed["public_key"])
    for name in made:
        nacl.signing.VerifyKey(keys[name]).verify(receipts[name], signatures[name])
        assert openssl_agrees(tmp_path, keys[name], receipts[name], signatures[name])
    with pytest.raises(nacl.exceptions.BadSignatureError):
        nacl.signing.VerifyKey(keys["k1"]).verify(receipts["k2"], signatures["k2"])
    assert not openssl_agrees(tmp_path, keys["k1"], receipts["k2"], signatures["k2"])
    assert not openssl_agrees(tmp_path, keys["k1"], receipts["k1"][:-1] + b"x", signatures["k1"])


def shuffled(content: bytes, seed: int) -> bytes:
    """The holder's bundle with its facts in another order."""
    bundle = read_zip(content)
    facts = parse(bundle.files["facts.json"])
    random.Random(seed).shuffle(facts)
    return write_zip(replace(bundle, files={**bundle.files, "facts.json": encode(facts)}))


def start_replay(folder: Path, content: bytes, number: int) -> subprocess.Popen[str]:
    """Recompute a bundle by the command, in a fresh process like no other."""
    path = folder / f"{number}.zip"
    path.write_bytes(shuffled(content, number))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BPC_")},
        "PYTHONHASHSEED": str(number * 991 % 4_294_967_295),
        "TZ": ZONES[number % len(ZONES)],
        "LC_ALL": LOCALES[number % len(LOCALES)],
    }
    command = [sys.executable, "-m", "backstay_passport", "replay", str(path), "--json"]
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)


def replayed_in(folder: Path, processes: int) -> set[str]:
    """Recompute one bundle in so many processes, two at a time; return the different results."""
    content = bundles(key_from_seed(bytes(32), "k"))["holder"]
    found = set()
    for first in range(0, processes, 2):
        running = [
            start_replay(folder, content, number) for number in range(first, min(first + 2, processes))
        ]
        for process in running:
            said, _ = process.communicate(timeout=300)
            assert process.returncode == 0, said
            found.add(said)
    return found


def test_a_replay_elsewhere_gives_the_same_hashes(tmp_path: Path) -> None:
    """BPC-018: two of the hundred processes."""
    [said] = replayed_in(tmp_path, 2)
    assert json.loads(said)["equal"] is True


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_hundred_replays_elsewhere_give_the_same_hashes(tmp_path: Path) -> None:
    """BPC-018, TC-P4-04: a hundred fresh processes: hash seeds, time zones, locales and orders of facts."""
    [said] = replayed_in(tmp_path, 100)
    assert json.loads(said)["equal"] is True
    sys.stdout.write(f"100 processes, one result: {said}")
