"""Takes secrets out of what is logged: fields with telling names, and what looks like a secret inside of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from windlass.error_text import error_info

HIDDEN = "***"
PAYLOADS = frozenset({"args", "arguments", "payload", "result", "body"})
"""What belongs to a job and not into a log, under whatever event."""

_NAMES = (
    r"pass(?:word|wd|phrase)|secret|token|(?:api|access|private)[_-]?key|authorization|cookie|credentials?"
)
_TELLING = re.compile(_NAMES, re.IGNORECASE)
# As in max_tokens, promptTokens and token_count: how many there are, if it is a number.
_COUNTED = re.compile(
    r"[Tt]okens(?![a-z])|TOKENS(?![A-Z])|token(?=[_-]?(?:count|limit|budget|usage)(?![a-z]))"
)
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
    if name in PAYLOADS or (name and value is not None and _is_telling(name, value)):
        return HIDDEN
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {key: redact(part, name=str(key)) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [redact(part) for part in value]
        case BaseException():
            error = error_info(value, error_class="")
            return redact_text(f"{error.type}: {error.message}")
        case _:
            return value


def _is_telling(name: str, value: object) -> bool:
    is_number = type(value) in (int, float)
    return _TELLING.search(_COUNTED.sub(" ", name) if is_number else name) is not None


def redact_text(text: str) -> str:
    """The same text without what looks like a secret."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text
