"""Where does a birth date stand on a page, in whatever form?"""

import re
from collections.abc import Iterator

from backstay_exora.domain.dates import DATE_PATTERN, parse_date
from backstay_exora.domain.identity.marker import Marker, MarkerKind, marker_at, owned
from backstay_exora.domain.text import Line

_FORM_BORN = (
    r"(?:\bd[.,]?[ ]?[o0][.,]?[ ]?b\b[.,]?|\bdate[ ]+of[ ]+birth|\bbirth[ ]*(?:date|day)|\by\.?o\.?b\b"
    r"|\byear[ ]+of[ ]+birth|\bgeb\.)(?:[ ]*/[ ]*age)?(?:[ ]*\([^)\n]{1,14}\))?"
)
BORN = rf"(?:{_FORM_BORN}|\bborn(?:[ ]+on)?(?:[ ]+the)?|\bb\.(?=[ ]?\d))"
_BIRTH = re.compile(rf"(?i){BORN}\s*[:.\-–=*]*\s*(?P<date>{DATE_PATTERN}|\d{{8}}\b)")
_BIRTH_YEAR = re.compile(
    rf"(?i)(?:{BORN}|\bborn)(?:[ ]+in)?\s*[:.\-–=]*\s*(?P<date>(?:19|20)\d\d)\b(?![-/.|])"
)
_BIRTH_UNREAD = re.compile(
    rf"(?i){_FORM_BORN}[ ]*[:.\-–=*]*\s*(?P<date>(?=\S*\d)[\doil|]\S*(?:[ ]\S*\d\S*){{0,2}})"
)
"""What stands at the place of a birth date and cannot be read as one."""


def find_births(flow: Line, latest_year: int) -> Iterator[Marker]:
    """Every date that is called a birth date."""
    taken: list[int] = []
    for pattern in (_BIRTH, _BIRTH_YEAR, _BIRTH_UNREAD):
        for match in pattern.finditer(flow.text):
            if match.start() in taken:
                continue
            taken.append(match.start())
            day = parse_date(" ".join(match["date"].split()), latest_year=latest_year)
            # A date that cannot be is kept as it was read: it is present, and it differs.
            value = day.isoformat() if day else " ".join(match["date"].split())
            found = marker_at(flow, MarkerKind.DATE_OF_BIRTH, value, *match.span("date"))
            yield owned(flow, match.start(), found)
