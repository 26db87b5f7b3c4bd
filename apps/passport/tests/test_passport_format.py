"""The page on the format tells the truth, and a verifier written from it alone agrees with ours."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import nacl.exceptions
import pytest
from passport_examples import KEY, signed

from backstay_passport.domain.bundle import (
    bundle_artifacts,
    holder_bundle,
    public_bundle,
    read_zip,
    write_zip,
)
from backstay_passport.domain.canonical import encode
from backstay_passport.domain.compile import CompileInput
from backstay_passport.domain.errors import PassportError
from backstay_passport.domain.events import ChainEnd, NewEvent, chain, tree_head
from backstay_passport.domain.hashing import base32_no_pad, hash_of
from backstay_passport.domain.merkle import leaf_hash, root_of
from backstay_passport.domain.proof import leaf_from_json, salt_of
from backstay_passport.domain.replay import replay
from backstay_passport.domain.signing import key_from_seed
from backstay_passport.domain.snapshots import snapshot_hash
from backstay_passport.domain.tiers import audience
from backstay_passport.domain.verify import holds, verify

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "format.md").read_text(encoding="utf-8")
VERIFIER = DOCS / "verifier.py"
SECRET = bytes(range(32))


def test_every_vector_of_the_page_is_true() -> None:
    """BPC-008, BPC-010, BPC-021, BPC-022, BPC-027, BPC-043: what the page says is what the code does."""
    event = chain(
        NewEvent("Thing", "one", "TOLD", {"n": 1}),
        event_id="e",
        tenant_id="t",
        occurred_at="2026-01-01T00:00:00Z",
        previous=None,
    )
    leaf = leaf_from_json(json.loads(re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)[0]))
    path = "GeneralProductInformation.batteryMass"
    assert leaf.salt == salt_of(SECRET, "018f0000-0000-7000-8000-000000000002", path)
    vectors = [
        hash_of({"a": 1, "b": 2}).hex(),
        hash_of("12.5").hex(),
        leaf.hash().hex(),
        root_of([leaf_hash(one) for one in (b"a", b"b", b"c")]).hex(),
        snapshot_hash("s", [], SECRET).hex(),
        event.hash.hex(),
        tree_head([ChainEnd("Thing", "one", 1, event.hash)]).hex(),
        base32_no_pad(SECRET),
        KEY.public.hex(),
        KEY.sign(bytes(32)).hex(),
    ]
    for vector in vectors:
        assert vector in PAGE


def program_agrees(bundle: bytes, folder: Path, key: str) -> bool:
    """Run the verifier of the documents, which knows nothing of our code; True if it finds nothing wrong."""
    path = folder / "bundle.zip"
    path.write_bytes(bundle)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["verifier.py", str(path), key])
        try:
            runpy.run_path(str(VERIFIER), run_name="__main__")
        except SystemExit as end:
            return not end.code
        except (ValueError, KeyError, TypeError, nacl.exceptions.CryptoError):
            return False
    return True


def test_the_verifier_of_the_documents_is_short_and_knows_nothing_of_us(
    compile_input: CompileInput, tmp_path: Path
) -> None:
    """BPC-033: sixty lines, other people's libraries, and a process of its own with an exit code."""
    source = VERIFIER.read_text(encoding="utf-8")
    assert sum(1 for line in source.splitlines() if line.strip()) <= 60
    assert "backstay" not in source
    _, artifacts = signed(compile_input)
    path = tmp_path / "p.zip"
    path.write_bytes(write_zip(public_bundle(artifacts, KEY.key_id, audience("public"))))
    other = key_from_seed(b"o" * 32, "other").public.hex()
    codes = [
        subprocess.run(
            [sys.executable, str(VERIFIER), str(path), key], capture_output=True, check=False
        ).returncode
        for key in (KEY.public.hex(), other)
    ]
    assert codes == [0, 1]


def _differs(bundle: bytes) -> bool:
    try:
        return not all(one.equal for one in replay(read_zip(bundle)))
    except PassportError:
        return True


@pytest.mark.parametrize("scope", ["public", "holder"])
def test_an_independent_verifier_agrees_on_truth_and_on_every_tampering(
    scope: str, compile_input: CompileInput, tmp_path: Path
) -> None:
    """BPC-033: true bundles pass both; a changed byte of any file is refused by both."""
    _, artifacts = signed(compile_input)
    bundle = (
        public_bundle(artifacts, KEY.key_id, audience("public"))
        if scope == "public"
        else holder_bundle(artifacts, KEY.key_id, compile_input)
    )
    assert program_agrees(write_zip(bundle), tmp_path, KEY.public.hex())
    assert holds(verify(bundle_artifacts(read_zip(write_zip(bundle)))))
    for name in ("payload.json", "proof.json", "receipt.json", "qr.txt"):
        content = bundle.files[name]
        for place in range(1, len(content) - 1, max(1, len(content) // 23)):
            changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            broken = write_zip(type(bundle)(bundle.scope, {**bundle.files, name: changed}))
            if name == "proof.json" and place > content.index(b'"root"') and scope == "holder":
                # The list of sources is checked by compiling again.
                assert _differs(broken)
                continue
            ours = holds(verify(bundle_artifacts(read_zip(broken))))
            assert (program_agrees(broken, tmp_path, KEY.public.hex()), ours) == (False, False), (name, place)


@pytest.mark.parametrize("extra", ["[]", '""', "null", "false", "{}", '{"deep":[]}'])
def test_nothing_is_slipped_in_beside_the_leaves(
    extra: str, compile_input: CompileInput, tmp_path: Path
) -> None:
    """BPC-033: not even an empty list; an empty object says nothing, and is the only thing that may be left."""
    _, artifacts = signed(compile_input)
    bundle = public_bundle(artifacts, KEY.key_id, audience("public"))
    payload = bundle.json("payload.json")
    payload["submodels"]["Labeling"]["zzz"] = json.loads(extra)
    changed = write_zip(type(bundle)(bundle.scope, {**bundle.files, "payload.json": encode(payload)}))
    ours = holds(verify(bundle_artifacts(read_zip(changed))))
    assert (program_agrees(changed, tmp_path, KEY.public.hex()), ours) == (extra == "{}", extra == "{}")
