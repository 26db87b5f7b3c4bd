"""Which of the proposed facts are stored, which need a person, which are set aside?

The model proposes; this decides. A fact is stored only where its words stand on the page, nothing around them
takes it back, and every character of its dose was read with certainty.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from backstay_exora.domain import messages
from backstay_exora.domain.clinical.context import Context, context_of, is_said_in_earnest
from backstay_exora.domain.clinical.cues import DOUBTS_ALLERGY, IS_A_PERSON
from backstay_exora.domain.clinical.plain import is_plainly_said
from backstay_exora.domain.clinical.sentences import Sentence, joined, sentence_around
from backstay_exora.domain.text import DocumentText, PageWord, bare, boxes_of, lowest_confidence

FactKind = Literal["medication", "condition", "allergy"]
SURE_DOSE = 0.70
SURE_NAME = 0.60
_NUMBER = re.compile(
    r"\d+(?:[.,]\d+)?(?:(?:/|-|–|to)\d+(?:[.,]\d+)?)*-?(?:mg|mcg|µg|ug|g|kg|ml|l|units?|iu|u|micrograms?|%|puffs?|tablets?)?"
    r"(?:/\d*(?:[.,]\d+)?(?:ml|l|h|hr|hour|day|dose))?",
    re.IGNORECASE,
)
# A figure, or letters that scanners read for figures, with a unit behind it or with nothing that says what it counts.
_LIKE_A_DOSE = re.compile(
    r"(?i)^[\s,(:–\-]*(?:(?:[\doilszb|.,/–\-]+\s+){0,2}[\doilszb|.,/–\-]*\s?(?:mgs?|mcg|µg|ug|g|ml|units?|iu|u|micrograms?)\b"
    r"|\d\S*(?!\S|\s*(?:tab|cap|puff|drop|spray|sachet|patch|inhal|time|x\b|/|-|days?|weeks?|months?|years?)))"
)
_TAKEN_BACK = (
    (Context.DENIED, messages.FACT_DENIED),
    (Context.OTHER_PERSON, messages.FACT_OTHER_PERSON),
    (Context.ENDED, messages.FACT_ENDED),
    (Context.PLANNED, messages.FACT_PLANNED),
    (Context.EARLIER_LIST, messages.FACT_EARLIER_LIST),
    (Context.IN_A_NAME, messages.FACT_IN_A_NAME),
)


@dataclass(frozen=True, slots=True)
class ProposedFact:
    """A fact as the model gave it; `quote` is where it says to have read it."""

    kind: FactKind
    name: str
    quote: str
    page: int | None = None
    dose: str = ""
    route: str = ""
    frequency: str = ""
    reaction: str = ""
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact of this patient, in the page's own words, with the boxes it was read from."""

    kind: FactKind
    name: str
    dose: str
    route: str
    frequency: str
    reaction: str
    page: int
    boxes: tuple[dict[str, object], ...]
    confidence: float
    quote: str


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A fact that a person must look at before it counts."""

    fact: ProposedFact
    reason: str
    boxes: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A proposal that is not this patient's active fact."""

    fact: ProposedFact
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """What becomes of the proposals."""

    stored: tuple[StoredFact, ...]
    to_review: tuple[ReviewItem, ...]
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a proposed fact stands, and what the letter makes of it there."""

    quote: tuple[PageWord, ...]
    name: tuple[PageWord, ...]
    sentence: Sentence
    context: frozenset[Context]


def accept(proposals: Iterable[ProposedFact], document: DocumentText) -> Accepted:
    """Decide on each proposal; the same fact at the same place is stored once."""
    facts = list(proposals)
    known = frozenset(word for fact in facts for word in _words_of(fact, document))
    stored: dict[tuple[str, ...], StoredFact] = {}
    to_review: list[ReviewItem] = []
    set_aside: list[SetAside] = []
    for fact in facts:
        match _decide(fact, document, known):
            case StoredFact() as kept:
                key = (kept.kind, bare(kept.name), re.sub(r"\s", "", kept.dose.lower()))
                stored.setdefault(key, kept)
            case ReviewItem() as item:
                to_review.append(item)
            case SetAside() as aside:
                set_aside.append(aside)
    return Accepted(_most_exact(stored.values()), tuple(to_review), tuple(set_aside))


def _words_of(fact: ProposedFact, document: DocumentText) -> Iterator[PageWord]:
    """The words of a fact's name and dose, wherever it stands."""
    for place in _places(fact, document):
        yield from place.name
        yield from _dose_words(fact.dose, place.quote, place.name)


