"""Example batteries for the tests."""

from __future__ import annotations

from typing import Any

from backstay_passport.demo.models import models, unit
from backstay_passport.domain.compile import CompileInput, CompileOutput, compile_passport
from backstay_passport.domain.facts import DocumentKind, Fact, read_facts
from backstay_passport.domain.qr import QrContent
from backstay_passport.domain.signing import SigningKey, key_from_seed
from backstay_passport.domain.types import plain
from backstay_passport.domain.verify import Artifacts
from backstay_passport.rule_packages import battery_passport

KEY: SigningKey = key_from_seed(bytes(range(32)), "test-key-1")


def example_facts(number: int = 0) -> list[Fact]:
    """The facts of one of the three models."""
    model = models()[number]
    facts = read_facts(DocumentKind.BOM, {"components": [model.component]})
    facts += read_facts(DocumentKind.PCF, {"declarations": model.declarations})
    facts += read_facts(DocumentKind.DUE_DILIGENCE, {"suppliers": model.suppliers})
    return facts


def example_input(number: int = 0, **changes: Any) -> CompileInput:
    """What an example version is compiled from."""
    model = models()[number]
    sources = battery_passport()
    given: dict[str, Any] = {
        "tenant_id": "tenant-1",
        "passport_id": "018f0000-0000-7000-8000-000000000001",
        "passport_version_id": "018f0000-0000-7000-8000-000000000002",
        "product_id": "018f0000-0000-7000-8000-000000000003",
        "product": {"sku": model.sku, "gtin": model.gtin},
        "unit_id": "018f0000-0000-7000-8000-000000000004",
        "unit": plain(unit(model, 1, seed=1)),
        "snapshot_id": "018f0000-0000-7000-8000-000000000005",
        "snapshot_secret": bytes(range(32)),
        "facts": example_facts(number),
        "rule_package_version_id": "018f0000-0000-7000-8000-000000000006",
        "rules_source": sources.rules,
        "tests_source": sources.tests,
        "issued_at": "2026-11-18T04:00:00Z",
        "build_id": "build-1",
        "signing_key_id": KEY.key_id,
    }
    return CompileInput(**{**given, **changes})


def signed(given: CompileInput) -> tuple[CompileOutput, Artifacts]:
    """A compiled version with its signature and its code."""
    output = compile_passport(given)
    code = QrContent(
        given.passport_version_id, output.payload_hash, output.proof_root_hash, output.receipt_hash
    )
    return output, Artifacts(
        payload=output.payload_canonical,
        proof=output.proof_canonical,
        receipt=output.receipt_canonical,
        signature=KEY.sign(output.receipt_hash),
        public_key=KEY.public,
        qr_text=code.text(),
    )
