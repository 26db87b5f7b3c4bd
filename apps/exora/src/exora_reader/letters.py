"""A letter in its parts: pages, sections, statements, and what each statement is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exora_reader.lexicon import CONDITIONS, MEDICINES, SUBSTANCES

_PAGE = re.compile(r"^=== PAGE (\d+) ===$", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[•*·\-–—]|\d{1,2}[.)]\s)\s*")
_HEAD = re.compile(r"^\s*(?P<head>[A-Za-z][A-Za-z/&'’() \-]{2,50}?)\s*:\s*(?P<rest>.*)$")
_BARE_HEAD = re.compile(
    r"(?i)^\W*(?:(?:past|current|regular|active|family|social|known|drug|medical|discharge|presenting"
    r"|surgical|principal"
    r"|ongoing|recent|other|relevant|background|admission|existing|significant)\s+)*(?:history"
    r"|medications?|medicines"
    r"|allerg(?:y|ies)|adverse reactions?|diagnos[ei]s|problems?|conditions?|examination|impression"
    r"|plan|investigations?"
    r"|results|assessment|treatment|progress|recommendations?|comorbidities|issues"
    r"|summary|family|follow[- ]?up|discussion)(?:\s+(?:list|on discharge"
    r"|on admission|ceased|stopped|and sensitivities|at discharge|and reactions))?\W*$"
)
_LOST_COLON = re.compile(
    r"^(?P<head>ALLERG(?:Y|IES)|MEDICATIONS?|MEDICINES|MEDS|HISTORY|DIAGNOS[EI]S|PROBLEMS?|CONDITIONS?|PLAN|GIVEN)"
    r"[ ]+(?P<rest>[A-Z].*)$"
)
"""A form in capitals whose colons the scanner lost."""
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_ABBREVIATION = re.compile(r"(?i)\b(?:dr|mr|mrs|ms|prof|st|approx|e\.g|i\.e|b\.d|t\.d\.s|p\.r\.n|no)\.$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or a line of a list, and the heading it stands under."""

    page: int
    head: str
    text: str


def pages_of(text: str) -> list[tuple[int, str]]:
    """The numbered pages of a request; a text without page marks is page 1."""
    marks = list(_PAGE.finditer(text))
    if not marks:
        return [(1, text)] if text.strip() else []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [(int(mark[1]), text[mark.end() : end].strip("\n")) for mark, end in zip(marks, ends, strict=True)]


def statements_of(text: str) -> list[Statement]:
    """Every statement of a letter, in order."""
    found: list[Statement] = []
    head = ""
    for page, body in pages_of(text):
        lines = body.split("\n")
        width = max((len(line) for line in lines), default=0)
        for paragraph, heading in _paragraphs(lines, width, head):
            head = "" if paragraph.endswith(".") else heading
            found.extend(Statement(page, heading, sentence) for sentence in _sentences(paragraph))
    return found


def _paragraphs(lines: list[str], width: int, head: str) -> Iterator[tuple[str, str]]:
    """Lines that run on are put together; headings are noted, and what follows them on the line stays.

    A heading with a sentence behind it on its own line holds for that sentence only.
    """
    gathered, is_inline = "", False
    for line in lines:
        stripped = line.strip()
        if not stripped:
            if gathered:
                yield gathered, head
            gathered = ""
            continue
        match = _head(stripped)
        is_head = match is not None or bool(_BARE_HEAD.match(stripped))
        if is_head or _BULLET.match(line):
            if gathered:
                yield gathered, head
            gathered = ""
        if is_head:
            head, stripped = (match["head"], match["rest"]) if match else (stripped.strip(": "), "")
            is_inline = bool(stripped)
            if not stripped:
                continue
        stripped = _BULLET.sub("", stripped)
        gathered = f"{gathered} {stripped}" if gathered else stripped
        if len(line) < width * 0.72 or re.search(r"[.:;!?]$", stripped):
            yield gathered, head
            gathered = ""
            if is_inline and stripped.endswith("."):
                head, is_inline = "", False
    if gathered:
        yield gathered, head


def _head(line: str) -> re.Match[str] | None:
    """A heading and what stands behind it; a substance before its reaction is none."""
    match = _HEAD.match(line) or _LOST_COLON.match(line)
    if match is None or len(match["head"].split()) > 6:
        return None
    names = set(match["head"].lower().split())
    if re.fullmatch(CONDITIONS, match["head"], re.IGNORECASE):
        return None
    return match if names.isdisjoint(SUBSTANCES | MEDICINES) else None


def _sentences(paragraph: str) -> list[str]:
    parts: list[str] = []
    for piece in _END.split(paragraph):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += " " + piece
        else:
            parts.append(piece)
    return [part.strip() for part in parts if part.strip()]
