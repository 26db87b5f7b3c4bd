"""A text in parts for the model, and the parts' answers together again."""

from collections.abc import Sequence
from typing import Any

from backstay_exora.domain.clinical import ProposedFact
from backstay_exora.domain.text import DocumentText


def divided(document: DocumentText, parts: int) -> list[str]:
    """The document in so many parts, cut between lines; every line keeps the number of its page."""
    lines = [(line.page, line.text) for line in document.lines]
    if not lines:
        return ["=== PAGE 1 ===\n"]
    share = -(-len(lines) // parts)
    return [_marked(lines[start : start + share]) for start in range(0, len(lines), share)]


def _marked(lines: Sequence[tuple[int, str]]) -> str:
    pieces, last = [], None
    for page, text in lines:
        if page != last:
            pieces.append(f"=== PAGE {page} ===")
            last = page
        pieces.append(text)
    return "\n".join(pieces)


def merged_entities(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts added up; a risk in any part is a risk."""
    kinds = ("medications", "conditions", "allergies")
    return {
        "document_kind": next(
            (part["document_kind"] for part in parts if part.get("document_kind")), "letter"
        ),
        "cross_profile_risk_detected": any(part.get("cross_profile_risk_detected") for part in parts),
        "manual_review_required": any(part.get("manual_review_required") for part in parts),
        "why": "; ".join(part["why"] for part in parts if part.get("why")),
        "entity_counts": {
            kind: sum(int((part.get("entity_counts") or {}).get(kind, 0)) for part in parts) for kind in kinds
        },
    }


def proposals(parts: Sequence[dict[str, Any]]) -> list[ProposedFact]:
    """Every fact that any part proposed; what is no text is left out."""
    found = []
    for part in parts:
        found += [_proposal("medication", entry, "name") for entry in part.get("medications", [])]
        found += [_proposal("condition", entry, "name") for entry in part.get("conditions", [])]
        found += [_proposal("allergy", entry, "substance") for entry in part.get("allergies", [])]
    return [fact for fact in found if fact.name and fact.quote]


def _proposal(kind: Any, entry: dict[str, Any], name: str) -> ProposedFact:
    page = entry.get("page")
    return ProposedFact(
        kind=kind,
        name=str(entry.get(name, "")),
        quote=str(entry.get("quote", "")),
        page=page if isinstance(page, int) else None,
        dose=str(entry.get("dose", "")),
        route=str(entry.get("route", "")),
        frequency=str(entry.get("frequency", "")),
        reaction=str(entry.get("reaction", "")),
        is_active=entry.get("status") == "active"
        and not entry.get("negated")
        and entry.get("subject") == "patient",
    )
