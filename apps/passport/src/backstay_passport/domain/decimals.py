"""Decimals as text: one shortest form for each value, at most 18 digits."""

from __future__ import annotations

import re
from decimal import Decimal

MAX_DIGITS = 18

_LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


class DecimalProblem(ValueError):
    """A literal or value that is not a plain decimal of at most 18 digits."""


def read_decimal(literal: str) -> Decimal:
    """Read `12`, `-0.50` or `12.5`; refuse exponents, signs, grouping and more than 18 digits."""
    if not _LITERAL.fullmatch(literal):
        raise DecimalProblem("is not a plain decimal such as 12.5 (no exponent, no grouping, no sign but -)")
    return Decimal(decimal_text(Decimal(literal)))


def decimal_text(value: Decimal) -> str:
    """Return the shortest text of a decimal: `12.50` is `12.5`, `-0.0` is `0`."""
    if not value.is_finite():
        raise DecimalProblem("is not a finite number")
    if value == 0:
        return "0"
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    while digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    if max(len(digits) + max(exponent, 0), -exponent) > MAX_DIGITS:
        raise DecimalProblem(f"has more than {MAX_DIGITS} digits; round it")
    return format(Decimal((sign, digits, exponent)), "f")
