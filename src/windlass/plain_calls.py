"""Makes JSON of most calls' arguments: texts, whole numbers, truths and None, looked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from windlass import codec
from windlass.signature import Signature

PlainCalls = Callable[[tuple[Any, ...], Mapping[str, Any]], str | None]

_encode = msgspec.json.Encoder().encode


def plain_calls(signature: Signature, *, limit_bytes: int) -> PlainCalls:
    """What turns a call into JSON text, or answers None where a closer look is needed.

    That is where a value is of another type, where arguments come both by position and by name, and where anything is
    wrong. A function that knows its signature, because a caller's time goes into it when thousands are enqueued.
    """
    names, decode = signature.positional, signature.decoder.decode

    def bind(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
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

    return bind
