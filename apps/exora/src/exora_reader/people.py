"""Who is named in a letter as the patient, and is there a second person?"""

import re
from typing import Any

_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Mx|Master|Dr|Baby)\.?\s+)?"
_NAME = r"(?:[A-Z][A-Za-z'’\-]+,\s*[A-Z][A-Za-z'’\-]+|[A-Z][A-Za-z'’\-]+(?:[ ][A-Z][A-Za-z'’\-]+){1,3})"
_PATIENT = re.compile(
    rf"(?:\b(?i:re|patient|patient name|name|regarding)\s*[:.\-]\s*){_TITLE}(?P<name>{_NAME})"
)
_BIRTH = re.compile(
    r"(?i)(?:dob|d\.o\.b\.?|date of birth|born(?: on)?)\s*[:.\-]?\s*(?P<date>\d{1,4}[-/. ]\w{1,9}[-/. ]\d{2,4})"
)
_KIND = (
    ("discharge summary", r"(?i)discharge"),
    ("pathology report", r"(?i)pathology|specimen|reference (?:range|interval)"),
    ("prescription", r"(?i)\bscript\b|prescription|\bRx\b"),
    ("immunisation record", r"(?i)immuni[sz]ation|vaccin"),
    ("referral", r"(?i)thank you for (?:seeing|reviewing)|referr"),
)


def read_people(text: str) -> dict[str, Any]:
    """The people at the patient's place, and whether two of them differ."""
    names = list(dict.fromkeys(match["name"] for match in _PATIENT.finditer(text)))
    births = list(dict.fromkeys(match["date"] for match in _BIRTH.finditer(text)))
    kind = next((name for name, pattern in _KIND if re.search(pattern, text)), "letter")
    is_mixed = len(set(births)) > 1
    return {
        "document_kind": kind,
        "people": [
            {"name": name, "date_of_birth": births[place] if place < len(births) else ""}
            for place, name in enumerate(names)
        ],
        "cross_profile_risk_detected": is_mixed,
        "manual_review_required": is_mixed,
        "why": "two dates of birth are on the document" if is_mixed else "",
    }
