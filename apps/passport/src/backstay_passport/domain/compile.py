"""From facts and rules to a passport version: payload, proof and receipt, as bytes that never depend on chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.errors import PayloadTooLarge, ProofTooLarge, ReceiptTooLarge
from backstay_passport.domain.facts import Fact, make_fact
from backstay_passport.domain.hashing import keyed_hash, sha256
from backstay_passport.domain.merkle import root_of
from backstay_passport.domain.proof import build_leaves, input_mark, proof_json
from backstay_passport.domain.receipt import Receipt
from backstay_passport.domain.rules.check import check_rules
from backstay_passport.domain.rules.evaluate import STEP_LIMIT
from backstay_passport.domain.rules.run import Assignment, Subject, run_rules
from backstay_passport.domain.snapshots import snapshot_hash

PAYLOAD_VERSION = "BPC-PASSPORT-1"


@dataclass(frozen=True)
class Limits:
    """How many bytes each artifact may have; exactly as many are allowed."""

    payload: int = 131_072
    proof: int = 262_144
    receipt: int = 16_384


@dataclass(frozen=True)
class CompileInput:
    """Everything that a passport version depends on."""

    tenant_id: str
    passport_id: str
    passport_version_id: str
    product_id: str
    product: Mapping[str, Any]
    unit_id: str | None
    unit: Mapping[str, Any] | None
    snapshot_id: str
    snapshot_secret: bytes
    facts: Sequence[Fact]
    rule_package_version_id: str
    rules_source: str
    tests_source: str
    issued_at: str
    build_id: str
    signing_key_id: str


@dataclass(frozen=True)
class CompileOutput:
    """The three artifacts of a passport version with their hashes."""

    payload_canonical: bytes
    payload_hash: bytes
    proof_canonical: bytes
    proof_root_hash: bytes
    receipt_canonical: bytes
    receipt_hash: bytes


def compile_passport(given: CompileInput, *, step_limit: int = STEP_LIMIT) -> CompileOutput:
    """Compile a passport version; the same input gives the same bytes, wherever and whenever.

    Raises `RuleSyntaxError`, `RuleTypeError` or `CompileError` if the rules cannot be run.
    """
    checked = check_rules(given.rules_source)
    subject = _subject(given)
    assignments = run_rules(checked, given.facts, subject, step_limit=step_limit)
    payload_canonical = encode(_payload(given, assignments))
    rules_sha256 = sha256(given.rules_source.encode()).hex()
    leaves = build_leaves(
        assignments,
        secret=given.snapshot_secret,
        passport_version_id=given.passport_version_id,
        rules_sha256=rules_sha256,
    )
    root = root_of([leaf.hash() for leaf in leaves])
    receipt = _receipt(given, payload_hash=sha256(payload_canonical), root=root).canonical()
    return CompileOutput(
        payload_canonical=payload_canonical,
        payload_hash=sha256(payload_canonical),
        proof_canonical=encode(proof_json(leaves, _sources(given, assignments))),
        proof_root_hash=root,
        receipt_canonical=receipt,
        receipt_hash=sha256(receipt),
    )


def check_sizes(output: CompileOutput, limits: Limits) -> None:
    """Refuse artifacts above their limits."""
    if len(output.payload_canonical) > limits.payload:
        raise PayloadTooLarge(len(output.payload_canonical), limits.payload)
    if len(output.proof_canonical) > limits.proof:
        raise ProofTooLarge(len(output.proof_canonical), limits.proof)
    if len(output.receipt_canonical) > limits.receipt:
        raise ReceiptTooLarge(len(output.receipt_canonical), limits.receipt)


def nested(assignments: Sequence[Assignment]) -> dict[str, Any]:
    """Return set fields as the tree that they are paths of."""
    tree: dict[str, Any] = {}
    for found in assignments:
        *parents, name = found.path.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = found.value
    return tree


def subject_of(
    product: Mapping[str, Any], unit: Mapping[str, Any] | None, passport: Mapping[str, str]
) -> Subject:
    """Return what a passport is about; product and unit become facts, so that they can be traced."""
    described = make_fact("Product", f"product:{product['sku']}", dict(product))
    single = None
    if unit is not None:
        single = make_fact("Unit", f"unit:{unit.get('gtin', '')}:{unit['serial']}", dict(unit))
    return Subject(described, single, passport)


def _subject(given: CompileInput) -> Subject:
    passport = {
        "id": given.passport_id,
        "version_id": given.passport_version_id,
        "identifier": f"urn:uuid:{given.passport_id}",
        "issued_at": given.issued_at,
    }
    return subject_of(given.product, given.unit, passport)


def _payload(given: CompileInput, assignments: Sequence[Assignment]) -> dict[str, Any]:
    # The salt keeps somebody who knows all other fields from guessing a hidden one by the payload's hash.
    salt = keyed_hash(given.snapshot_secret, f"payload|{given.passport_version_id}".encode()).hex()
    return {
        "payload_version": PAYLOAD_VERSION,
        "passport_id": given.passport_id,
        "passport_version_id": given.passport_version_id,
        "salt": salt,
        "submodels": nested(assignments),
    }


def _sources(given: CompileInput, assignments: Sequence[Assignment]) -> dict[str, Any]:
    used = {fact for found in assignments for fact in found.used}
    return {
        input_mark(given.snapshot_secret, fact.payload_hash): {
            "type": fact.fact_type,
            "key": fact.fact_key,
            "hash": fact.payload_hash.hex(),
            "document_version_id": fact.source or None,
        }
        for fact in used
    }


def _receipt(given: CompileInput, *, payload_hash: bytes, root: bytes) -> Receipt:
    return Receipt(
        issued_at=given.issued_at,
        tenant_id=given.tenant_id,
        passport_version_id=given.passport_version_id,
        passport_id=given.passport_id,
        battery_product_id=given.product_id,
        battery_unit_id=given.unit_id,
        snapshot_id=given.snapshot_id,
        snapshot_hash=snapshot_hash(given.snapshot_id, given.facts, given.snapshot_secret).hex(),
        rule_package_version_id=given.rule_package_version_id,
        dsl_sha256=sha256(given.rules_source.encode()).hex(),
        tests_sha256=sha256(given.tests_source.encode()).hex(),
        compiler_build_id=given.build_id,
        payload_hash=payload_hash.hex(),
        proof_root_hash=root.hex(),
        signing_key_id=given.signing_key_id,
    )
