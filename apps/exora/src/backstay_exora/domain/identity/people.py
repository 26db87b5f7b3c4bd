"""Who else is named on the pages? Asked where no label says whose identifiers these are.

Two nets, both made to catch too much: a person looks at what they hold.
A registered patient is known by the whole name, or by the birth date together with a part of the name.
Anybody else is known by an attribute of a person right beside a name: a birth date, a sex, an age.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from backstay_exora.domain.dates import DATE_PATTERN, parse_date
from backstay_exora.domain.identity.births import BORN
from backstay_exora.domain.identity.compare import Patient, fold_name
from backstay_exora.domain.identity.names import NAME_WORD, PARTICLES
from backstay_exora.domain.text import DocumentText

_NAME_REACH = 3
"""How many words a given name may stand away from its family name."""
_OLDEST_VISIT, _OLDEST_LETTER = 1, 10
"""Years back to which a date beside a name may be that of a visit, and one on the line below that of the letter."""
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "mx", "master", "baby", "child", "name", "re"})
_SEX = r"(?:(?i:male|female|man|woman|boy|girl)\b|[MF]\b(?!['’.]))"
_AGE = r"(?i:aged?[ ]*:?[ ]*\d{1,3}\b|\d{1,3}[ -]?(?:(?:years?|yrs?|months?|weeks?)[ -]old|y/?o)\b)"
_DATE = rf"(?i:{DATE_PATTERN})"
_PERSON = re.compile(
    rf"(?P<name>{NAME_WORD}(?:,?[ ]{PARTICLES}{NAME_WORD}){{1,4}})"
    rf"(?P<gap>[\s,;:(\[|/\-–]{{1,4}})(?:(?i:{BORN})[\s:.=\-–]*)?"
    rf"(?:{_SEX}[\s,;)\]|/\-–]{{0,4}}(?P<behind>{_DATE})?|(?P<date>{_DATE})|{_AGE})"
)
_LABELLED = re.compile(
    r"(?m)^[ ]*(?:(?i:re|regarding|child|baby|infant|name[ ]?/[ ]?dob|resident|inpatient)[ ]*[:.\-–]?"
    r"|(?i:client|pt)[:.])[ ]+(?:(?:Mr|Mrs|Ms|Miss|Mx|Master|Baby)\.?[ ]+)?"
    rf"(?P<name>{NAME_WORD}(?:,?[ ]{PARTICLES}{NAME_WORD}){{1,3}})"
)
_LONE_BIRTH = re.compile(
    rf"(?P<before>{_SEX}[ ,;)\]|/\-–]{{1,4}})?\b(?P<date>{_DATE})(?P<behind>[\s,;([|/\-–]{{1,4}}{_SEX})?"
)
_TREATS = re.compile(
    r"(?:\b(?:Dr|Prof|Professor|Doctor|Sister|Nurse)\.?|\b(?i:signed|reported|dictated) by:?)\s+$"
)
"""Before the name of somebody who treats, and is not treated."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_PERSON = _words(
    """
    hospital clinic centre center medical health service services practice ward unit department pathology radiology
    imaging laboratory pharmacy street road avenue drive court place lane university institute college surgery rooms
    report scan x-ray xray ct mri ultrasound ecg echo echocardiogram colonoscopy gastroscopy biopsy replacement repair
    consultant physician surgeon specialist registrar director cardiologist neurologist procedure operation vaccine
    vaccination immunisation influenza tetanus covid covid-19 hepatitis pneumococcal measles comirnaty pfizer spikevax
    vaxzevria boostrix prevenar shingrix appointment review letter referral admission discharge summary date dated
    printed collected reported received issued specimen result results test tests monday tuesday wednesday thursday
    friday saturday sunday total partial left right type stage grade
    """
)
"""What stands before a date, begins with a capital letter, and is nobody's name."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name with an attribute of a person beside it, or a birth date beside a sex and no name at all."""

    names: frozenset[str]
    """The words of the name, folded; empty for a birth date that stands alone."""
    born: date | None = None


def has_second_person(document: DocumentText, patient: Patient, *, latest_year: int) -> bool:
    """True if somebody who is not the patient is named with a birth date, a sex or an age, or at a patient's place."""
    return any(not _is_the_patient(mention, patient) for mention in _mentions(document, latest_year))


def other_patients_named(
    document: DocumentText, patient: Patient, others: Sequence[Patient], *, latest_year: int
) -> list[str]:
    """The ids of the other patients whose name stands on a page, or whose birth date and a part of the name do."""
    words = _Words.of(document, latest_year)
    return [
        other.id
        for other in others
        if other.id != patient.id
        and (words.name(other, besides=patient) or words.date(other, besides=patient))
    ]


