"""How arguments and results become JSON and back, and what is refused on the way.

One validator stands before both databases, so that a value one of them would refuse or alter is never stored.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from backstay.errors import InvalidPayload

MAX_BYTES = 1_048_576
MAX_DEPTH = 64
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_MIN_LENGTH_TOO_DEEP = 2 * (MAX_DEPTH + 1)
_DIGITS_TO_ZERO = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_LONG_INTEGER = b"0" * 19
_MAX_DIGITS = 20
_MAX_SHOWN = 60

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_MAX_KEY_CHARACTERS = 255
_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNPRINTABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})

_BRACKET_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_CLOSING = {"[": "]", "{": "}"}
_SCALARS = frozenset({str, int, float, bool, type(None)})
EXACT = _SCALARS - {float}
"""What JSON gives back as it was, but for a NUL in a text and a number beyond 64 bits; a float may be NaN as well."""
_TEXT = frozenset({str})
_SURROGATE = re.compile("[\ud800-\udfff]")

_Path = tuple[str | int, ...]


def encode(value: object, *, limit_bytes: int = MAX_BYTES, what: str = "arguments") -> str:
    """Turn a value into JSON text that both databases keep unchanged.

    Takes what JSON has, dataclasses, msgspec, attrs and pydantic classes, enums, dates, UUIDs and decimals.
    Raises InvalidPayload with a pointer to the first part that JSON text could not give back as it was.
    """
    try:
        encoded = _encoder.encode(value)
        if len(encoded) <= limit_bytes and not _is_surely_faithful(value, encoded):
            _refuse_first_problem(value, what)
    except (TypeError, ValueError, RecursionError, OverflowError, AttributeError) as error:
        _refuse_first_problem(value, what)
        raise InvalidPayload(f"{what}: cannot be written as JSON ({error})") from error
    if len(encoded) > limit_bytes:
        raise InvalidPayload(f"{what}: {len(encoded):,} bytes of JSON, more than the {limit_bytes:,} allowed")
    return encoded.decode()


def has_short_numbers(encoded: bytes) -> bool:
    """Whether no number in this JSON is so long that it might be beyond 64 bits."""
    return _LONG_INTEGER not in encoded.translate(_DIGITS_TO_ZERO)


def decode(text: str | bytes) -> Any:
    """Read JSON that passed the validator before it was stored."""
    return _decoder.decode(text)


def decode_strict(text: str | bytes, *, limit_bytes: int = MAX_BYTES, what: str = "JSON") -> Any:
    """Read JSON from outside, refusing what `encode` would refuse, and duplicate keys.

    Raises InvalidPayload: with a byte offset where the text is not JSON, otherwise with a pointer.
    """
    text = _to_text(text, what)
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limit_bytes:
        raise InvalidPayload(f"{what}: {size:,} bytes, more than the {limit_bytes:,} allowed")
    if text.startswith("\ufeff"):
        raise InvalidPayload(f"{what} starts with a byte order mark at byte 0: send UTF-8 without one")
    value = _parse(_cut_below_limit(text), what)
    # Escapes may make the text longer than what came in; only the incoming size is limited.
    encode(value, limit_bytes=sys.maxsize, what=what)
    return value


def canonical(value: object) -> bytes:
    """Write a value so that equal values give equal bytes: sorted keys, no spaces, floats by `repr`."""
    plain = msgspec.to_builtins(value, enc_hook=_to_known_type)
    return json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def fingerprint(kind: str, args_text: str, options: Mapping[str, object]) -> str:
    """Identify what a job would do, as SHA-256 in hexadecimal, however its keys were ordered."""
    return hashlib.sha256(canonical([kind, decode(args_text), dict(options)])).hexdigest()


def check_name(field: str, value: object) -> str:
    """Return the name of a kind or queue, or raise InvalidPayload naming the field."""
    if not isinstance(value, str):
        raise InvalidPayload(f"{field} must be text, not {type(value).__name__}", pointer=f"/{field}")
    if not _NAME.fullmatch(value.replace("_", "-")) or value.startswith("_"):
        needs = "1 to 128 of A-Z a-z 0-9 . _ : - and starts with a letter or digit"
        raise InvalidPayload(f"{field} cannot be {_shown(value)}: it has {needs}", pointer=f"/{field}")
    return value


def check_key(field: str, value: object) -> str:
    """Return an idempotency, unique, correlation or tenant key, or raise InvalidPayload naming the field."""
    if not isinstance(value, str):
        raise InvalidPayload(f"{field} must be text, not {type(value).__name__}", pointer=f"/{field}")
    problem = _key_problem(value)
    if problem:
        raise InvalidPayload(f"{field} cannot be {_shown(value)}: {problem}", pointer=f"/{field}")
    return value


def _key_problem(value: str) -> str | None:
    if not 1 <= len(value) <= _MAX_KEY_CHARACTERS:
        return f"it has {len(value):,} characters, not 1 to {_MAX_KEY_CHARACTERS}"
    if value.isascii():
        return None if value.isprintable() else "it contains a control character"
    if any(unicodedata.category(character) in _UNPRINTABLE for character in value):
        return "it contains a control character"
    if not _BIDI_CONTROLS.isdisjoint(value):
        return "it contains a character that changes the direction of text"
    if not unicodedata.is_normalized("NFC", value):
        return "it is not in Unicode normal form C, so a look-alike would be another key"
    return None


def _is_surely_faithful(value: object, encoded: bytes) -> bool:
    """Whether decoding gives back the value; a False only means that a closer look is needed."""
    if b"\\u0000" in encoded or not has_short_numbers(encoded):
        return False
    if (
        type(value) is dict
        and EXACT.issuperset(map(type, value.values()))
        and _TEXT.issuperset(map(type, value))
    ):
        return True
    decoded = _decoder.decode(encoded)
    may_be_deep = len(encoded) >= _MIN_LENGTH_TOO_DEEP
    if may_be_deep and encoded.count(b"[") + encoded.count(b"{") > MAX_DEPTH and _is_too_deep([decoded]):
        return False
    if type(value) is dict and _SCALARS.issuperset(map(type, value.values())):
        return bool(decoded == value)
    # Objects are compared as what they are written as: their own __eq__ may raise or lie.
    plain = msgspec.to_builtins(value, enc_hook=_to_known_type)
    # Comparing the bytes too finds keys of different types that are written alike and so collapse into one.
    return bool(decoded == plain) and _encoder.encode(plain) == encoded


def _is_too_deep(decoded: object) -> bool:
    level: list[Any] = [decoded]
    for _ in range(MAX_DEPTH + 1):
        inner = (item.values() if type(item) is dict else item for item in level)
        level = [item for items in inner for item in items if type(item) is dict or type(item) is list]
        if not level:
            return False
    return True


def _refuse_first_problem(value: object, what: str) -> None:
    for problem, path in _problems(value, (), ()):
        raise InvalidPayload(f"{what}: {problem}", pointer=_pointer(path))


def _problems(value: object, path: _Path, above: tuple[int, ...]) -> Iterator[tuple[str, _Path]]:
    """Yield what is wrong with a value and where; the containers above it are known by identity."""
    if value is None or isinstance(value, bool):
        return
    if type(value) in (str, int, float, _Refused):
        problem = _scalar_problem(value)
        if problem:
            yield problem, path
        return
    if id(value) in above:
        yield "a value that contains itself", path
        return
    try:
        contents = _contents(value)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        yield f"an object of type {_type_name(value)}, which JSON cannot hold ({error})", path
        return
    if not isinstance(contents, Mapping | list | tuple | set | frozenset):
        yield from _problems(contents, path, (*above, id(value)))
    elif len(above) >= MAX_DEPTH:
        yield f"a value nested deeper than {MAX_DEPTH} levels", path
    else:
        yield from _inner_problems(contents, path, (*above, id(value)))


def _inner_problems(
    contents: Mapping[Any, Any] | Iterable[Any], path: _Path, above: tuple[int, ...]
) -> Iterator[tuple[str, _Path]]:
    if not isinstance(contents, Mapping):
        for index, item in enumerate(contents):
            yield from _problems(item, (*path, index), above)
        return
    written: set[str] = set()
    for key, item in contents.items():
        name = key if isinstance(key, str) else _written_key(key)
        # A pointer through such a key could not be printed, so the object that has it is named.
        if name is None:
            yield f"a key of type {_type_name(key)}, which JSON would turn into text", path
        elif problem := _scalar_problem(str(name)):
            yield f"in a key, {problem}", path
        elif name in written:
            yield f"two keys that are both written {_shown(name)}", path
        else:
            written.add(name)
            yield from _problems(item, (*path, name), above)


def _scalar_problem(value: object) -> str | None:
    if isinstance(value, _Refused):
        return value.problem
    if isinstance(value, str):
        if "\0" in value:
            return "text with a NUL character"
        if not value.isascii() and _SURROGATE.search(value):
            return "text with a lone surrogate, half of a character"
    elif isinstance(value, int):
        return None if INT_MIN <= value <= INT_MAX else "an integer beyond 64 bits"
    elif isinstance(value, float) and not math.isfinite(value):
        return f"the float {value}, which is not a JSON number"
    return None


def _contents(value: object) -> object:
    """What a value is written as, one level deep, so that a problem inside can be pointed at."""
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return {written: getattr(value, name) for name, written in names}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    attrs_fields = getattr(type(value), "__attrs_attrs__", None)
    if attrs_fields is not None:
        return {field.name: getattr(value, field.name) for field in attrs_fields}
    if hasattr(type(value), "model_dump"):
        return _to_known_type(value)
    return msgspec.to_builtins(value)


def _written_key(key: object) -> str | None:
    try:
        written = msgspec.to_builtins(key)
    except (TypeError, ValueError):
        return None
    return written if isinstance(written, str) else None


def _to_known_type(value: Any) -> object:
    """Serve msgspec for types it does not know; pydantic is recognised by its method, not imported."""
    dump = getattr(type(value), "model_dump", None)
    if dump is None:
        raise TypeError(f"objects of type {_type_name(value)} have no JSON form")
    return dump(value, mode="json")


_encoder = msgspec.json.Encoder(enc_hook=_to_known_type)
_decoder = msgspec.json.Decoder()


class _Refused:
    """Stands in a parsed text for a part that must not be there, until the walk finds where it is."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


