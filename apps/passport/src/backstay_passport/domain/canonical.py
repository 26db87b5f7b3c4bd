"""BPC-CJSON-1: one byte string for each value.

UTF-8, keys sorted, no spaces, integers only; a decimal is text in its shortest form.
The strict reader keeps every number as it was written, so that no value ever passes through a binary float.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from backstay_passport.domain.decimals import DecimalProblem, decimal_text, read_decimal
from backstay_passport.domain.errors import NotCanonical

MAX_DIGITS = 18
MAX_DEPTH = 64
LAST_BMP = "\uffff"


def encode(value: object) -> bytes:
    """Return the canonical bytes of a value; raise `NotCanonical` with a JSON pointer if it has none."""
    return "".join(_parts(value, "", 0)).encode()


def parse(content: bytes) -> Any:
    """Read JSON strictly: no duplicate keys, no exponents, fractions as `Decimal`.

    Raises `NotCanonical` with a JSON pointer, or with the line and column of a syntax error.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotCanonical("", f"byte {error.start} is not UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_read_object,
            parse_int=_read_integer,
            parse_float=_read_fraction,
            parse_constant=_Bad,
        )
    except json.JSONDecodeError as error:
        raise NotCanonical("", f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise NotCanonical("", f"nested deeper than {MAX_DEPTH} levels") from None
    _check(value, "", 0)
    return value


def pointer_to(pointer: str, part: str | int) -> str:
    """Return the JSON pointer of a part of what `pointer` points at."""
    return f"{pointer}/{str(part).replace('~', '~0').replace('/', '~1')}"


@dataclass(frozen=True)
class _Bad:
    """A literal that has no canonical value; the check finds out where it stands."""

    literal: str
    problem: str = "is not a number that can be kept exactly"


def _read_object(pairs: list[tuple[str, Any]]) -> Any:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add returns None on purpose
    return _Bad(json.dumps(twice), "is a key that stands here twice")


def _read_integer(literal: str) -> Any:
    if len(literal.lstrip("-")) > MAX_DIGITS:
        return _Bad(_shown(literal), f"has more than {MAX_DIGITS} digits")
    return int(literal)


def _read_fraction(literal: str) -> Any:
    try:
        return read_decimal(literal)
    except DecimalProblem as error:
        return _Bad(_shown(literal), str(error))


def _shown(literal: str) -> str:
    return literal if len(literal) <= 40 else literal[:40] + "…"


def _check(value: Any, pointer: str, depth: int) -> None:
    if isinstance(value, _Bad):
        raise NotCanonical(pointer, f"{value.literal} {value.problem}")
    if depth > MAX_DEPTH:
        raise NotCanonical(pointer, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        _check_text(value, pointer)
    elif isinstance(value, dict):
        for key, part in value.items():
            _check_key(key, pointer)
            _check(part, pointer_to(pointer, key), depth + 1)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _check(part, pointer_to(pointer, number), depth + 1)


def _parts(value: object, pointer: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise NotCanonical(pointer, f"nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        yield {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str):
        yield _text(value, pointer)
    elif isinstance(value, int):
        yield _integer(value, pointer)
    elif isinstance(value, Decimal):
        yield _decimal(value, pointer)
    elif isinstance(value, Mapping):
        yield from _object(value, pointer, depth)
    elif isinstance(value, list | tuple):
        yield from _array(value, pointer, depth)
    elif isinstance(value, float):
        raise NotCanonical(pointer, "a binary float is not exact; give an integer or a decimal as text")
    else:
        raise NotCanonical(pointer, f"{type(value).__name__} is not a JSON value")


def _object(value: Mapping[object, object], pointer: str, depth: int) -> Iterator[str]:
    keys = [_check_key(key, pointer) for key in value]
    separator = "{"
    for key in sorted(keys):
        yield separator + _text(key, pointer) + ":"
        yield from _parts(value[key], pointer_to(pointer, key), depth + 1)
        separator = ","
    yield "}" if keys else "{}"


def _array(value: list[object] | tuple[object, ...], pointer: str, depth: int) -> Iterator[str]:
    separator = "["
    for number, part in enumerate(value):
        yield separator
        yield from _parts(part, pointer_to(pointer, number), depth + 1)
        separator = ","
    yield "]" if value else "[]"


def _integer(value: int, pointer: str) -> str:
    if abs(value) >= 10**MAX_DIGITS:
        raise NotCanonical(pointer, f"the integer has more than {MAX_DIGITS} digits")
    return str(value)


def _decimal(value: Decimal, pointer: str) -> str:
    try:
        return f'"{decimal_text(value)}"'
    except DecimalProblem as error:
        raise NotCanonical(pointer, str(error)) from None


def _check_key(key: object, pointer: str) -> str:
    if not isinstance(key, str):
        raise NotCanonical(pointer, f"the key {key!r} is not text")
    _check_text(key, pointer)
    # Below U+FFFF code points, UTF-8 bytes and UTF-16 units all sort alike.
    if any(character > LAST_BMP for character in key):
        raise NotCanonical(pointer, f"the key {key!r} has a character above U+FFFF")
    return key


def _check_text(value: str, pointer: str) -> None:
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise NotCanonical(pointer, "the text has a lone surrogate, which no UTF-8 can hold")


def _text(value: str, pointer: str) -> str:
    _check_text(value, pointer)
    # Escapes exactly the quote, the backslash and what is below U+0020, as RFC 8785 asks.
    return encode_basestring(value)
