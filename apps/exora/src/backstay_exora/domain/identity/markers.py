"""Which identifiers stand on the pages, where, and do they belong to the patient's place on the letter?"""

import re
from collections.abc import Callable, Iterator

from backstay_exora.domain.identity.addresses import find_addresses
from backstay_exora.domain.identity.births import find_births
from backstay_exora.domain.identity.marker import Marker, MarkerKind, marker_at
from backstay_exora.domain.identity.names import find_names, name_ends
from backstay_exora.domain.identity.numbers import is_ihi, is_medicare
from backstay_exora.domain.text import DocumentText, Line

_GENDER = re.compile(r"(?i)\b(?:sex|gender)\b\s*[:.\-]?\s*(?P<sex>male|female|m|f)\b")
_AGED = re.compile(
    r"(?i)\b\d{1,3}[- ](?:year|yr|month|week)s?[- ]old\s+(?P<sex>male|female|man|woman|lady|gentleman|boy|girl)\b"
)
_RECORD = re.compile(
    r"(?:\b(?:MRN|URN|UR|U\.R\.)|(?i:\b(?:medical[ ]+)?record|\bhospital|\bfile|\bpatient|\bchart|\bunit[ ]+record))"
    r"[ ]*(?i:no|number|id|nr|#)?[ ]*[.:#]*[ ]*(?P<number>[A-Z]{0,4}-?\d{4,10})\b"
)
_IHI = re.compile(r"\b(?P<number>8003[ ]?6\d{3}[ ]?\d{4}[ ]?\d{4})\b")
_MEDICARE = re.compile(r"(?i:medicare)[^\d\n]{0,20}(?P<number>\d{4}[ ]?\d{5}[ ]?\d)")


def find_markers(document: DocumentText, *, latest_year: int) -> list[Marker]:
    """Every identifier on the pages, in reading order by kind."""
    found: list[Marker] = []
    for page in document.pages:
        flow = document.flow(page)
        found.extend(find_names(flow, latest_year))
        found.extend(find_births(flow, latest_year))
        found.extend(_simple(flow, _GENDER, MarkerKind.GENDER, "sex", _gender))
        found.extend(_simple(flow, _AGED, MarkerKind.GENDER, "sex", _gender))
        found.extend(_simple(flow, _RECORD, MarkerKind.RECORD_NUMBER, "number", _compact))
        found.extend(_simple(flow, _IHI, MarkerKind.IHI, "number", _checked(is_ihi)))
        found.extend(_simple(flow, _MEDICARE, MarkerKind.MEDICARE, "number", _checked(is_medicare)))
        found.extend(find_addresses(flow, name_ends(flow)))
    return list({(marker.kind, marker.value, marker.words): marker for marker in found}.values())


def _simple(
    flow: Line, pattern: re.Pattern[str], kind: MarkerKind, group: str, read: Callable[[str], str | None]
) -> Iterator[Marker]:
    for match in pattern.finditer(flow.text):
        value = read(match[group])
        if value is not None:
            yield marker_at(flow, kind, value, *match.span(group))


def _gender(text: str) -> str:
    return "female" if text.lower() in {"f", "female", "woman", "lady", "girl"} else "male"


def _compact(text: str) -> str:
    return re.sub(r"[\s-]", "", text).upper()


def _checked(is_valid: Callable[[str], bool]) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        digits = _compact(text)
        # A number whose check digit fails was misread; it counts neither for nor against.
        return digits if is_valid(digits) else None

    return read
