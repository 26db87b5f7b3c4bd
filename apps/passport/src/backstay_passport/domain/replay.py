"""BPC-REPLAY-1: compile a version again from a holder's bundle and compare the three hashes."""

from __future__ import annotations

from dataclasses import dataclass

from backstay_passport.domain.bundle import HOLDER, Bundle, facts_from_json
from backstay_passport.domain.compile import CompileInput, compile_passport
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.hashing import sha256


@dataclass(frozen=True)
class Comparison:
    """A hash as it was, and as it came out again."""

    name: str
    expected: str
    computed: str

    @property
    def equal(self) -> bool:
        """True if the two are the same."""
        return self.expected == self.computed


def replay(bundle: Bundle) -> list[Comparison]:
    """Compile the bundle's version again and return payload, proof root and receipt compared."""
    given = compile_input(bundle)
    try:
        return _compare(bundle, given)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"the bundle cannot be recomputed: {error!r}") from None


def _compare(bundle: Bundle, given: CompileInput) -> list[Comparison]:
    output = compile_passport(given)
    receipt = bundle.json("receipt.json")
    # The holder's list of sources is outside of the tree, so the bytes of the whole proof are compared.
    same_proof = output.proof_canonical == bundle.files.get("proof.json")
    root = output.proof_root_hash.hex() if same_proof else "proof.json is not what was compiled"
    return [
        Comparison("payload hash", receipt["payload_hash"], output.payload_hash.hex()),
        Comparison("proof root hash", receipt["proof_root_hash"], root),
        Comparison("receipt hash", sha256(bundle.files["receipt.json"]).hex(), output.receipt_hash.hex()),
    ]


def compile_input(bundle: Bundle) -> CompileInput:
    """Return what the version was compiled from."""
    if bundle.scope != HOLDER:
        raise InvalidInput("a public bundle can be verified, not recomputed: export it without --public")
    try:
        return _read(bundle)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"the bundle cannot be recomputed: {error!r}") from None


def _read(bundle: Bundle) -> CompileInput:
    receipt = bundle.json("receipt.json")
    return CompileInput(
        tenant_id=receipt["tenant_id"],
        passport_id=receipt["passport_id"],
        passport_version_id=receipt["passport_version_id"],
        product_id=receipt["battery_product_id"],
        product=bundle.json("product.json"),
        unit_id=receipt["battery_unit_id"],
        unit=bundle.json("unit.json"),
        snapshot_id=receipt["snapshot_id"],
        snapshot_secret=bytes.fromhex(bundle.json("secret.json")["snapshot_secret"]),
        facts=facts_from_json(bundle.json("facts.json")),
        rule_package_version_id=receipt["rule_package_version_id"],
        rules_source=bundle.files["rules.txt"].decode(),
        tests_source=bundle.files["tests.txt"].decode(),
        issued_at=receipt["issued_at"],
        build_id=receipt["compiler_build_id"],
        signing_key_id=receipt["signing_key_id"],
    )
