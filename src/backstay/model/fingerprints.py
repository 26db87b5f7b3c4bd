"""Which deaths have the same cause: one short text for all errors that differ only in their particulars."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

# In this order: a path or a quoted text may hold numbers. A hash is a number too, because some are all digits.
_PARTICULARS = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)"), "<text>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s,;()<>\"']+", re.IGNORECASE), "<path>"),
    (re.compile(r"(?:(?<![\w/.])(?:[a-z]:)?[\\/]|\.{1,2}[\\/])[^\s,;:()<>\"']+", re.IGNORECASE), "<path>"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b", re.IGNORECASE), "<number>"),
    (re.compile(r"\d+(?:[.,:_-]\d+)*"), "<number>"),
)
_SPACES = re.compile(r"\s+")
_SEPARATOR = re.compile(r"[\\/]")
_FRAME = re.compile(r'^[ \t]*File "(?P<file>[^"\n]+)", line \d+, in (?P<function>\S+)', re.MULTILINE)
_NOT_THE_USERS = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python\d[^\\/]*)[\\/]|^<frozen ")
_LONGEST = 1000


def fingerprint(kind: str, reason: str, error: Mapping[str, Any] | None) -> str:
    """The fingerprint of a death: 64 hexadecimal digits, equal for what has most likely the same cause.

    It is made of the kind, the class and type of the error, its message without particulars, and the place in the
    user's own code. Line numbers are left out, because every edit moves them. A death without an error, as by a
    deadline, has its reason instead.
    """
    told = error or {"error_class": reason}
    parts = [
        kind,
        str(told.get("error_class", "")),
        str(told.get("type", "")),
        without_particulars(str(told.get("message", ""))),
        place(str(told.get("traceback", ""))),
    ]
    # As JSON, so that no two different lists run together into the same text.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def without_particulars(message: str) -> str:
    """The message with numbers, ids, quoted texts and paths replaced by what they are."""
    text = message[:_LONGEST]
    for pattern, name in _PARTICULARS:
        text = pattern.sub(name, text)
    return _SPACES.sub(" ", text).strip()


def place(traceback: str) -> str:
    """The innermost `file:function` of the user's code, otherwise the innermost of all; empty without frames.

    Of the file only the last two parts count: a release or a container moves the folders above them.
    """
    frames = [(found["file"], found["function"]) for found in _FRAME.finditer(traceback)]
    own = [frame for frame in frames if not _NOT_THE_USERS.search(frame[0])]
    if not frames:
        return ""
    file, function = (own or frames)[-1]
    return "/".join(_SEPARATOR.split(file)[-2:]) + f":{function}"