def _mentions(document: DocumentText, latest_year: int) -> Iterator[Mention]:
    for page in document.pages:
        text = document.flow(page).text
        for match in _PERSON.finditer(text):
            if _is_a_person(match, text):
                years = _OLDEST_LETTER if match["date"] and "\n" in match["gap"] else _OLDEST_VISIT
                born = _birth(match["date"] or match["behind"], latest_year - years)
                if match["date"] is None or born is not None:
                    yield Mention(_folded_words(match["name"]), born)
        for match in _LABELLED.finditer(text):
            if _is_a_person(match, text):
                yield Mention(_folded_words(match["name"]))
        for match in _LONE_BIRTH.finditer(text):
            born = _birth(match["date"], latest_year - _OLDEST_VISIT)
            if born is not None and (match["before"] or match["behind"]):
                yield Mention(frozenset(), born)


def _is_a_person(match: re.Match[str], text: str) -> bool:
    words = {word.strip(",.").lower() for word in match["name"].split()}
    before = text[max(0, match.start("name") - 30) : match.start("name")]
    return _NO_PERSON.isdisjoint(words) and not _TREATS.search(before)


def _is_the_patient(mention: Mention, patient: Patient) -> bool:
    if mention.born is not None and mention.born != patient.date_of_birth:
        return False
    given, family = _folded_words(patient.given_names), _folded_words(patient.family_name)
    initials = {name[:1] for name in given}
    strange = mention.names - given - family - initials
    is_named = family <= mention.names and bool(mention.names & (given | initials))
    return not strange or is_named


def _birth(written: str | None, before: int) -> date | None:
    """The day, if it is too long ago for the day of a visit or a letter."""
    day = parse_date(" ".join(written.split()), latest_year=before + _OLDEST_LETTER) if written else None
    return day if day is not None and day.year < before else None


def _folded_words(name: str) -> frozenset[str]:
    words = [word for word in re.split(r"[\s,]+", name) if word.lower().strip(".") not in _TITLES]
    return frozenset(folded for word in words if (folded := fold_name(word)))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of all pages, ready to be searched for every patient of a practice."""

    folded: tuple[str, ...]
    places: dict[str, list[int]]
    treating: frozenset[int]
    """Where the name of somebody who treats begins."""
    dates: frozenset[date]

    @classmethod
    def of(cls, document: DocumentText, latest_year: int) -> "_Words":
        folded = tuple(fold_name(word.text) if word.text[:1].isupper() else "" for word in document.words)
        places: dict[str, list[int]] = {}
        for place, word in enumerate(folded):
            places.setdefault(word, []).append(place)
        treating = frozenset(
            place + 1 for place, word in enumerate(document.words) if _TREATS.search(f"{word.text} ")
        )
        written = re.finditer(_DATE, document.text)
        dates = {day for match in written if (day := _birth(match[0], latest_year - _OLDEST_VISIT))}
        return cls(folded, places, treating, frozenset(dates))

    def name(self, other: Patient, *, besides: Patient) -> bool:
        """True if the other's given and family name stand together, and are not the patient's own."""
        given, *_ = other.given_names.split()
        own = _folded_words(f"{besides.given_names} {besides.family_name}")
        if _folded_words(f"{given} {other.family_name}") <= own:
            return False
        return any(
            min(first, last) not in self.treating
            for last, size in self._families(other.family_name)
            for first in self.places.get(fold_name(given), [])
            if last - _NAME_REACH <= first < last + size + _NAME_REACH
        )

    def _families(self, name: str) -> Iterator[tuple[int, int]]:
        """Where a family name begins, also one of several words, and of how many words it is."""
        words = [fold_name(word) for word in name.split()]
        for end in self.places.get(words[-1], []):
            start = end - len(words) + 1
            # Particles are written in small letters, and were not folded.
            if start >= 0 and all(
                found in {"", word} for found, word in zip(self.folded[start:end], words, strict=False)
            ):
                yield start, len(words)

    def date(self, other: Patient, *, besides: Patient) -> bool:
        """True if the other's birth date stands on a page, and a part of the name as well."""
        if other.date_of_birth == besides.date_of_birth or other.date_of_birth not in self.dates:
            return False
        names = _folded_words(f"{other.given_names} {other.family_name}")
        return any(name in self.places for name in names)
