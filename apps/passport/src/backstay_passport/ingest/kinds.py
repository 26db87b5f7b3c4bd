"""The kinds of documents as their readers know them: the list that they hold, and what an entry looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.facts import DocumentKind, bom, due_diligence, pcf
from backstay_passport.domain.types import Record, Text
from backstay_passport.ingest.labels import without_unit
from backstay_passport.ingest.synonyms import named_value
from backstay_passport.ingest.values import cell_value

# A list of materials has a row for each of them, and calls the material's name its material.
_MATERIAL_ROW = Record(
    {
        "sku": Text(),
        "material": Text(),
        **{name: kind for name, kind in bom.MATERIAL.fields.items() if name != "name"},
    },
    "material row",
)
_INNER = {"material": "name"}


@dataclass(frozen=True)
class KindSchema:
    """One kind: what its entries are called, and which field begins an entry."""

    kind: DocumentKind
    list_name: str
    entry_name: str
    schema: Record
    key: str
    title_words: tuple[str, ...]
    rows_share_key: bool = False
    """True if several entries may have one key, so that a table below a form may leave it out."""

    below: str = ""
    """The list inside of an entry that the rows are of; they are gathered by their key."""


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
        rows_share_key=True,
    ),
    KindSchema(
        DocumentKind.DUE_DILIGENCE,
        due_diligence.LIST_NAME,
        "supplier",
        due_diligence.SUPPLIER,
        "supplier_id",
        ("due diligence", "supply chain"),
        rows_share_key=True,
    ),
    KindSchema(
        DocumentKind.BOM,
        bom.LIST_NAME,
        "component",
        _MATERIAL_ROW,
        "sku",
        ("material composition", "material declaration"),
        rows_share_key=True,
        below="materials",
    ),
)


def content_of(kind: KindSchema, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a document says, of its entries."""
    if kind.below:
        return {kind.list_name: _gathered(kind, entries)}
    if kind.kind == DocumentKind.PCF:
        return {kind.list_name: [one for entry in entries for one in _by_stage(entry)]}
    return {kind.list_name: entries}


def _by_stage(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an entry for each stage of a row that has a column for each of them."""
    stages = {name: stage for name in entry if (stage := named_value("stage", name)) is not None}
    if "kg_co2e" in entry or len(stages) < 2 or len(set(stages.values())) < len(stages):
        return [entry]
    shared = {name: value for name, value in entry.items() if name not in stages}
    return [
        {**shared, "stage": stage, "kg_co2e": _footprint(name, entry[name])} for name, stage in stages.items()
    ]


def _footprint(heading: str, text: Any) -> Any:
    kind = pcf.DECLARATION.fields["kg_co2e"]
    return cell_value(str(text), kind, without_unit(heading)[1], field="kg_co2e")


def _gathered(kind: KindSchema, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[Any, list[dict[str, Any]]] = {}
    for entry in entries:
        inner = {_INNER.get(name, name): value for name, value in entry.items() if name != kind.key}
        found.setdefault(entry.get(kind.key), []).append(inner)
    return [{**({} if key is None else {kind.key: key}), kind.below: inner} for key, inner in found.items()]


def kind_of(content: object) -> DocumentKind:
    """Recognise what a document is about by the list that it holds."""
    if isinstance(content, dict):
        for one in KINDS:
            if one.list_name in content:
                return one.kind
    return DocumentKind.OTHER
