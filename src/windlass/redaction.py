"""Takes secrets out of what is logged: fields with telling names, and what looks like a secret inside of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
PAYLOADS = frozenset({"args", "arguments", "payload", "result", "body"})
"""What belongs to a job and not into a log, under whatever event."""

_NAMES = (
    r"pass(?:word|wd|phrase)|secret|token|(?:api|access|private)[_-]?key|authorization|cookie|credentials?"
)
_TELLING = re.compile(_NAMES, re.IGNORECASE)
_SECRETS = (
    # A key that is written out, from its first line to its last.
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
        HIDDEN,
    ),
    # The password in a URL; it may contain an @ itself, so the last one counts.
    (re.compile(r"([A-Za-z][\w+.-]*://[^\s/:@'\"]*):[^\s/'\"]+@"), rf"\1:{HIDDEN}@"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    # JSON web tokens, and the keys of services that mark theirs.
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*"), HIDDEN),
    (
        re.compile(
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\b(?:sk|pk|rk)[-_](?:live|test|proj)?[-_]?[A-Za-z0-9]{16,}\b"
        ),
        HIDDEN,
    ),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}"), HIDDEN),
    # name=value, name: value and "name": "value".
    (
        re.compile(
            rf"""((?:\w*(?:{_NAMES})\w*)["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;&"')}}\]]+)""", re.IGNORECASE
        ),
        rf"\1{HIDDEN}",
    ),
)


def redact(value: Any, *, name: str = "") -> Any:
    """The same value without its secrets; payloads of jobs are left out altogether."""
    if name in PAYLOADS or (name and _TELLING.search(name) and value is not None):
        return HIDDEN
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {key: redact(part, name=str(key)) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [redact(part) for part in value]
        case _:
            return value


def redact_text(text: str) -> str:
    """The same text without what looks like a secret."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text
