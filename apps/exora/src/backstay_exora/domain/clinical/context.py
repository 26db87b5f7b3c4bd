"""What does the document say around a few words: denied, of somebody else, ended, planned, an allergy?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from backstay_exora.domain.clinical import cues
from backstay_exora.domain.clinical.cues import Context
from backstay_exora.domain.text import DocumentText, Line, PageWord

__all__ = ["Context", "context_of", "is_said_in_earnest"]

_HEADING = re.compile(r"^[\W\d]*(?P<head>[A-Z][A-Za-z/&'’ \-]{2,48}?)\s*(?::|$)")
_HEADS = re.compile(
    r"(?i)\b(?:history|medications?|medicines|meds|drugs?|allerg\w*|adverse|diagnos\w*|problems?|conditions?"
    r"|assessment|plan"
    r"|examination|impression|summary|investigations?|results?|social|progress|management|recommendations?"
    r"|alerts?|treatment|therapy|comorbidit\w*|issues|ceased|stopped|discontinued|findings|family|follow[- ]?up"
    r"|discussion|background|immuni\w+|observations?|procedures?|appointments?|contacts?|lifestyle|given|administered)\b"
)
_SENTENCE_END = re.compile(r"[.!?]$")
_ABBREVIATION = re.compile(r"(?i)^(?:dr|mr|mrs|ms|prof|st|approx|i\.?e|e\.?g|vs|no|[a-z])\.$")
_UNIT = re.compile(r"(?i)^(?:mg|mcg|ml|g|hrs?|tabs?|caps?|b\.?d|t\.?d\.?s|q\.?i\.?d|p\.?r\.?n|o\.?d)\.$")
_FULL_LINE = 0.72
_GAP = 2.4
_COLUMN_GAP = 2.0
_LOOKED_BACK = 3
_MEDICINES = re.compile(r"(?i)\b(?:medi\w+|meds|drugs?|treatment|therapy)\b")


@dataclass(frozen=True, slots=True)
class _Around:
    """The sentence around a few words, the one before it, and the heading they stand under."""

    whole_before: str
    before: str
    after: str
    earlier: tuple[str, ...]
    head: str
    words: tuple[PageWord, ...]


def context_of(document: DocumentText, words: Sequence[PageWord]) -> frozenset[Context]:
    """Everything that the sentence and the section around the words make of them."""
    around = _around(document, words)
    found = {kind for kind, cue in cues.BEFORE.items() if cue.search(around.before)}
    found |= {kind for kind, cue in cues.AFTER.items() if cue.search(around.after)}
    found |= {kind for kind, cue in cues.HEADS.items() if cue.search(around.head)}
    if not re.search(r"[,.;]$", words[-1].text) and cues.ANSWERED_NO.search(around.after):
        found |= {Context.DENIED, Context.NO_ALLERGY}
    if cues.NOT_ALLERGIC.search(around.before):
        found.add(Context.NO_ALLERGY)
    if words[0].text.startswith("?") or words[-1].text.rstrip(".,;)").endswith("?"):
        found.add(Context.PLANNED)
    if cues.ADMISSION.search(around.head) and _has_discharge_list(document):
        found.add(Context.EARLIER_LIST)
    if cues.NAMED.search(around.after):
        found.add(Context.IN_A_NAME)
    if _is_perhaps_a_relatives(around):
        found.add(Context.UNCLEAR)
    return frozenset(found)


def is_said_in_earnest(document: DocumentText, words: Sequence[PageWord]) -> bool:
    """True if the letter says of a medicine that it is taken; a line of a list says so by standing in it."""
    around = _around(document, words)
    lead = around.whole_before.rpartition(";")[2].strip(" •*·-–—.):(0123456789")
    if cues.REACTED.search(around.before) or cues.REACTS.search(around.after):
        return False
    if cues.ONCE.search(around.after) or cues.GIVEN_HEAD.search(around.head):
        return False
    is_stated = cues.STATED.search(around.after) is not None
    if lead:
        return is_stated or cues.IN_EARNEST.search(lead) is not None
    if cues.OPEN_HEAD.search(around.head):
        return is_stated
    return is_stated or cues.VERB.search(around.after) is None


def _around(document: DocumentText, words: Sequence[PageWord]) -> _Around:
    lines = [line for line in document.lines if line.page == words[0].page]
    flat = [(line, word) for line in lines for word in line.words]
    places = [index for index, (_, word) in enumerate(flat) if word is words[0] or word is words[-1]]
    head = _section(lines, words[0])
    if not places:
        return _Around("", "", "", (), head, tuple(words))
    right_edge = max(word.box[2] for _, word in flat)
    start, end = places[0], places[-1]
    first, last = _first(flat, start, right_edge), end
    while last < len(flat) - 1 and not _ends(flat, last, right_edge):
        last += 1
    before = " ".join(word.text for _, word in flat[first:start])
    after = " ".join(word.text for _, word in flat[end + 1 : last + 1])
    told = cues.ANSWERED.split(cues.COMPANY.sub(" ", cues.ENDED_OTHER.sub("", before)))[-1]
    clause = cues.BREAKS.split(told)[-1]
    behind = cues.BREAKS.split(cues.BUT_ENDED.sub(" no longer ", after))[0]
    return _Around(before, clause, behind, _earlier(flat, first, right_edge), head, tuple(words))


def _first(flat: Sequence[tuple[Line, PageWord]], place: int, right_edge: float) -> int:
    """Where the sentence begins that the word at this place belongs to."""
    while place > 0 and not _ends(flat, place - 1, right_edge):
        place -= 1
    return place


def _earlier(flat: Sequence[tuple[Line, PageWord]], first: int, right_edge: float) -> tuple[str, ...]:
    """The sentences before this one in its paragraph, the nearest first."""
    found: list[str] = []
    while first > 0 and len(found) < _LOOKED_BACK and not _is_apart(flat[first - 1][0], flat[first][0]):
        begin = _first(flat, first - 1, right_edge)
        found.append(" ".join(word.text for _, word in flat[begin:first]))
        first = begin
    return tuple(found)


def _is_perhaps_a_relatives(around: _Around) -> bool:
    """True if the sentence goes on about "she" or "he" where a relative was spoken of just before."""
    sentence = f"{around.whole_before} {' '.join(word.text for word in around.words)}"
    pronoun = cues.PRONOUN.match(sentence)
    if pronoun is None:
        return False
    meant = cues.MEANT[pronoun["who"]]
    for earlier in around.earlier:
        if re.match(rf"(?i)^\W*(?:\w+\W+){{0,2}}?(?:{meant}|{cues.ANYBODY})\b", earlier):
            return True
        going_on = cues.PRONOUN.match(earlier)
        if going_on is None or cues.MEANT[going_on["who"]] != meant:
            return False
    return False


def _has_discharge_list(document: DocumentText) -> bool:
    return any(
        _is_heading(line) and cues.DISCHARGE.search(line.text) and _MEDICINES.search(line.text)
        for line in document.lines
    )


def _ends(flat: Sequence[tuple[Line, PageWord]], index: int, right_edge: float) -> bool:
    """True if a sentence ends behind the word at this place."""
    line, word = flat[index]
    following, next_word = flat[index + 1]
    is_unit = _UNIT.match(word.text) is not None and not next_word.text[:1].isupper()
    if _SENTENCE_END.search(word.text) and not is_unit and not _ABBREVIATION.match(word.text):
        return True
    if following is line:
        return False
    if re.match(r"^[•*\-–·]|^\d+[.)]$", following.words[0].text) or _is_heading(following):
        return True
    if _is_row(line) or _is_row(following):
        return True
    return word.box[2] < right_edge * _FULL_LINE or _is_apart(line, following)


def _is_apart(line: Line, following: Line) -> bool:
    """True if the gap between two lines is that of a paragraph."""
    return following is not line and following.top - line.top > line.height * _GAP


def _is_row(line: Line) -> bool:
    """True for a line of a table: its words stand in columns."""
    pairs = pairwise(line.words)
    return any(right.box[0] - left.box[2] > line.height * _COLUMN_GAP for left, right in pairs)


def _section(lines: Sequence[Line], word: PageWord) -> str:
    """The heading that the word stands under; empty for none.

    A heading with a sentence behind it on its own line holds for that sentence only.
    """
    head, is_inline = "", False
    for line in lines:
        if _is_heading(line):
            match = _HEADING.match(line.text)
            head = match["head"] if match else ""
            is_inline = match is not None and line.text[match.end() :].strip() != ""
        if word in line.words:
            return head
        if is_inline and line.text.rstrip().endswith("."):
            head, is_inline = "", False
    return head


def _is_heading(line: Line) -> bool:
    match = _HEADING.match(line.text)
    if match is None or len(match["head"].split()) > 5:
        return False
    is_alone = line.text.rstrip().endswith(":") or len(line.words) <= 4
    has_colon = ":" in line.text[: match.end() + 1]
    return bool(_HEADS.search(match["head"])) and (is_alone or has_colon)