def _most_exact(facts: Iterable[StoredFact]) -> tuple[StoredFact, ...]:
    """The facts without conditions that another one says more exactly: diabetes beside type 2 diabetes."""
    found = tuple(facts)
    names = [f" {bare(fact.name)} " for fact in found if fact.kind == "condition"]
    return tuple(
        fact
        for fact in found
        if fact.kind != "condition"
        or not any(f" {bare(fact.name)} " in name and f" {bare(fact.name)} " != name for name in names)
    )


def _decide(
    fact: ProposedFact, document: DocumentText, known: Set[PageWord]
) -> StoredFact | ReviewItem | SetAside:
    if IS_A_PERSON.fullmatch(fact.name):
        return SetAside(fact, messages.FACT_OTHER_PERSON)
    places = _places(fact, document)
    if not places:
        return SetAside(fact, messages.FACT_NOT_FOUND)
    standing = [place for place in places if _taken_back(fact, place.context) is None]
    if not standing:
        return SetAside(fact, _taken_back(fact, places[0].context) or messages.FACT_NOT_ACTIVE)
    if not fact.is_active:
        return SetAside(fact, messages.FACT_NOT_ACTIVE)
    # A fact that one place says in doubt and another plainly is said plainly.
    decisions = [_decide_place(fact, place, document, known) for place in standing]
    return next((found for found in decisions if isinstance(found, StoredFact)), decisions[0])


def _decide_place(
    fact: ProposedFact, place: _Place, document: DocumentText, known: Set[PageWord]
) -> StoredFact | ReviewItem:
    fact = replace(fact, kind="allergy") if Context.ALLERGY in place.context else fact
    kind, name = fact.kind, place.name
    dose = _dose_words(fact.dose, place.quote, name) if kind == "medication" else ()
    doubt = _doubt(fact, document, place, dose, known)
    if doubt is not None:
        return ReviewItem(fact, doubt, tuple(boxes_of(place.quote)))
    return StoredFact(
        kind=kind,
        name=_as_read(fact.name, name),
        dose=_dose_text(joined(dose)),
        route=fact.route if kind == "medication" else "",
        frequency=fact.frequency if kind == "medication" else "",
        reaction=fact.reaction if kind == "allergy" else "",
        page=name[0].page,
        boxes=tuple(boxes_of([*name, *(word for word in dose if word not in name)])),
        confidence=round(lowest_confidence([*name, *dose]), 3),
        quote=joined(place.quote),
    )


def _taken_back(fact: ProposedFact, context: frozenset[Context]) -> str | None:
    """Why this is no fact of the patient's; an allergy is lost only where the allergy itself is taken back."""
    if fact.kind == "allergy" or Context.ALLERGY in context:
        if Context.NO_ALLERGY in context:
            return messages.FACT_DENIED
        return messages.FACT_OTHER_PERSON if Context.OTHER_PERSON in context else None
    return next((reason for kind, reason in _TAKEN_BACK if kind in context), None)


def _doubt(
    fact: ProposedFact,
    document: DocumentText,
    place: _Place,
    dose: Sequence[PageWord],
    known: Set[PageWord],
) -> str | None:
    """Why a person must look at the fact before it counts; None for no reason."""
    is_medication = fact.kind == "medication"
    if is_medication and fact.dose and _squeezed(fact.dose) != _squeezed(joined(dose)):
        return messages.FACT_DOSE_DIFFERS
    if not _is_sure(place.name, dose) or (
        is_medication and not dose and _has_unread_dose(document, place.name)
    ):
        return messages.FACT_UNSURE
    if Context.UNCLEAR in place.context or not _is_clear(fact, place, known):
        return messages.FACT_UNCLEAR
    if not _details_stand(fact, place, dose, known):
        return messages.FACT_DETAIL_DIFFERS
    if fact.kind != "allergy" and _is_contradicted(fact, document):
        return messages.FACT_CONTRADICTED
    return None


def _is_clear(fact: ProposedFact, place: _Place, known: Set[PageWord]) -> bool:
    """True if the letter says of a fact, in the way that its kind asks for, that it is so."""
    match fact.kind:
        case "medication":
            return is_said_in_earnest(place.sentence, known)
        case "condition":
            return is_plainly_said(place.sentence, known)
        case "allergy":
            is_doubted = DOUBTS_ALLERGY.search(f"{place.sentence.before} {place.sentence.after}")
            return is_doubted is None and place.context.isdisjoint({Context.ENDED, Context.PLANNED})


