"""Due-diligence reports: a DueDiligence fact for each supplier and material."""

from __future__ import annotations

from typing import Any

from backstay_passport.domain.errors import DocumentRejected
from backstay_passport.domain.facts.elements import elements
from backstay_passport.domain.facts.fact import Fact, make_fact
from backstay_passport.domain.types import Number, Optional, Record, Text, coerce
from backstay_passport.domain.units import UNITS

RISKS = ("low", "medium", "high")
SUPPLIER = Record(
    {
        "supplier_id": Text(),
        "material": Text(),
        "risk": Text(),
        "policy_url": Text(),
        "report_url": Optional(Text()),
        "assurance_url": Optional(Text()),
        "index": Optional(Number(UNITS["each"])),
    },
    "supplier",
)
LIST_NAME = "suppliers"


def read(content: Any) -> list[Fact]:
    """Return the facts of a due-diligence report."""
    facts = []
    for pointer, element in elements(content, LIST_NAME):
        supplier = coerce(element, SUPPLIER, pointer)
        supplier["risk"] = supplier["risk"].lower()
        if supplier["risk"] not in RISKS:
            raise DocumentRejected(f"{pointer}/risk", f"{supplier['risk']!r} is none of {', '.join(RISKS)}")
        key = f"dd:{supplier['supplier_id']}:{supplier['material']}"
        facts.append(make_fact("DueDiligence", key, supplier))
    return facts
