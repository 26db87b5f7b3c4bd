"""Reading expressions, by precedence from `or` down to literals."""

from __future__ import annotations

from decimal import Decimal

from backstay_passport.domain.decimals import DecimalProblem, read_decimal
from backstay_passport.domain.rules.reader import Reader
from backstay_passport.domain.rules.syntax import (
    Binary,
    Call,
    Choice,
    Comprehension,
    Expression,
    FieldOf,
    ListLiteral,
    Literal,
    Name,
    Output,
    RecordLiteral,
    Unary,
)
from backstay_passport.domain.rules.tokens import Token, text_value
from backstay_passport.domain.types import Bool, Int, Number, Text
from backstay_passport.domain.units import UNITS

_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("and",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("??",),
    ("+", "-"),
    ("*", "/"),
)


def read_expression(reader: Reader) -> Expression:
    """Read one expression."""
    return reader.deeper(lambda: _level(reader, 0))


def read_path(reader: Reader) -> str:
    """Read a dotted path of a field."""
    parts = [reader.word("the path of a field")]
    while reader.skip("."):
        parts.append(reader.word("a field"))
    return ".".join(parts)


def _level(reader: Reader, level: int) -> Expression:
    if level == len(_LEVELS):
        return _prefix(reader)
    left = _level(reader, level + 1)
    while reader.at(*_LEVELS[level]):
        token = reader.take_any()
        right = _level(reader, level + 1)
        left = Binary(token.text, left, right, token.place)
    return left


def _prefix(reader: Reader) -> Expression:
    place = reader.next.place
    if reader.at("-", "not"):
        operator = reader.take_any().text
        return Unary(operator, reader.deeper(lambda: _prefix(reader)), place)
    if reader.skip("if"):
        condition = read_expression(reader)
        reader.take("then")
        positive = read_expression(reader)
        reader.take("else")
        return Choice(condition, positive, read_expression(reader), place)
    return _postfix(reader)


def _postfix(reader: Reader) -> Expression:
    value = _primary(reader)
    while reader.at(".", "?."):
        mark = reader.take_any()
        value = FieldOf(value, reader.word("a field"), mark.kind == "?.", mark.place)
    return value


def _primary(reader: Reader) -> Expression:
    token = reader.next
    match token.kind:
        case "number":
            return _number(reader)
        case "text":
            reader.take_any()
            return Literal(text_value(token.text), Text(), token.place)
        case "true" | "false":
            reader.take_any()
            return Literal(token.kind == "true", Bool(), token.place)
        case "(":
            reader.take_any()
            value = read_expression(reader)
            reader.take(")")
            return value
        case "[":
            return _list(reader)
        case "{":
            reader.take_any()
            return RecordLiteral(tuple(reader.items("}", lambda: _record_field(reader))), token.place)
        case "out":
            reader.take_any()
            reader.take("(")
            path = read_path(reader)
            reader.take(")")
            return Output(path, token.place)
        case "name" | "fact" | "unit" | "product":
            return _name_or_call(reader)
        case _:
            reader.fail(f"expected a value, found {token.text or 'the end'!r}")


def _name_or_call(reader: Reader) -> Expression:
    token = reader.take_any()
    if reader.skip("("):
        return Call(token.text, tuple(reader.items(")", lambda: read_expression(reader))), token.place)
    return Name(token.text, token.place)


def _record_field(reader: Reader) -> tuple[str, Expression]:
    name = reader.word("the name of a field")
    reader.take(":")
    return name, read_expression(reader)


def _list(reader: Reader) -> Expression:
    place = reader.take("[").place
    if reader.skip("]"):
        return ListLiteral((), place)
    first = read_expression(reader)
    if reader.skip("for"):
        variable = reader.take("name", "a name").text
        reader.take("in")
        source = read_expression(reader)
        condition = read_expression(reader) if reader.skip("if") else None
        reader.take("]")
        return Comprehension(first, variable, source, condition, place)
    if reader.skip(","):
        return ListLiteral((first, *reader.items("]", lambda: read_expression(reader))), place)
    reader.take("]")
    return ListLiteral((first,), place)


def _number(reader: Reader) -> Literal:
    token = reader.take_any()
    value = _decimal(reader, token)
    if reader.at("name") and reader.next.text in UNITS:
        unit = UNITS[reader.take_any().text]
        return Literal(value * unit.factor, Number(unit), token.place)
    if "." in token.text:
        return Literal(value, Number(), token.place)
    return Literal(int(value), Int(), token.place)


def _decimal(reader: Reader, token: Token) -> Decimal:
    try:
        return read_decimal(token.text)
    except DecimalProblem as error:
        reader.fail(f"{token.text[:40]} {error}", token.place)