def _details_stand(fact: ProposedFact, place: _Place, dose: Sequence[PageWord], known: Set[PageWord]) -> bool:
    """True if frequency, route and reaction stand where the letter speaks of the fact, in the words that were given."""
    sentence = place.sentence
    if fact.kind == "allergy":
        return _stands(fact.reaction, [*sentence.lead, *sentence.words, *sentence.tail])
    if fact.kind == "condition":
        return True
    own = {*place.name, *dose}
    # What stands behind the next medicine is said of that one.
    directions = list(takewhile(lambda word: word in own or word not in known, sentence.tail))
    return all(_stands(detail, directions) for detail in (fact.frequency, fact.route))


def _stands(text: str, words: Sequence[PageWord]) -> bool:
    """True if the text stands among the words, letter by letter; an empty one always does."""
    wanted = [spelled for part in text.split() if (spelled := _letters(part))]
    found = [spelled for word in words if (spelled := _letters(word.text))]
    return any(found[start : start + len(wanted)] == wanted for start in range(len(found) - len(wanted) + 1))


def _letters(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


def _is_contradicted(fact: ProposedFact, document: DocumentText) -> bool:
    """True if the letter says elsewhere that this patient does not have it, or no longer."""
    for words in document.find(fact.name):
        context = context_of(document, sentence_around(document, words))
        if context & {Context.DENIED, Context.ENDED} and not context & {
            Context.OTHER_PERSON,
            Context.PLANNED,
            Context.ALLERGY,
        }:
            return True
    return False


def _has_unread_dose(document: DocumentText, name: Sequence[PageWord]) -> bool:
    """True if something like a dose stands behind a name for which no dose was given."""
    line = next(line for line in document.lines if name[-1] in line.words)
    rest = " ".join(word.text for word in line.words[line.words.index(name[-1]) + 1 :])
    return _LIKE_A_DOSE.match(rest) is not None


def _places(fact: ProposedFact, document: DocumentText) -> list[_Place]:
    """Where the quote stands, and the name in it; none if either is not on the page."""
    found = document.find(fact.quote, page=fact.page) or document.find(fact.quote)
    places = []
    for quote in found:
        if name := _within(quote, fact.name):
            sentence = sentence_around(document, name)
            places.append(_Place(quote, name, sentence, context_of(document, sentence)))
    return places


def _within(words: Sequence[PageWord], text: str) -> tuple[PageWord, ...]:
    wanted = [bare(part) for part in text.split() if bare(part)]
    texts = [bare(word.text) for word in words]
    for start in range(len(words) - len(wanted) + 1):
        if wanted and texts[start : start + len(wanted)] == wanted:
            return tuple(words[start : start + len(wanted)])
    return ()


def _dose_words(dose: str, quote: Sequence[PageWord], name: Sequence[PageWord]) -> tuple[PageWord, ...]:
    """The words of the quote that spell the dose, nearest behind the name first."""
    wanted = _squeezed(dose)
    if not wanted:
        return ()
    behind = next(index for index, word in enumerate(quote) if word is name[-1]) + 1
    starts = [*range(behind, len(quote)), *range(behind)]
    for start in starts:
        spelled = ""
        for end in range(start, min(len(quote), start + 6)):
            spelled += _squeezed(quote[end].text)
            if spelled == wanted:
                return tuple(quote[start : end + 1])
    return ()


def _is_sure(name: Sequence[PageWord], dose: Sequence[PageWord]) -> bool:
    if lowest_confidence(name) < SURE_NAME:
        return False
    if not dose:
        return True
    spelled = _squeezed(" ".join(word.text for word in dose))
    return lowest_confidence(dose) >= SURE_DOSE and _NUMBER.fullmatch(spelled) is not None


def _as_read(proposed: str, words: Sequence[PageWord]) -> str:
    read = _trimmed(" ".join(word.text for word in words))
    return read if read else proposed


def _trimmed(text: str) -> str:
    return text.strip(" .,;:()[]•*·-–—")


def _dose_text(text: str) -> str:
    """The dose without the signs around it; a point before a figure is part of it, and never stripped."""
    return text.lstrip(" ([").rstrip(" .,;:)]")


def _squeezed(text: str) -> str:
    return re.sub(r"\s", "", _dose_text(text.lower()))
