"""Does an identifier on the page agree with the patient's record?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from backstay_exora.domain.dates import are_swapped
from backstay_exora.domain.identity.addresses import normalised_address
from backstay_exora.domain.identity.marker import Marker, MarkerKind
from backstay_exora.domain.identity.names import normalised_name

_CONFUSABLE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b", "’": "'"})


@dataclass(frozen=True, slots=True)
class Patient:
    """What the practice has on record."""

    id: str
    given_names: str
    family_name: str
    date_of_birth: date
    gender: str | None = None
    address: str | None = None
    record_number: str | None = None
    ihi: str | None = None


class Agreement(StrEnum):
    """How an identifier on the page stands to the record."""

    MATCHES = "matches"
    DIFFERS = "differs"
    SWAPPED = "day and month exchanged"
    PARTIAL = "partly there"
    """An initial instead of a given name, a year instead of a birth date: counts neither for nor against."""
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One kind of identifier: what the page says of it and how that agrees."""

    kind: MarkerKind
    agreement: Agreement
    markers: tuple[Marker, ...] = ()


def compare(patient: Patient, markers: Sequence[Marker]) -> list[Comparison]:
    """Every kind of identifier once; the worst agreement of those that stand at the patient's place counts."""
    return [
        _of_kind(patient, kind, [marker for marker in markers if marker.kind is kind]) for kind in MarkerKind
    ]


def _of_kind(patient: Patient, kind: MarkerKind, markers: list[Marker]) -> Comparison:
    judged = [(marker, _judge(patient, marker)) for marker in markers if not marker.is_relatives]
    # A sender's address that is not the patient's says nothing; the patient's own counts wherever it stands.
    relevant = [
        (marker, agreement)
        for marker, agreement in judged
        if (marker.is_patients or agreement is Agreement.MATCHES)
        and not (marker.is_title and agreement is Agreement.MATCHES)
    ]
    order = [Agreement.DIFFERS, Agreement.SWAPPED, Agreement.MATCHES, Agreement.PARTIAL, Agreement.ABSENT]
    worst = min((agreement for _, agreement in relevant), key=order.index, default=Agreement.ABSENT)
    return Comparison(kind, worst, tuple(marker for marker, agreement in relevant if agreement is worst))


def _judge(patient: Patient, marker: Marker) -> Agreement:
    match marker.kind:
        case MarkerKind.NAME:
            return compare_names(marker.value, normalised_name(patient.given_names, patient.family_name))
        case MarkerKind.DATE_OF_BIRTH:
            return _compare_births(marker.value, patient.date_of_birth)
        case MarkerKind.ADDRESS:
            recorded = normalised_address(patient.address or "")
            return _compare_values(marker.value, recorded)
        case MarkerKind.GENDER:
            return _compare_values(marker.value, patient.gender)
        case MarkerKind.RECORD_NUMBER:
            return _compare_values(marker.value, patient.record_number)
        case MarkerKind.IHI:
            return _compare_values(marker.value, patient.ihi)
        case MarkerKind.MEDICARE:
            return Agreement.ABSENT


def compare_names(read: str, recorded: str) -> Agreement:
    """Family name and given names must agree as far as both have them; letters that scanners confuse are one."""
    given, _, family = recorded.partition("|")
    read_given, read_family = _divided_like(read, family)
    if fold_name(read_family) != fold_name(family):
        return Agreement.DIFFERS
    (first_read, *others_read), (first, *others) = read_given.split(), given.split()
    if not all(_may_be_one(one, two) for one, two in zip(others_read, others, strict=False)):
        return Agreement.DIFFERS
    if fold_name(first_read) == fold_name(first):
        return Agreement.MATCHES
    return Agreement.PARTIAL if first_read == first[0] else Agreement.DIFFERS


def _may_be_one(one: str, other: str) -> bool:
    """True for the same name, and for a name and its initial."""
    return fold_name(one) == fold_name(other) or (1 in {len(one), len(other)} and one[0] == other[0])


def _divided_like(read: str, family: str) -> tuple[str, str]:
    """Given and family name as they were read; a family name of several words is known by the recorded one."""
    given, _, last = read.partition("|")
    tokens = f"{given} {last}".split()
    count = len(family.split())
    if 1 < count < len(tokens) and fold_name(" ".join(tokens[-count:])) == fold_name(family):
        return " ".join(tokens[:-count]), " ".join(tokens[-count:])
    return given, last


def _compare_births(read: str, recorded: date) -> Agreement:
    if len(read) == 4 and read.isdecimal():
        return Agreement.PARTIAL if int(read) == recorded.year else Agreement.DIFFERS
    try:
        day = date.fromisoformat(read)
    except ValueError:
        return Agreement.DIFFERS
    if day == recorded:
        return Agreement.MATCHES
    return Agreement.SWAPPED if are_swapped(day, recorded) else Agreement.DIFFERS


def _compare_values(read: str, recorded: str | None) -> Agreement:
    if not recorded:
        return Agreement.ABSENT
    return Agreement.MATCHES if _squeezed(read) == _squeezed(recorded) else Agreement.DIFFERS


def fold_name(name: str) -> str:
    """Letters only, in small letters; those that scanners confuse are one letter."""
    letters = name.lower().translate(_CONFUSABLE).replace("rn", "m").replace("vv", "w")
    return "".join(letter for letter in letters if letter.isalpha())


def _squeezed(value: str) -> str:
    return "".join(value.lower().split())
