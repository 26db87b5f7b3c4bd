"""What the model is asked, in which words, and which JSON it must answer with."""

from typing import Any

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_FLAG = {"type": "boolean"}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_SAID = {"quote": _TEXT, "page": _NUMBER, "negated": _FLAG, "subject": _TEXT, "status": _TEXT}

ENTITIES = _object(
    document_kind=_TEXT,
    people=_list(_object(name=_TEXT, date_of_birth=_TEXT)),
    cross_profile_risk_detected=_FLAG,
    manual_review_required=_FLAG,
    why=_TEXT,
    entity_counts=_object(medications=_NUMBER, conditions=_NUMBER, allergies=_NUMBER),
    pages=_NUMBER,
)
CLINICAL_FACTS = _object(
    medications=_list(_object(name=_TEXT, dose=_TEXT, route=_TEXT, frequency=_TEXT, **_SAID)),
    conditions=_list(_object(name=_TEXT, **_SAID)),
    allergies=_list(_object(substance=_TEXT, reaction=_TEXT, **_SAID)),
)
NARRATIVE = _object(text=_TEXT, fact_count=_NUMBER)

ENTITIES_SYSTEM = (
    "You are given the text of a medical document, page by page, and a picture of its first page. Say what kind of "
    "document it is, who is named as the patient, whether a second person's details are mixed in, and how many "
    "medications, conditions and allergies are named. `why` names the reason for a risk without names or dates."
)
FACTS_SYSTEM = (
    "List every medication, condition and allergy that the document names. Copy `quote` from the text exactly, with "
    "the name and the dose in it, and dose, route, frequency and reaction as they are written there; leave empty what "
    "is not. Set negated for what is denied, subject to family for what is said of a relative, "
    "status to ended or planned for what has ended or is only considered. Never change a dose."
)
NARRATIVE_SYSTEM = "Write a short summary of the facts that stand behind the line FACTS. Add nothing."
