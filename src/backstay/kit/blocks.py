"""JSON and differences prepared for a page: pieces of text with a class, escaped where they are drawn."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import Any

LONGEST_BLOCK = 200_000
"""Characters of a block that a page shows; the rest is cut and said so."""
MOST_DIFF_LINES = 2_000

_TOKENS = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)|(?P<string>"(?:[^"\\]|\\.)*")|'
    r"(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>true|false|null)"
)


@dataclass(frozen=True)
class Piece:
    """A run of text and what it is: key, string, number, word, or nothing special."""

    kind: str
    text: str


@dataclass(frozen=True)
class DiffLine:
    """One line of a comparison: `same`, `gone`, `new` or `gap`."""

    kind: str
    text: str


def json_pieces(value: Any) -> list[Piece]:
    """Split a value, written as indented JSON, into pieces for colouring; what JSON lacks is shown by its text."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    if len(text) > LONGEST_BLOCK:
        return [Piece("", text[:LONGEST_BLOCK]), Piece("cut", cut_note(len(text)))]
    pieces: list[Piece] = []
    end = 0
    for match in _TOKENS.finditer(text):
        if match.start() > end:
            pieces.append(Piece("", text[end : match.start()]))
        pieces.append(Piece(match.lastgroup or "", match.group()))
        end = match.end()
    pieces.append(Piece("", text[end:]))
    return [piece for piece in pieces if piece.text]


def code_text(text: object) -> str:
    """Return the text of a code block, cut where it is too long to show."""
    shown = str(text)
    if len(shown) <= LONGEST_BLOCK:
        return shown
    return shown[:LONGEST_BLOCK] + cut_note(len(shown))


def cut_note(length: int) -> str:
    """Say that a block was cut."""
    return f"\n… cut here: {length:,} characters in all"


def diff_lines(old: Any, new: Any, context: int = 3) -> list[DiffLine]:
    """Compare two texts, or two values written as JSON, line by line."""
    before, after = _lines(old), _lines(new)
    lines: list[DiffLine] = []
    for line in difflib.unified_diff(before, after, lineterm="", n=context):
        if line.startswith(("---", "+++")) and not lines:
            continue
        lines.append(_diff_line(line))
        if len(lines) > MOST_DIFF_LINES:
            lines.append(DiffLine("gap", "… cut here"))
            break
    # The first gap only says where the comparison starts.
    return lines[1:] if lines and lines[0].kind == "gap" else lines


def _diff_line(line: str) -> DiffLine:
    kind = {"+": "new", "-": "gone", "@": "gap"}.get(line[:1], "same")
    return DiffLine(kind, "⋯" if kind == "gap" else line[1:])


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return text[:LONGEST_BLOCK].replace("\r\n", "\n").split("\n")
