"""The kinds of documents as their readers know them: the list that they hold, and what an entry looks like."""

from __future__ import annotations

from dataclasses import dataclass

from backstay_passport.domain.facts import DocumentKind, bom, due_diligence, pcf
from backstay_passport.domain.types import Record


@dataclass(frozen=True)
class KindSchema:
    """One kind: what its entries are called, and which field begins an entry."""

    kind: DocumentKind
    list_name: str
    entry_name: str
    schema: Record
    key: str
    title_words: tuple[str, ...]


KINDS = (
    KindSchema(
        DocumentKind.BOM, bom.LIST_NAME, "component", bom.COMPONENT, "sku", ("bill of materials", "bom")
    ),
    KindSchema(
        DocumentKind.PCF,
        pcf.LIST_NAME,
        "declaration",
        pcf.DECLARATION,
        "sku",
        ("carbon footprint", "pcf"),
    ),
    KindSchema(
        DocumentKind.DUE_DILIGENCE,
        due_diligence.LIST_NAME,
        "supplier",
        due_diligence.SUPPLIER,
        "supplier_id",
        ("due diligence", "supply chain"),
    ),
)


def kind_of(content: object) -> DocumentKind:
    """Recognise what a document is about by the list that it holds."""
    if isinstance(content, dict):
        for one in KINDS:
            if one.list_name in content:
                return one.kind
    return DocumentKind.OTHER
