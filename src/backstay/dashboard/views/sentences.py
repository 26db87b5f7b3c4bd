"""Sentences of the doctor as pages show them: what they name leads there, and commands look like commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from backstay.kit import path_of

NAMED = re.compile(
    r"'(?P<command>backstay [^']+)'"
    r"|(?P<job>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?<=queue ')(?P<queue>[^']+)(?=')"
    r"|(?<=limit ')(?P<limit>[^']+)(?=')"
    r"|(?<=held by a limit: )(?P<full>.+)(?= is (?:full|out of tokens) \()"
)
PLACES = {"job": "jobs", "queue": "queues", "limit": "limits", "full": "limits"}


@dataclass(frozen=True)
class Piece:
    """A part of a sentence: plain text, a link, or a command."""

    text: str
    href: str = ""
    is_command: bool = False


def pieces_of(sentence: str) -> list[Piece]:
    """Cut a sentence where it names a job, a queue, a limit or a command."""
    pieces, end = list[Piece](), 0
    for found in NAMED.finditer(sentence):
        pieces += [Piece(sentence[end : found.start()]), _named(found)]
        end = found.end()
    return [piece for piece in [*pieces, Piece(sentence[end:])] if piece.text]


def limit_in(sentences: Iterable[str]) -> str | None:
    """Return the limit that sentences name first, None if they name none."""
    found = (match for sentence in sentences for match in NAMED.finditer(sentence))
    return next((match[match.lastgroup] for match in found if match.lastgroup in ("limit", "full")), None)


def _named(found: re.Match[str]) -> Piece:
    what = found.lastgroup or ""
    text = found[what]
    return Piece(text, is_command=True) if what == "command" else Piece(text, path_of(PLACES[what], text))
