"""Makes JSON of most calls' arguments: texts, whole numbers, truths and None, looked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from windlass import codec
from windlass.signature import Signature

PlainCalls = Callable[[tuple[Any, ...], Mapping[str, Any]], str | None]

_TYPES = frozenset({str, int, bool, type(None)})
"""What JSON gives back as it was, but for a NUL in a text and a number beyond 64 bits."""
_encode = msgspec.json.Encoder().encode


def plain_calls(signature: Signature, *, limit_bytes: int) -> PlainCalls:
    """What turns a call into JSON text, or answers None where a closer look is needed.

    That is where a value is of another type, where arguments come both by position and by name, and where anything is
    wrong. A function made of functions, because it is what a caller's time goes into when thousands are enqueued.
    """
    names, number, decode, encode = (
        signature.positional,
        len(signature.names),
        signature.decoder.decode,
        _encode,
    )
    # No shorter text can hold a number beyond 64 bits, if all arguments are there.
    long_from = len(encode(dict.fromkeys(signature.names, 0))) + codec.LONG_NUMBER - 1

    def bind(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        if args:
            if kwargs or len(args) > len(names):
                return None
            given: Mapping[str, Any] = dict(zip(names, args))  # noqa: B905 -- `strict` takes as long as the rest
        else:
            given = kwargs
        if not _TYPES.issuperset(map(type, given.values())):
            return None
        try:
            encoded = encode(given)
            decode(encoded)
        except (msgspec.ValidationError, ValueError, OverflowError):
            return None
        is_short = len(encoded) < long_from and len(given) == number
        # A backslash may be part of a NUL.
        if (
            b"\\" in encoded
            or not (is_short or codec.has_short_numbers(encoded))
            or len(encoded) > limit_bytes
        ):
            return None
        return encoded.decode()

    return bind
