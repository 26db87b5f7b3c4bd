"""An identifier as it stands on a page, and whose it seems to be."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from backstay_exora.domain.text import Line, PageWord


class MarkerKind(StrEnum):
    """Kinds of identifiers; a Medicare number is found, and counts for nothing: families share it."""

    NAME = "name"
    DATE_OF_BIRTH = "date of birth"
    GENDER = "gender"
    ADDRESS = "address"
    RECORD_NUMBER = "record number"
    IHI = "IHI"
    MEDICARE = "Medicare number"


APPROVED = frozenset(MarkerKind) - {MarkerKind.MEDICARE}
_OWNER = re.compile(
    r"(?i)\b(?:(?:grand|step)?(?:mother|father|parent)s?|mum|dad|brother|sister|son|daughter|wife|husband|spouse|partner"
    r"|guardian|carer|next[ ]+of[ ]+kin|nok|emergency[ ]+contact|aunt|uncle|cousin|twin|sibling)\b[^.;!?]{0,45}$"
)
_NEW_SENTENCE = re.compile(r"[.;!?]\s|(?<![a-z,])\n")


@dataclass(frozen=True, slots=True)
class Marker:
    """An identifier as it stands on a page; `value` is the form in which it is compared."""

    kind: MarkerKind
    value: str
    text: str
    words: tuple[PageWord, ...]
    is_patients: bool = True
    """False for an address that may be the sender's."""
    is_title: bool = False
    """True for a gender that only a title tells: Mr, Mrs. It can speak against the patient, never for."""
    is_relatives: bool = False
    """True for a name or birth date that the letter gives to a relative or carer."""


def marker_at(
    flow: Line, kind: MarkerKind, value: str, start: int, end: int, *, is_patients: bool = True
) -> Marker:
    """The marker that stands between two places of a page."""
    text = " ".join(flow.text[start:end].split())
    return Marker(kind, value, text, flow.words_between(start, end), is_patients)


def owned(flow: Line, start: int, marker: Marker) -> Marker:
    """The marker, with a note if the words before it give it to a relative."""
    before = _NEW_SENTENCE.split(flow.text[max(0, start - 60) : start])[-1]
    return replace(marker, is_relatives=True) if _OWNER.search(before) else marker
