"""A receipt of an import: what went in and what came of it, signed, so that it can be checked later."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from backstay_aeon.domain.imports.batches import canonical


def sign(facts: dict[str, Any], secret: str) -> dict[str, Any]:
    """The facts with a signature over them."""
    return {"receipt": facts, "signature": _signature(facts, secret)}


def problems(receipt: dict[str, Any], found: dict[str, Any], secret: str) -> list[str]:
    """What does not hold of a receipt, given the facts as they are reckoned now; empty when all does."""
    facts = receipt.get("receipt")
    if not isinstance(facts, dict) or not isinstance(receipt.get("signature"), str):
        return ["this is no receipt of an import"]
    told: list[str] = []
    if not hmac.compare_digest(_signature(facts, secret), receipt["signature"]):
        told.append("the signature does not fit: the receipt was altered or comes from elsewhere")
    for name, value in facts.items():
        if name not in found:
            told.append(f"{name} cannot be reckoned any more")
        elif canonical(found[name]) != canonical(value):
            told.append(f"{name} is {found[name]} now, and {value} in the receipt")
    return told


def _signature(facts: dict[str, Any], secret: str) -> str:
    return hmac.new(secret.encode(), b"aeon receipt" + canonical(facts), hashlib.sha256).hexdigest()