def _to_text(text: str | bytes, what: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InvalidPayload(f"{what} is not UTF-8: bad byte at offset {error.start}") from error


def _parse(text: str, what: str) -> object:
    try:
        return json.loads(
            text,
            object_pairs_hook=_object_from_pairs,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode("utf-8", "surrogatepass"))
        raise InvalidPayload(f"{what} is not well formed at byte {offset}: {error.msg}") from error


def _object_from_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        result[key] = _Refused("the same key twice") if key in result else value
    return result


def _constant(name: str) -> _Refused:
    return _Refused(f"{name}, which is not a JSON number")


def _integer(digits: str) -> int | _Refused:
    # Python refuses to convert thousands of digits with an error of its own.
    number = int(digits) if len(digits) <= _MAX_DIGITS else INT_MAX + 1
    return number if INT_MIN <= number <= INT_MAX else _Refused("an integer beyond 64 bits")


def _float(digits: str) -> float | _Refused:
    number = float(digits)
    return number if math.isfinite(number) else _Refused("a number too large for a float")


def _cut_below_limit(text: str) -> str:
    """End the text at the first bracket that is too deep, before it can exhaust the parser's stack."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return text
    closing: list[str] = []
    for match in _BRACKET_OR_STRING.finditer(text):
        token = match[0]
        if token in _CLOSING:
            if len(closing) == MAX_DEPTH:
                return text[: match.start()] + "[]" + "".join(reversed(closing))
            closing.append(_CLOSING[token])
        elif token[0] != '"' and closing:
            closing.pop()
    return text


def _pointer(path: _Path) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _shown(text: str) -> str:
    return ascii(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…")


def without(name: str, text: str | bytes) -> str | bytes:
    """The JSON object without one of its names; a text that is no object stays as it is, for others to refuse."""
    if isinstance(text, str) and name not in text:
        return text
    raw = text if isinstance(text, bytes) else text.encode()
    try:
        found = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        return text
    found.pop(name, None)
    return msgspec.json.encode(found)
