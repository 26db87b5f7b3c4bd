"""Which identifiers stand on the pages, where, and do they belong to the patient's place on the letter?"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from backstay_exora.domain.dates import DATE_PATTERN, parse_date
from backstay_exora.domain.identity.numbers import is_ihi, is_medicare
from backstay_exora.domain.text import DocumentText, Line, PageWord


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


_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Mx|Master|Dr|Prof|Baby)\.?[ ]+)?"
_NO_NAME = (
    "DOB|D\\.O\\.B|Date|Born|Birth|MRN|UR|URN|Sex|Gender|Address|Medicare|IHI|Age|Aged|Ph|Phone|Tel|Male|Female|"
    "Record|Patient|Thank|Dear|The|Your|Our|Of|Hospital|File|Chart|Clinic|Date|Unit|Mob|Mobile|Email|Re|No"
)
_TOKEN = (
    rf"(?!(?:{_NO_NAME})\b)(?:[A-Z]['’])?[A-Z][A-Za-z0158|'’\-]*\.?"  # digits that scanners read for letters
)
_PARTICLE = r"(?:(?:van|von|de|der|den|da|di|la|le|del|bin|al)[ ]+)*"
_NAME = (
    rf"(?:(?P<last>{_PARTICLE}{_TOKEN}(?:[ ]{_TOKEN})?),[ ]*{_TITLE}(?P<first>{_TOKEN}(?:[ ]{_TOKEN}){{0,2}})"
    rf"|(?P<whole>{_TOKEN}(?:[ ]{_PARTICLE}{_TOKEN}){{1,3}}))"
)
_NAME_LABEL = (
    r"(?:\b(?:re|regarding|concerning|patient(?:['’]s)?(?:[ ]+(?:full[ ]+)?name)?|full[ ]+name"
    r"|name(?:[ ]+of[ ]+patient)?|pt|client|report[ ]+on|for)\b)"
)
_LABELLED_NAME = re.compile(rf"(?i:{_NAME_LABEL})[ ]*[:.\-–][ ]*\n?[ ]*{_TITLE}{_NAME}")
_FORM_BORN = (
    r"(?:\bd[.,]?[ ]?[o0][.,]?[ ]?b\b[.,]?|\bdate[ ]+of[ ]+birth|\bbirth[ ]*(?:date|day)|\by\.?o\.?b\b"
    r"|\byear[ ]+of[ ]+birth|\bgeb\.)(?:[ ]*/[ ]*age)?(?:[ ]*\([^)\n]{1,14}\))?"
)
_BORN = rf"(?:{_FORM_BORN}|\bborn(?:[ ]+on)?(?:[ ]+the)?|\bb\.(?=[ ]?\d))"
_WRAPPED_NAME = _NAME.replace("[ ]", "[ \\n]")
_TITLED = r"(?:Mr|Mrs|Ms|Miss|Mx|Master|Baby)\.?\s+"
_PROSE_NAME = re.compile(
    rf"(?:{_TITLED}|\b(?i:re|regarding|concerning|about|for)\s+)(?:{_TITLED})?{_WRAPPED_NAME}[\s,(]{{1,3}}(?i:{_BORN})"
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
    rf"(?i:\b(?:surname|family[ ]+name|last[ ]+name)\b)[ ]*[:.]?[ ]*(?P<last>{_PARTICLE}{_TOKEN})"
)
_GIVEN = re.compile(
    r"(?i:\b(?:given[ ]+names?(?:\(s\))?|first[ ]+names?|forenames?)(?:\(s\))?)[ ]*[:.]?[ ]*"
    rf"(?P<first>{_TOKEN}(?:[ ]{_TOKEN}){{0,2}})"
)
_BIRTH = re.compile(rf"(?i){_BORN}\s*[:.\-–=*]*\s*(?P<date>{DATE_PATTERN}|\d{{8}}\b)")
_BIRTH_YEAR = re.compile(
    rf"(?i)(?:{_BORN}|\bborn)(?:[ ]+in)?\s*[:.\-–=]*\s*(?P<date>(?:19|20)\d\d)\b(?![-/.|])"
)
_BIRTH_UNREAD = re.compile(
    rf"(?i){_FORM_BORN}[ ]*[:.\-–=*]*\s*(?P<date>(?=\S*\d)[\doil|]\S*(?:[ ]\S*\d\S*){{0,2}})"
)
"""What stands at the place of a birth date and cannot be read as one."""
_OWNER = re.compile(
    r"(?i)\b(?:(?:grand|step)?(?:mother|father|parent)s?|mum|dad|brother|sister|son|daughter|wife|husband|spouse|partner"
    r"|guardian|carer|next[ ]+of[ ]+kin|nok|emergency[ ]+contact|aunt|uncle|cousin|twin|sibling)\b[^.;!?]{0,45}$"
)
_NEW_SENTENCE = re.compile(r"[.;!?]\s|(?<![a-z,])\n")
_FEMALE_TITLES, _MALE_TITLES = re.compile(r"\b(?:Mrs|Ms|Miss)\b"), re.compile(r"\b(?:Mr|Master)\b")
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
_STREET_TYPES = {
    "street": "st",
    "road": "rd",
    "avenue": "ave",
    "av": "ave",
    "drive": "dr",
    "court": "ct",
    "place": "pl",
    "lane": "ln",
    "crescent": "cres",
    "parade": "pde",
    "terrace": "tce",
    "highway": "hwy",
    "close": "cl",
    "boulevard": "bvd",
    "blvd": "bvd",
    "grove": "gr",
    "circuit": "cct",
    "esplanade": "esp",
}
_TYPES = "|".join(
    sorted(
        {*_STREET_TYPES, *_STREET_TYPES.values(), "way", "rise", "walk", "square", "sq"},
        key=len,
        reverse=True,
    )
)
_ADDRESS = re.compile(
    r"(?:(?:(?i:unit|flat|apt|apartment)\s*(?P<unit>\d+[A-Za-z]?)\s*,?\s*)|(?P<slash>\d+[A-Za-z]?)\s?/\s?)?"
    r"(?P<number>\d+[A-Za-z]?)\s+(?P<street>(?:[A-Z][A-Za-z'’\-]+\s+){1,3}?)"
    rf"(?P<type>(?i:{_TYPES}))\b\.?,?\s+(?P<suburb>(?:[A-Z][A-Za-z'’\-]+\s*){{1,3}}?),?\s*"
    r"(?:(?P<state>VIC|NSW|QLD|SA|WA|TAS|NT|ACT|Vic|Qld|Tas)\.?,?\s*)?(?P<postcode>\d{4})\b"
)
_ADDRESS_LABEL = re.compile(
    r"(?i)(?:\baddress\b|\blives\s+at\b|\bresid(?:es|ing|ent)\s+(?:at|of)\b|\bhome\b|\bof\b)\s*[:.]?\s*$"
)
_BLOCK_LETTERS = 220


def find_markers(document: DocumentText, *, latest_year: int) -> list[Marker]:
    """Every identifier on the pages, in reading order by kind."""
    found: list[Marker] = []
    for page in document.pages:
        flow = _flow(document, page)
        found.extend(_names(flow, latest_year))
        found.extend(_births(flow, latest_year))
        found.extend(_simple(flow, _GENDER, MarkerKind.GENDER, "sex", _gender))
        found.extend(_simple(flow, _AGED, MarkerKind.GENDER, "sex", _gender))
        found.extend(_simple(flow, _RECORD, MarkerKind.RECORD_NUMBER, "number", _compact))
        found.extend(_simple(flow, _IHI, MarkerKind.IHI, "number", _checked(is_ihi)))
        found.extend(_simple(flow, _MEDICARE, MarkerKind.MEDICARE, "number", _checked(is_medicare)))
        found.extend(_addresses(flow))
    return list({(marker.kind, marker.value, marker.words): marker for marker in found}.values())


def normalised_name(first: str, last: str) -> str:
    """Given names, a bar, the family name; lower case, without titles and dots."""
    return f"{_plain(first)}|{_plain(last)}"


def normalised_address(text: str) -> str | None:
    """An address in the form in which it is compared; None for what is none."""
    match = _ADDRESS.search(text)
    return _address_value(match) if match else None


def _flow(document: DocumentText, page: int) -> Line:
    """A whole page as one long line; its line ends stand as line breaks in the text."""
    words, starts, pieces, at = [], [], [], 0
    for line in document.lines:
        if line.page != page:
            continue
        for position, word in enumerate(line.words):
            words.append(word)
            starts.append(at)
            is_last = position == len(line.words) - 1
            pieces.append(word.text + ("\n" if is_last else " "))
            at += len(word.text) + 1
    return Line(page, tuple(words), "".join(pieces), tuple(starts))


def _names(flow: Line, latest_year: int) -> Iterator[Marker]:
    for pattern in (_LABELLED_NAME, _PROSE_NAME, _FORM_NAME, _DATED_NAME):
        for match in pattern.finditer(flow.text):
            value = _name_value(match)
            if value is None:
                continue
            start = match.start("whole") if match["whole"] else match.start("last")
            end = match.end("first") if match["first"] else match.end("whole")
            yield _owned(flow, match.start(), _marker(flow, MarkerKind.NAME, value, start, end))
            yield from _title(flow, match)
            yield from _date_behind(flow, match.start(), end, latest_year)
    for surname, given in zip(_SURNAME.finditer(flow.text), _GIVEN.finditer(flow.text), strict=False):
        value = normalised_name(given["first"], surname["last"])
        words = flow.words_between(*surname.span("last")) + flow.words_between(*given.span("first"))
        yield Marker(MarkerKind.NAME, value, f"{given['first']} {surname['last']}", words)


def _date_behind(flow: Line, start: int, end: int, latest_year: int) -> Iterator[Marker]:
    """A date right behind a name is a birth date; the day of a visit is one of this year or the last."""
    match = _DATE_BEHIND.match(flow.text, end)
    day = parse_date(" ".join(match["date"].split()), latest_year=latest_year) if match else None
    if match is not None and day is not None and day.year < latest_year - 1:
        found = _marker(flow, MarkerKind.DATE_OF_BIRTH, day.isoformat(), *match.span("date"))
        yield _owned(flow, start, found)


def _title(flow: Line, match: re.Match[str]) -> Iterator[Marker]:
    start = match.start("whole") if match["whole"] else match.start()
    end = match.start("whole") if match["whole"] else match.start("first")
    before = flow.text[match.start() : end]
    for value, titles in (("female", _FEMALE_TITLES), ("male", _MALE_TITLES)):
        if titles.search(before):
            found = _marker(flow, MarkerKind.GENDER, value, match.start(), start + 1)
            yield _owned(flow, match.start(), replace(found, is_title=True))


def _owned(flow: Line, start: int, marker: Marker) -> Marker:
    """The marker, with a note if the words before it give it to a relative."""
    before = _NEW_SENTENCE.split(flow.text[max(0, start - 60) : start])[-1]
    return replace(marker, is_relatives=True) if _OWNER.search(before) else marker


def _name_value(match: re.Match[str]) -> str | None:
    if match["last"]:
        return normalised_name(match["first"], match["last"])
    tokens = match["whole"].split()
    if len(tokens) < 2:
        return None
    # Particles belong to the family name: Anna van der Berg.
    cut = next((place for place, token in enumerate(tokens) if place and token.islower()), len(tokens) - 1)
    return normalised_name(" ".join(tokens[:cut]), " ".join(tokens[cut:]))


def _births(flow: Line, latest_year: int) -> Iterator[Marker]:
    taken: list[int] = []
    for pattern in (_BIRTH, _BIRTH_YEAR, _BIRTH_UNREAD):
        for match in pattern.finditer(flow.text):
            if match.start() in taken:
                continue
            taken.append(match.start())
            day = parse_date(" ".join(match["date"].split()), latest_year=latest_year)
            # A date that cannot be is kept as it was read: it is present, and it differs.
            value = day.isoformat() if day else " ".join(match["date"].split())
            found = _marker(flow, MarkerKind.DATE_OF_BIRTH, value, *match.span("date"))
            yield _owned(flow, match.start(), found)


def _simple(
    flow: Line, pattern: re.Pattern[str], kind: MarkerKind, group: str, read: Callable[[str], str | None]
) -> Iterator[Marker]:
    for match in pattern.finditer(flow.text):
        value = read(match[group])
        if value is not None:
            yield _marker(flow, kind, value, *match.span(group))


def _addresses(flow: Line) -> Iterator[Marker]:
    blocks = [
        match.end()
        for pattern in (_LABELLED_NAME, _PROSE_NAME, _FORM_NAME, _SURNAME)
        for match in pattern.finditer(flow.text)
    ]
    found = list(_ADDRESS.finditer(flow.text))
    # Of the addresses behind a name, the first is that person's.
    firsts = {next((match.start() for match in found if match.start() >= end), -1): end for end in blocks}
    for match in found:
        before = flow.text[max(0, match.start() - 30) : match.start()]
        is_labelled = _ADDRESS_LABEL.search(before) is not None
        is_near = match.start() in firsts and match.start() - firsts[match.start()] <= _BLOCK_LETTERS
        yield _marker(
            flow, MarkerKind.ADDRESS, _address_value(match), *match.span(), is_patients=is_labelled or is_near
        )


def _address_value(match: re.Match[str]) -> str:
    unit = (match["unit"] or match["slash"] or "").lower()
    street = " ".join(match["street"].lower().replace("’", "'").split())
    kind = match["type"].lower()
    return f"{unit}/{match['number'].lower()} {street} {_STREET_TYPES.get(kind, kind)} {match['postcode']}"


def _marker(
    flow: Line, kind: MarkerKind, value: str, start: int, end: int, *, is_patients: bool = True
) -> Marker:
    text = " ".join(flow.text[start:end].split())
    return Marker(kind, value, text, flow.words_between(start, end), is_patients)


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


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("’", "'").replace(".", " ").split())
