"""From text to tokens, each with its line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass

from backstay_passport.domain.errors import RuleProblem

MAX_SOURCE_BYTES = 262_144

KEYWORDS = frozenset(
    {
        "package",
        "version",
        "record",
        "fact",
        "product",
        "unit",
        "let",
        "rule",
        "when",
        "then",
        "set",
        "require",
    }
    | {"else", "if", "for", "in", "and", "or", "not", "true", "false"}
    | {"case", "property", "given", "with", "cases", "expect", "fails", "out"}
)

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\n]*)
      | (?P<number>[0-9]+(?:\.[0-9]+)?)
      | (?P<text>"(?:[^"\\\n]|\\["\\nt])*")
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark>==|!=|<=|>=|\?\?|\?\.|[-+*/<>=(){}\[\],.:?])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Place:
    """Where something stands in a source."""

    line: int
    column: int


@dataclass(frozen=True)
class Token:
    """A word of the source: `kind` is number, text, name, a keyword, a mark, or end."""

    kind: str
    text: str
    place: Place


def tokenize(source: str, error: type[RuleProblem]) -> list[Token]:
    """Return the tokens of a source, ended by one of kind `end`."""
    if len(source.encode("utf-8", "replace")) > MAX_SOURCE_BYTES:
        raise error(f"the source is larger than {MAX_SOURCE_BYTES} bytes", 1, 1)
    tokens: list[Token] = []
    position, line, start_of_line = 0, 1, 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        place = Place(line, position - start_of_line + 1)
        if match is None:
            raise error(_unexpected(source[position]), place.line, place.column)
        text = match.group()
        if match.lastgroup != "space":
            tokens.append(Token(_kind(match.lastgroup, text), text, place))
        newlines = text.count("\n")
        if newlines:
            line += newlines
            start_of_line = position + text.rindex("\n") + 1
        position = match.end()
    tokens.append(Token("end", "", Place(line, position - start_of_line + 1)))
    return tokens


def _kind(group: str | None, text: str) -> str:
    if group == "name" and text in KEYWORDS:
        return text
    return text if group == "mark" else str(group)


def _unexpected(character: str) -> str:
    if character == '"':
        return "this text has no end on its line"
    return f"{character!r} has no meaning here"


def text_value(literal: str) -> str:
    """Return what a quoted text says."""
    escapes = {"n": "\n", "t": "\t"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), literal[1:-1])
