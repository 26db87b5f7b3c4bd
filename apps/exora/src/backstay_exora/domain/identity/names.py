"""Where does a name stand at the patient's place, and in which form is it compared?"""

import re
from collections.abc import Iterator
from dataclasses import replace

from backstay_exora.domain.dates import DATE_PATTERN, parse_date
from backstay_exora.domain.identity.births import BORN
from backstay_exora.domain.identity.marker import Marker, MarkerKind, marker_at, owned
from backstay_exora.domain.text import Line

_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Mx|Master|Dr|Prof|Baby)\.?[ ]+)?"
_NO_NAME = (
    "DOB|D\\.O\\.B|Date|Born|Birth|MRN|UR|URN|Sex|Gender|Address|Medicare|IHI|Age|Aged|Ph|Phone|Tel|Male|Female|"
    "Record|Patient|Thank|Dear|The|Your|Our|Of|Hospital|File|Chart|Clinic|Date|Unit|Mob|Mobile|Email|Re|No"
)
NAME_WORD = (
    rf"(?!(?:{_NO_NAME})\b)(?:[A-Z]['’])?[A-Z][A-Za-z0158|'’\-]*\.?"  # digits that scanners read for letters
)
PARTICLES = r"(?:(?:van|von|de|der|den|da|di|la|le|del|bin|al)[ ]+)*"
_NAME = (
    rf"(?:(?P<last>{PARTICLES}{NAME_WORD}(?:[ ]{NAME_WORD})?),[ ]*{_TITLE}"
    rf"(?P<first>{NAME_WORD}(?:[ ]{NAME_WORD}){{0,2}})"
    rf"|(?P<whole>{NAME_WORD}(?:[ ]{PARTICLES}{NAME_WORD}){{1,3}}))"
)
_NAME_LABEL = (
    r"(?:\b(?:re|regarding|concerning|patient(?:['’]s)?(?:[ ]+(?:full[ ]+)?name)?|full[ ]+name"
    r"|name(?:[ ]+of[ ]+patient)?|pt|client|report[ ]+on|for)\b)"
)
_LABELLED_NAME = re.compile(rf"(?i:{_NAME_LABEL})[ ]*[:.\-–][ ]*\n?[ ]*{_TITLE}{_NAME}")
_WRAPPED_NAME = _NAME.replace("[ ]", "[ \\n]")
_TITLED = r"(?:Mr|Mrs|Ms|Miss|Mx|Master|Baby)\.?\s+"
_PROSE_NAME = re.compile(
    rf"(?:{_TITLED}|\b(?i:re|regarding|concerning|about|for)\s+)(?:{_TITLED})?{_WRAPPED_NAME}[\s,(]{{1,3}}(?i:{BORN})"
)
# Forms whose colons the scanner lost: PATIENT JOVANOVIC, STEFAN
_FORM_NAME = re.compile(
    r"(?m)^(?:(?:PATIENT|Patient)(?:['’][sS])?(?:[ ]+(?:NAME|Name|name))?"
    r"|(?:FULL[ ]|Full[ ])?(?:NAME|Name|name)|Client)[ ]+"
    rf"{_TITLE}{_NAME}[ ]*$"
)
_DATED_NAME = re.compile(rf"\b{_TITLED}{_NAME}(?=[ ]?[,(][ ]?(?i:{DATE_PATTERN}))")
_DATE_BEHIND = re.compile(rf"(?i)[ ]*[,(]?[ ]*(?:(?:male|female|m|f)\b[ ,]*)?(?P<date>{DATE_PATTERN})")
_SURNAME = re.compile(
    rf"(?i:\b(?:surname|family[ ]+name|last[ ]+name)\b)[ ]*[:.]?[ ]*(?P<last>{PARTICLES}{NAME_WORD})"
)
_GIVEN = re.compile(
    r"(?i:\b(?:given[ ]+names?(?:\(s\))?|first[ ]+names?|forenames?)(?:\(s\))?)[ ]*[:.]?[ ]*"
    rf"(?P<first>{NAME_WORD}(?:[ ]{NAME_WORD}){{0,2}})"
)
_FEMALE_TITLES, _MALE_TITLES = re.compile(r"\b(?:Mrs|Ms|Miss)\b"), re.compile(r"\b(?:Mr|Master)\b")


def normalised_name(first: str, last: str) -> str:
    """Given names, a bar, the family name; lower case, without titles and dots."""
    return f"{_plain(first)}|{_plain(last)}"


def find_names(flow: Line, latest_year: int) -> Iterator[Marker]:
    """Every name at a patient's place, with what its title and a date right behind it tell."""
    for pattern in (_LABELLED_NAME, _PROSE_NAME, _FORM_NAME, _DATED_NAME):
        for match in pattern.finditer(flow.text):
            value = _name_value(match)
            if value is None:
                continue
            start = match.start("whole") if match["whole"] else match.start("last")
            end = match.end("first") if match["first"] else match.end("whole")
            yield owned(flow, match.start(), marker_at(flow, MarkerKind.NAME, value, start, end))
            yield from _title(flow, match)
            yield from _date_behind(flow, match.start(), end, latest_year)
    for surname, given in zip(_SURNAME.finditer(flow.text), _GIVEN.finditer(flow.text), strict=False):
        value = normalised_name(given["first"], surname["last"])
        words = flow.words_between(*surname.span("last")) + flow.words_between(*given.span("first"))
        yield Marker(MarkerKind.NAME, value, f"{given['first']} {surname['last']}", words)


def name_ends(flow: Line) -> list[int]:
    """Where the names at a patient's place end: the address behind one is that person's."""
    return [
        match.end()
        for pattern in (_LABELLED_NAME, _PROSE_NAME, _FORM_NAME, _SURNAME)
        for match in pattern.finditer(flow.text)
    ]


def _date_behind(flow: Line, start: int, end: int, latest_year: int) -> Iterator[Marker]:
    """A date right behind a name is a birth date; the day of a visit is one of this year or the last."""
    match = _DATE_BEHIND.match(flow.text, end)
    day = parse_date(" ".join(match["date"].split()), latest_year=latest_year) if match else None
    if match is not None and day is not None and day.year < latest_year - 1:
        found = marker_at(flow, MarkerKind.DATE_OF_BIRTH, day.isoformat(), *match.span("date"))
        yield owned(flow, start, found)


def _title(flow: Line, match: re.Match[str]) -> Iterator[Marker]:
    start = match.start("whole") if match["whole"] else match.start()
    end = match.start("whole") if match["whole"] else match.start("first")
    before = flow.text[match.start() : end]
    for value, titles in (("female", _FEMALE_TITLES), ("male", _MALE_TITLES)):
        if titles.search(before):
            found = marker_at(flow, MarkerKind.GENDER, value, match.start(), start + 1)
            yield owned(flow, match.start(), replace(found, is_title=True))


def _name_value(match: re.Match[str]) -> str | None:
    if match["last"]:
        return normalised_name(match["first"], match["last"])
    tokens = match["whole"].split()
    if len(tokens) < 2:
        return None
    # Particles belong to the family name: Anna van der Berg.
    cut = next((place for place, token in enumerate(tokens) if place and token.islower()), len(tokens) - 1)
    return normalised_name(" ".join(tokens[:cut]), " ".join(tokens[cut:]))


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("’", "'").replace(".", " ").split())
