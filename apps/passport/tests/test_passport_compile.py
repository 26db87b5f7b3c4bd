"""Compiling: the same bytes always, every field proved, nothing to guess."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from passport_examples import example_input

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import CompileInput, Limits, check_sizes, compile_passport
from backstay_passport.domain.errors import PayloadTooLarge, ProofTooLarge, ReceiptTooLarge
from backstay_passport.domain.facts import make_fact
from backstay_passport.domain.hashing import hash_of, sha256
from backstay_passport.domain.merkle import leaf_hash, path_to, root_by_path, root_of
from backstay_passport.domain.proof import leaf_from_json
from backstay_passport.domain.readiness import readiness

GOLDEN = Path(__file__).with_name("golden_version.json")
PROGRAM = """
import random, sys
from dataclasses import replace
from backstay_passport.domain.compile import compile_passport
from passport_examples import example_input
given = example_input()
facts = list(given.facts)
random.Random(int(sys.argv[1])).shuffle(facts)
out = compile_passport(replace(given, facts=facts))
print(out.payload_hash.hex(), out.proof_root_hash.hex(), out.receipt_hash.hex(), out.proof_canonical.hex()[-64:])
"""


def test_the_golden_version_has_not_changed(compile_input: CompileInput) -> None:
    """BPC-018, TC-P4-04: the bytes of a known version."""
    output = compile_passport(compile_input)
    found = {
        "payload_hash": output.payload_hash.hex(),
        "proof_root_hash": output.proof_root_hash.hex(),
        "receipt_hash": output.receipt_hash.hex(),
        "proof_sha256": sha256(output.proof_canonical).hex(),
    }
    assert found == json.loads(GOLDEN.read_text())


def test_fresh_processes_give_the_same_bytes() -> None:
    """BPC-018, TC-P4-04: other hash seeds, time zones, locales and orders of facts."""
    folder = Path(__file__).parent
    lines = set()
    for number, zone in enumerate(
        ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham", "Europe/Berlin"]
    ):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(number * 991),
            "TZ": zone,
            "LC_ALL": ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "POSIX"][number],
            "PYTHONPATH": f"{folder}:{folder.parent / 'src'}",
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(number)],
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        lines.add(done.stdout)
    assert len(lines) == 1


def test_the_shipped_rules_fill_every_required_field() -> None:
    """BPC-020: the payload of all three models is complete."""
    for number in range(3):
        payload = parse(compile_passport(example_input(number)).payload_canonical)
        assert readiness(payload["submodels"]).missing == ()


def test_a_product_without_a_unit_has_a_passport_too(compile_input: CompileInput) -> None:
    """BPC-020: a passport of a product is the case of no serial."""
    output = compile_passport(replace(compile_input, unit=None, unit_id=None))
    payload = parse(output.payload_canonical)
    assert "batteryStatus" not in payload["submodels"]["GeneralProductInformation"]
    assert parse(output.receipt_canonical)["battery_unit_id"] is None


def test_every_leaf_is_in_the_tree_and_names_rule_and_facts(compile_input: CompileInput) -> None:
    """BPC-020, BPC-021: inclusion proofs verify; every field leads to a rule and a fact."""
    output = compile_passport(compile_input)
    proof = parse(output.proof_canonical)
    leaves = [leaf_from_json(entry) for entry in proof["leaves"]]
    hashes = [leaf.hash() for leaf in leaves]
    for index, leaf in enumerate(leaves):
        assert leaf.rule
        assert root_by_path(leaf.hash(), path_to(hashes, index)) == output.proof_root_hash
        assert all(mark in proof["sources"] for mark in leaf.inputs)
    assert root_by_path(leaf_hash(b"other"), path_to(hashes, 0)) != output.proof_root_hash


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 13])
def test_an_odd_node_goes_up_as_it_is(count: int) -> None:
    """BPC-021: trees of every size."""
    leaves = [leaf_hash(bytes([number])) for number in range(count)]
    for index in range(count):
        assert root_by_path(leaves[index], path_to(leaves, index)) == root_of(leaves)


def test_a_changed_fact_changes_the_root(compile_input: CompileInput) -> None:
    """BPC-021: a changed fact changes the root."""
    facts = list(compile_input.facts)
    changed = {**facts[0].payload, "mass_kg": "468.6"}
    facts[0] = make_fact(facts[0].fact_type, facts[0].fact_key, changed)
    before, after = compile_passport(compile_input), compile_passport(replace(compile_input, facts=facts))
    assert before.proof_root_hash != after.proof_root_hash


def test_the_receipt_is_one_byte_string(compile_input: CompileInput) -> None:
    """BPC-022, BPC-051: stored bytes hash to the receipt hash, and the build id stands in them."""
    output = compile_passport(compile_input)
    receipt = parse(output.receipt_canonical)
    assert sha256(output.receipt_canonical) == output.receipt_hash
    assert encode(receipt) == output.receipt_canonical
    assert receipt["compiler_build_id"] == "build-1"
    assert receipt["payload_hash"] == output.payload_hash.hex()
    assert receipt["proof_root_hash"] == output.proof_root_hash.hex()
    assert "signature" not in receipt


def test_sizes_at_the_limit_are_allowed_and_one_more_is_not(compile_input: CompileInput) -> None:
    """BPC-023, TC-P4-05, TC-P4-06, TC-P4-07: limit and limit + 1 of each artifact."""
    output = compile_passport(compile_input)
    sizes = (len(output.payload_canonical), len(output.proof_canonical), len(output.receipt_canonical))
    check_sizes(output, Limits(*sizes))
    for place, error in enumerate((PayloadTooLarge, ProofTooLarge, ReceiptTooLarge)):
        limits = [size - (index == place) for index, size in enumerate(sizes)]
        with pytest.raises(error) as caught:
            check_sizes(output, Limits(*limits))
        assert caught.value.details == {"size": sizes[place], "limit": sizes[place] - 1}


def test_hidden_values_cannot_be_guessed_from_what_is_public(compile_input: CompileInput) -> None:
    """BPC-021: knowing all fields but one status is not enough to find it by any public hash."""
    output = compile_passport(compile_input)
    payload = parse(output.payload_canonical)
    path = "GeneralProductInformation.batteryStatus"
    [entry] = [one for one in parse(output.proof_canonical)["leaves"] if one["path"] == path]
    public = leaf_from_json(entry).hash()
    for guess in ("Original", "Repurposed", "Reused", "Remanufactured", "Waste"):
        submodels = json.loads(json.dumps(payload["submodels"]))
        submodels["GeneralProductInformation"]["batteryStatus"] = guess
        unsalted = {key: value for key, value in payload.items() if key != "salt"}
        assert sha256(encode({**unsalted, "submodels": submodels})) != output.payload_hash
        guessed = {**entry, "value_hash": hash_of(guess).hex(), "salt": ""}
        assert leaf_from_json(guessed).hash() != public


def test_salts_differ_between_fields_and_versions(compile_input: CompileInput) -> None:
    """BPC-021: opening one leaf tells nothing of another field or another battery."""
    other = replace(compile_input, passport_version_id="018f0000-0000-7000-8000-00000000ffff")
    first, second = (parse(compile_passport(one).proof_canonical)["leaves"] for one in (compile_input, other))
    salts = [entry["salt"] for entry in [*first, *second]]
    assert len(set(salts)) == len(salts)
