"""Where does the sentence around a few words begin and end, and under which heading does it stand?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from backstay_exora.domain.clinical import cues
from backstay_exora.domain.text import DocumentText, Line, PageWord

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


@dataclass(frozen=True, slots=True)
class Sentence:
    """The sentence around a few words, those before it, and the heading they stand under."""

    lead: tuple[PageWord, ...]
    words: tuple[PageWord, ...]
    tail: tuple[PageWord, ...]
    before: str
    """The lead's last clause, without what is said of others there."""
    after: str
    """The tail's first clause."""
    earlier: tuple[str, ...]
    head: str

    @property
    def whole_before(self) -> str:
        """The lead as text."""
        return joined(self.lead)


def sentence_around(document: DocumentText, words: Sequence[PageWord]) -> Sentence:
    """The sentence in which these words stand one after another."""
    lines = [line for line in document.lines if line.page == words[0].page]
    flat = [(line, word) for line in lines for word in line.words]
    places = [index for index, (_, word) in enumerate(flat) if word is words[0] or word is words[-1]]
    head = _section(lines, words[0])
    if not places:
        return Sentence((), tuple(words), (), "", "", (), head)
    right_edge = max(word.box[2] for _, word in flat)
    start, end = places[0], places[-1]
    first, last = _first(flat, start, right_edge), end
    while last < len(flat) - 1 and not _ends(flat, last, right_edge):
        last += 1
    lead = tuple(word for _, word in flat[first:start])
    tail = tuple(word for _, word in flat[end + 1 : last + 1])
    told = cues.ANSWERED.split(cues.COMPANY.sub(" ", cues.ENDED_OTHER.sub("", joined(lead))))[-1]
    clause = cues.BREAKS.split(told)[-1]
    behind = cues.BREAKS.split(cues.BUT_ENDED.sub(" no longer ", joined(tail)))[0]
    return Sentence(lead, tuple(words), tail, clause, behind, _earlier(flat, first, right_edge), head)


def joined(words: Sequence[PageWord]) -> str:
    """The words as text."""
    return " ".join(word.text for word in words)


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


def _ends(flat: Sequence[tuple[Line, PageWord]], index: int, right_edge: float) -> bool:
    """True if a sentence ends behind the word at this place."""
    line, word = flat[index]
    following, next_word = flat[index + 1]
    is_unit = _UNIT.match(word.text) is not None and not next_word.text[:1].isupper()
    # A question mark of its own belongs to what stands behind it: ? pneumonia
    if (
        word.text != "?"
        and _SENTENCE_END.search(word.text)
        and not is_unit
        and not _ABBREVIATION.match(word.text)
    ):
        return True
    if following is line:
        return False
    if re.match(r"^[•*\-–·]|^\d+[.)]$", following.words[0].text) or is_heading(following):
        return True
    if _is_row(line) or _is_row(following) or _is_bare_heading(line):
        return True
    return word.box[2] < right_edge * _FULL_LINE or _is_apart(line, following)


def _is_bare_heading(line: Line) -> bool:
    """True for a heading with nothing behind it on its line."""
    match = _HEADING.match(line.text)
    return match is not None and is_heading(line) and not line.text[match.end() :].strip()


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
        if is_heading(line):
            match = _HEADING.match(line.text)
            head = match["head"] if match else ""
            is_inline = match is not None and line.text[match.end() :].strip() != ""
        if word in line.words:
            return head
        if is_inline and line.text.rstrip().endswith("."):
            head, is_inline = "", False
    return head


def is_heading(line: Line) -> bool:
    match = _HEADING.match(line.text)
    if match is None or len(match["head"].split()) > 5:
        return False
    is_alone = line.text.rstrip().endswith(":") or len(line.words) <= 4
    has_colon = ":" in line.text[: match.end() + 1]
    return bool(_HEADS.search(match["head"])) and (is_alone or has_colon)
