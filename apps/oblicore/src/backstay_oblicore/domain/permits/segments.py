"""Cutting running text into numbered conditions, paragraphs and headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backstay_oblicore.domain.permits.pages import Line, mend_code
from backstay_oblicore.domain.permits.sentences import has_limit, has_modal, has_strong_modal, split

# What may stand before a number ("Condition 1.1", "Rule 4") and after it ("1.1:", "1.1 -", "1)").
_WORD = r"(?:(?:condition|clause|paragraph|para|rule|article|requirement|term|item)\.?\s+(?:no\.?\s*)?|§\s*)"
DECIMAL = re.compile(
    rf"^{_WORD}?(\d{{1,2}}(?:\.\d{{1,3}}){{1,4}})(?:[.:)]|\s+[–-](?=\s))?(?:\s+(.*)|$)", re.IGNORECASE
)
INTEGER = re.compile(rf"^{_WORD}?(\d{{1,3}})\s?[.):]\s*(?=[A-Z\"(]|$)(.*)$", re.IGNORECASE)
BRACKETED = re.compile(r"^[(\[](\d{1,3})[)\]]\s+(?=[A-Z\"])(.*)$")
NAMED = re.compile(rf"^{_WORD}(\d{{1,3}}[A-Z]?)\s*[-–:.]?\s+(.+)$", re.IGNORECASE)
SPACED_INTEGER = re.compile(r"^(\d{1,2})\s+((?:[A-Z][a-z]|A\s).{15,})$")
# A1.1, B2.3.4: a letter before the number, as Scottish licences have it.
LETTER_DECIMAL = re.compile(
    r"^(([A-Z]{1,3})(?:\.(?=\d)|\s?(?=\d+\.\d))(\d{1,3}(?:\.\d{1,3}){0,4}))[.:)]?\s+(.+)$"
)
CODED = re.compile(r"^(([A-Z]{1,2})\s?-?(\d{1,3})[a-z]?)[.:)]?\s+(?=[A-Z(\"])(.+)$")
LOST_NUMBER = re.compile(r"^[.)]\s+([A-Z].*)$")  # recognition reads a column of single digits as a picture
LETTERED = re.compile(r"^\(?([a-z]|[ivx]{1,4})[.)]\s+(.*)$")
PART = re.compile(
    r"^(schedule|part|annex|appendix|section|chapter|introductory|explanatory|interpretation)\b[\s\d:A-Z.–-]*",
    re.IGNORECASE,
)
LABELLED = re.compile(r"^(?:schedule|part|annex|appendix|section|chapter)\s+(?:\d|[A-Z]\b)", re.IGNORECASE)
BULLET = re.compile(r"^[•●▪◦\-–*\uf0b7o]\s+(.*)$")
# At a line's end the hyphen of "six-monthly" stays, that of "moni-toring" goes.
COMPOUND = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|half|semi|non|off|on|self|high|low|short|long|cross)-$",
    re.IGNORECASE,
)
MOST_HEADING_WORDS = 14
LARGEST_GAP = 12
IMPROVEMENT_CODES = ("IC", "IP", "PO", "PC", "PR", "IR")


@dataclass
class Segment:
    """A piece of the permit that stands by itself: a numbered condition or a paragraph."""

    reference: str | None
    heading: str
    page: int
    parts: list[str] = field(default_factory=list)
    last_page: int = 0
    is_binding: bool = False  # stands under a heading that binds, whatever its own words are

    @property
    def text(self) -> str:
        """The words, in one line."""
        return _join(self.parts)


def segment(lines: Sequence[Line]) -> list[Segment]:
    """Cut lines into segments, in reading order; then part lists whose items are duties by themselves."""
    cutter = _Cutter()
    for line in lines:
        cutter.take(line)
    return [piece for whole in cutter.finished() for piece in _split_items(whole)]


class _Cutter:
    def __init__(self) -> None:
        self._done: list[Segment] = []
        self._open: Segment | None = None
        self._heading = ""
        self._part = ""
        self._titled: str | None = None  # the number of a heading whose text has none of its own
        self._last_number: tuple[int, ...] = ()
        self._last_code = ("", 0)
        self._last_lettered: tuple[str, tuple[int, ...]] = ("", ())
        self._longest = 0

    def take(self, line: Line) -> None:
        self._longest = max(self._longest, len(line.text))
        numbered = self._numbered(line.text)
        if numbered is not None:
            self._begin_numbered(*numbered, page=line.page)
        elif _is_heading(line.text) and (not self._is_mid_sentence() or self._is_title_page(line.text)):
            self._begin_heading(line.text)
        elif self._open is not None and not self._is_new_paragraph():
            self._open.parts.append(line.text)
            self._open.last_page = line.page
        else:
            self._close()
            self._open = Segment(self._titled, self._heading, line.page, [line.text], line.page)
            self._titled = None

    def finished(self) -> list[Segment]:
        self._close()
        return self._done

    def _numbered(self, text: str) -> tuple[str, tuple[int, ...], str] | None:
        text = mend_code(text)
        if match := DECIMAL.match(text):
            reference, number = self._with_lost_dot(match[1])
            if self._may_follow(number, rest=match[2] or ""):
                return reference, number, match[2] or ""
            return None
        if match := NAMED.match(text):
            return match[1], (int(re.sub(r"\D", "", match[1])),), match[2]
        if match := INTEGER.match(text) or SPACED_INTEGER.match(text):
            number = (int(match[1]),)
            if self._may_follow(number, rest=match[2]):
                return match[1], number, match[2]
            return None
        if (match := BRACKETED.match(text)) and len(self._last_number) <= 1:
            number = (int(match[1]),)
            # Within 4.1 a bracketed number is an item of its list; where nothing else is numbered, a condition.
            if _is_successor(self._last_number, number):
                return match[1], number, match[2]
            return None
        if (match := LOST_NUMBER.match(text)) and len(self._last_number) == 1 and not self._is_mid_sentence():
            number = (self._last_number[0] + 1,)
            return str(number[0]), number, match[1]
        if (match := LETTER_DECIMAL.match(text)) and self._may_be_lettered(
            match[2], _number(match[3]), match[4]
        ):
            self._last_lettered = (match[2], _number(match[3]))
            return match[1], self._last_number, match[4]
        if (match := CODED.match(text)) and self._may_be_code(match[2], int(match[3])):
            self._last_code = (match[2], int(match[3]))
            return match[1].replace(" ", ""), self._last_number, match[4]
        return None

    def _may_be_code(self, letters: str, number: int) -> bool:
        """Tell a condition such as B4 from a line that happens to begin like one: codes count up."""
        last, count = self._last_code
        if letters == last and number == count + 1:
            return True
        is_next = number == 1 or (letters == last and 0 < number - count <= LARGEST_GAP)
        return not self._is_mid_sentence() and (is_next or letters in IMPROVEMENT_CODES)

    def _may_be_lettered(self, letters: str, number: tuple[int, ...], rest: str) -> bool:
        """Tell a condition such as B2.3 from a line that goes on with a reference to one: they count up."""
        last, before = self._last_lettered
        if self._is_mid_sentence() or not re.match(r"[A-Z0-9(\"']", rest):
            return letters == last and _is_successor(before, number) and not rest[:1].islower()
        return letters != last or number > before

    def _with_lost_dot(self, reference: str) -> tuple[str, tuple[int, ...]]:
        """Give "42.1" its dot back where 4.2.1 comes next: recognition loses dots."""
        number = _number(reference)
        if number[0] >= 10 and not _is_successor(self._last_number, number):
            mended = f"{reference[0]}.{reference[1:]}"
            if _is_successor(self._last_number, _number(mended)):
                return mended, _number(mended)
        return reference, number

    def _may_follow(self, number: tuple[int, ...], *, rest: str) -> bool:
        """Tell a new condition from a line that happens to begin with a number."""
        if _is_successor(self._last_number, number):
            return not (rest[:1].islower() and self._is_mid_sentence()) or len(number) > 1
        if self._is_mid_sentence() or rest[:1].islower():
            return False
        if len(number) == 1:
            is_level = len(self._last_number) == 1 or (bool(self._last_number) and _is_title(rest))
            is_near = is_level and 0 < number[0] - self._last_number[0] <= LARGEST_GAP
            return number == (1,) or is_near
        return number > self._last_number

    def _begin_numbered(self, reference: str, number: tuple[int, ...], rest: str, *, page: int) -> None:
        self._close()
        self._last_number = number
        is_improvement = reference.rstrip("0123456789abc") in IMPROVEMENT_CODES
        shown = f"{self._part} {reference}".strip() if reference[0].isdigit() else reference
        self._titled = None
        if rest and _is_title(rest) and not is_improvement:
            self._heading = rest
            self._titled = shown if "." in reference else None
            return
        self._open = Segment(shown, self._heading, page, [rest] if rest else [], page)

    def _begin_heading(self, text: str) -> None:
        self._close()
        self._titled = None
        self._heading = text
        if match := re.match(r"^(schedule|annex|appendix)\s+([\dA-Z]{1,3})\b", text, re.IGNORECASE):
            self._part = f"{match[1].title()} {match[2]}"
            self._last_number = ()

    def _is_mid_sentence(self) -> bool:
        if self._open is None or not self._open.parts:
            return False
        last = self._open.parts[-1].rstrip()
        return not re.search(r"[.;:!?]['\")\]]?$|[;,]\s+(?:and|or)$", last)

    def _is_title_page(self, text: str) -> bool:
        """A line in capitals, or "Section A", ends a title page, whose names and addresses have no full stops."""
        return (
            self._open is not None
            and self._open.reference is None
            and (text.isupper() or bool(LABELLED.match(text)))
        )

    def _is_new_paragraph(self) -> bool:
        """An unnumbered paragraph ends where a sentence ends on a line that is not full."""
        assert self._open is not None
        if self._open.reference is not None or not self._open.parts:
            return False
        last = self._open.parts[-1].rstrip()
        return bool(re.search(r"[.!?]['\")]?$", last)) and len(last) < 0.8 * self._longest

    def _close(self) -> None:
        if self._open is not None and self._open.parts:
            self._done.append(self._open)
        self._open = None


def _number(reference: str) -> tuple[int, ...]:
    return tuple(int(part) for part in reference.split("."))


def _is_successor(last: tuple[int, ...], number: tuple[int, ...]) -> bool:
    """Say whether `number` is what comes next: one further at some level, or the first of a new level."""
    if not last:
        return number[-1] == 1 or len(number) == 1
    for depth in range(len(number)):
        if depth >= len(last):
            return all(part == 1 for part in number[depth:])
        if number[depth] != last[depth]:
            return number[depth] in (last[depth] + 1, last[depth] + 2) and all(
                part == 1 for part in number[depth + 1 :]
            )
    return False


def _is_title(text: str) -> bool:
    if text.rstrip().endswith((".", ";", ":", ",")):
        return False
    # "Part 2 How the plant is to be run" is a heading, although it has a word that often makes a duty.
    if has_strong_modal(text) if PART.match(text) else has_modal(text) or has_limit(text):
        return False
    return len(text.split()) <= MOST_HEADING_WORDS and not re.match(r"^[a-z(]", text)


def _is_heading(text: str) -> bool:
    if not _is_title(text) or LETTERED.match(text) or BULLET.match(text):
        return False
    words = re.findall(r"[A-Za-z][\w'-]*", text)
    if not words:
        return False
    if PART.match(text) or text.isupper():
        return True
    if re.match(r"^(?:table|figure)\s", text, re.IGNORECASE):
        return True
    capitals = sum(word[0].isupper() for word in words)
    return len(words) <= 8 and capitals >= 0.6 * len(words) and text[-1].isalnum() and len(text) < 60


def _split_items(whole: Segment) -> list[Segment]:
    """Part what has no number into sentences, and a list if its stem binds nobody and its items do."""
    if whole.reference is None:
        return [replace(whole, parts=[sentence]) for sentence in split(whole.text)]
    marks = [index for index, part in enumerate(whole.parts) if LETTERED.match(part)]
    if not marks:
        return [whole]
    stem = _join(whole.parts[: marks[0]])
    items = [whole.parts[start:end] for start, end in zip(marks, [*marks[1:], len(whole.parts)], strict=True)]
    if has_modal(stem) or has_limit(stem) or sum(has_modal(_join(item)) for item in items) < 2:
        return [whole]
    pieces = [Segment(whole.reference, whole.heading, whole.page, whole.parts[: marks[0]], whole.last_page)]
    for item in items:
        match = LETTERED.match(item[0])
        assert match is not None
        pieces.append(
            Segment(
                f"{whole.reference}({match[1]})",
                whole.heading,
                whole.page,
                [match[2], *item[1:]],
                whole.last_page,
            )
        )
    return [piece for piece in pieces if piece.text]


def _join(parts: Sequence[str]) -> str:
    text = ""
    for part in parts:
        if re.search(r"[a-z]-$", text) and re.match(r"[a-z]{2,}", part):
            text = (text if COMPOUND.search(text) else text[:-1]) + part
        else:
            text = f"{text} {part}" if text else part
    return text.strip()
