"""Takes secrets out of what is logged: fields with telling names, and what looks like a secret inside of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from backstay.model.text.error_text import error_info

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


MAX_TEXT_CHARS = 65_536
"""Only this many bytes of a text are searched and written: the length of the longest traceback that is kept."""


class Secret(NamedTuple):
    """How a secret looks in a text; `marks` are in lower case, and whatever looks so has one of them.

    A pattern takes time in proportion to the text, whatever stands in it: texts come from strangers. So no part of it
    that may be repeated without limit can be entered at every place of a run that it goes through.
    """

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str = HIDDEN


SECRETS = (
    # A key that is written out, from its first line to its last.
    Secret(
        ("private key-----",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
        ),
    ),
    # The password in a URL; it may contain an @ itself, so the last one counts.
    Secret(("://",), re.compile(r"((?<=[\w+.-])://[^\s/:@'\"]*):[^\s/'\"]+@"), rf"\1:{HIDDEN}@"),
    Secret(
        ("bearer", "basic"),
        re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE),
        rf"\1 {HIDDEN}",
    ),
    # JSON web tokens, and the keys of services that mark theirs.
    # A token may follow a word and a dash; the atomic group goes to the first in a run of such characters, once.
    Secret(
        ("eyj",),
        re.compile(r"(?<![\w-])((?>[\w-]*?\beyJ))[\w-]{8,}\.[\w-]{4,}\.[\w-]*"),
        rf"\1{HIDDEN}",
    ),
    Secret(("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    Secret(
        tuple(f"{first}{then}" for first in ("sk", "pk", "rk") for then in "-_"),
        re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj)?[-_]?[A-Za-z0-9]{16,}\b"),
    ),
    Secret(tuple(f"gh{of}_" for of in "pousr"), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}\b")),
    Secret(("xox",), re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    # name=value, name: value and "name": "value"; the text may end before the value does.
    Secret(
        ("pass", "secret", "token", "key", "authorization", "cookie", "credential"),
        re.compile(
            rf"""((?:{_NAMES})\w{{0,64}}+["']?\s*+[=:]\s*+)("[^"]*"?|'[^']*'?|[^\s,;&"')}}\]]+)""",
            re.IGNORECASE,
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


def redact_text(text: str) -> str:
    """The same text without what looks like a secret; one that is too long ends with its length."""
    if len(text) > MAX_TEXT_CHARS:
        mark = f" … ({len(text):,} characters)"
        text = text[: MAX_TEXT_CHARS - len(mark)] + mark
    # Looking for marks takes a hundredth of the time; beyond ASCII, more than one letter may be meant by a mark's.
    lowered = text.lower() if text.isascii() else None
    for secret in SECRETS:
        if lowered is None or any(mark in lowered for mark in secret.marks):
            text = secret.pattern.sub(secret.instead, text)
    return text


def _is_telling(name: str, value: object) -> bool:
    return _names_a_secret(name, is_number=type(value) in (int, float))


@lru_cache(maxsize=1000)
def _names_a_secret(name: str, *, is_number: bool) -> bool:
    return _TELLING.search(_COUNTED.sub(" ", name) if is_number else name) is not None
