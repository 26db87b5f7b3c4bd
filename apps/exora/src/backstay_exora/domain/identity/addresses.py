"""Which addresses stand on a page, and which of them is the patient's?"""

import re
from collections.abc import Iterator, Sequence

from backstay_exora.domain.identity.marker import Marker, MarkerKind, marker_at
from backstay_exora.domain.text import Line

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


def normalised_address(text: str) -> str | None:
    """An address in the form in which it is compared; None for what is none."""
    match = _ADDRESS.search(text)
    return _address_value(match) if match else None


def find_addresses(flow: Line, name_ends: Sequence[int]) -> Iterator[Marker]:
    """Every address; the patient's are those with a label and the first behind a name."""
    found = list(_ADDRESS.finditer(flow.text))
    # Of the addresses behind a name, the first is that person's.
    firsts = {next((match.start() for match in found if match.start() >= end), -1): end for end in name_ends}
    for match in found:
        before = flow.text[max(0, match.start() - 30) : match.start()]
        is_labelled = _ADDRESS_LABEL.search(before) is not None
        is_near = match.start() in firsts and match.start() - firsts[match.start()] <= _BLOCK_LETTERS
        yield marker_at(
            flow, MarkerKind.ADDRESS, _address_value(match), *match.span(), is_patients=is_labelled or is_near
        )


def _address_value(match: re.Match[str]) -> str:
    unit = (match["unit"] or match["slash"] or "").lower()
    street = " ".join(match["street"].lower().replace("’", "'").split())
    kind = match["type"].lower()
    return f"{unit}/{match['number'].lower()} {street} {_STREET_TYPES.get(kind, kind)} {match['postcode']}"
