"""From a document's content to its facts, by the document's kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from backstay_passport.domain.errors import DocumentRejected, NotCanonical, UnsupportedDocumentKind
from backstay_passport.domain.facts import bom, due_diligence, pcf
from backstay_passport.domain.facts.fact import Fact
from backstay_passport.domain.types import WrongType

MAX_FACTS = 20_000


class DocumentKind(StrEnum):
    """What a document is about."""

    BOM = "BOM"
    PCF = "PCF"
    DUE_DILIGENCE = "DUE_DILIGENCE"
    OTHER = "OTHER"


_READERS: Mapping[DocumentKind, Callable[[Any], list[Fact]]] = {
    DocumentKind.BOM: bom.read,
    DocumentKind.PCF: pcf.read,
    DocumentKind.DUE_DILIGENCE: due_diligence.read,
}


def read_facts(kind: DocumentKind, content: Any) -> list[Fact]:
    """Return the facts of a document; raise `DocumentRejected` with a pointer if it is not what it claims.

    Two facts of one type and key in one document contradict each other, so they are refused too.
    """
    if kind not in _READERS:
        raise UnsupportedDocumentKind(kind)
    try:
        facts = _READERS[kind](content)
    except (WrongType, NotCanonical) as error:
        raise DocumentRejected(error.pointer, error.problem) from None
    if len(facts) > MAX_FACTS:
        raise DocumentRejected("", f"{len(facts)} facts; a document may hold {MAX_FACTS}")
    seen: set[tuple[str, str]] = set()
    for fact in facts:
        if (fact.fact_type, fact.fact_key) in seen:
            raise DocumentRejected("", f"{fact.fact_type} {fact.fact_key} stands in it twice")
        seen.add((fact.fact_type, fact.fact_key))
    return facts
