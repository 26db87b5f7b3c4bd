"""Makes JSON of most calls' arguments: texts, whole numbers, truths and None, looked at once, or of many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import methodcaller
from typing import Any, NamedTuple

import msgspec

from backstay.handlers import codec
from backstay.handlers.signature import Signature

_encode = msgspec.json.Encoder().encode
_values = methodcaller("values")
_TEXT = frozenset({str})


class PlainCalls(NamedTuple):
    """What turns calls into JSON texts, or answers None where a closer look is needed.

    That is where a value is of another type, where arguments come both by position and by name, and where anything is
    wrong.
    """

    one: Callable[[tuple[Any, ...], Mapping[str, Any]], str | None]
    many: Callable[[Sequence[Mapping[str, Any]]], list[str] | None]
    """Of calls by name, all or none."""


NO_PLAIN_CALLS = PlainCalls(lambda args, kwargs: None, lambda calls: None)


def plain_calls(signature: Signature, *, limit_bytes: int) -> PlainCalls:
    """Functions that know a signature, because a caller's time goes into them when thousands are enqueued."""
    names, decode, decode_all = signature.positional, signature.decoder.decode, signature.decoder.decode_lines

    def one(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        if (args and kwargs) or len(args) > len(names):
            return None
        given = dict(zip(names, args)) if args else kwargs  # noqa: B905 -- `strict` takes as long as the rest
        if not codec.EXACT.issuperset(map(type, given.values())):
            return None
        try:
            encoded = _encode(given)
            decode(encoded)
        except (msgspec.ValidationError, ValueError, OverflowError):
            return None
        # A backslash may be part of a NUL.
        if b"\\" in encoded or not codec.has_short_numbers(encoded) or len(encoded) > limit_bytes:
            return None
        return encoded.decode()

    def many(calls: Sequence[Mapping[str, Any]]) -> list[str] | None:
        # A few steps, each of which leaves the loop over the calls to the libraries.
        if set(map(type, calls)) != {dict} or not _TEXT.issuperset(map(type, chain.from_iterable(calls))):
            return None
        if not codec.EXACT.issuperset(map(type, chain.from_iterable(map(_values, calls)))):
            return None
        try:
            encoded = list(map(_encode, calls))
            # JSON has no line break of its own: one in a text is written with a backslash.
            together = b"\n".join(encoded)
            decode_all(together)
        except (msgspec.ValidationError, ValueError, OverflowError):
            return None
        if b"\\" in together or not codec.has_short_numbers(together) or max(map(len, encoded)) > limit_bytes:
            return None
        return together.decode().split("\n")

    return PlainCalls(one, many)
