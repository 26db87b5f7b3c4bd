"""Generated values for properties, drawn from a documented stream of SHA-256 blocks.

Block k of case i of property p under seed s is SHA-256 of the canonical `[s, p, i, k]`.
A number below n is read from eight bytes at a time; those above the last multiple of n are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from backstay_passport.domain.hashing import hash_of
from backstay_passport.domain.rules.reader import Reader
from backstay_passport.domain.rules.tokens import Token
from backstay_passport.domain.types import Bool, Date, Int, Number, Text, Type

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789-"
MAX_LENGTH = 200
WORD = 2**64


class Stream:
    """Numbers that depend on seed, property and case only."""

    def __init__(self, seed: int, name: str, index: int) -> None:
        self._key = [str(seed), name, index]
        self._block = 0
        self._bytes = b""

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1, each as likely as the others."""
        usable = WORD - WORD % limit
        while True:
            number = int.from_bytes(self._take(8))
            if number < usable:
                return number % limit

    def _take(self, count: int) -> bytes:
        while len(self._bytes) < count:
            self._bytes += hash_of([*self._key, self._block])
            self._block += 1
        taken, self._bytes = self._bytes[:count], self._bytes[count:]
        return taken


@dataclass(frozen=True)
class Generator:
    """Values between two bounds, or one of several."""

    kind: str
    type: Type
    low: Any = None
    high: Any = None
    places: int = 0
    choices: tuple[str, ...] = ()

    def draw(self, stream: Stream) -> Any:
        """Return the next value."""
        match self.kind:
            case "text":
                length = self.low + stream.below(self.high - self.low + 1)
                return "".join(ALPHABET[stream.below(len(ALPHABET))] for _ in range(length))
            case "int":
                return self.low + stream.below(self.high - self.low + 1)
            case "decimal":
                steps = int((self.high - self.low).scaleb(self.places))
                return self.low + Decimal(stream.below(steps + 1)).scaleb(-self.places)
            case "bool":
                return stream.below(2) == 1
            case "date":
                days: int = (self.high - self.low).days
                return self.low + timedelta(days=stream.below(days + 1))
            case _:
                return self.choices[stream.below(len(self.choices))]

    def smallest(self) -> Any:
        """Return the simplest value, which a failing case is shrunk to."""
        match self.kind:
            case "text":
                return ALPHABET[0] * self.low
            case "bool":
                return False
            case "one_of":
                return self.choices[0]
            case _:
                return self.low


def read_generator(reader: Reader) -> tuple[str, Generator]:
    """Read `name: generator(bounds)`."""
    name = reader.word("the name of a value")
    reader.take(":")
    token = reader.take("name", "a generator")
    arguments = reader.items(")", lambda: _argument(reader)) if reader.skip("(") else []
    generator = _generator(token, arguments)
    if generator is None:
        reader.fail(
            f"{token.text} is none of text(from, to), int(from, to), decimal(from, to, places), bool, "
            'date("from", "to"), one_of("a", "b") with bounds in order',
            token.place,
        )
    return name, generator


def _argument(reader: Reader) -> Any:
    if reader.at("text"):
        return reader.text("a text")
    negative = reader.skip("-")
    number = Decimal(reader.take("number", "a number").text)
    return -number if negative else number


def _generator(token: Token, arguments: list[Any]) -> Generator | None:
    numbers = [argument for argument in arguments if isinstance(argument, Decimal)]
    texts = [argument for argument in arguments if isinstance(argument, str)]
    ordered = len(numbers) >= 2 and numbers[0] <= numbers[1] and not texts
    match token.text:
        case "bool" if not arguments:
            return Generator("bool", Bool())
        case "one_of" if texts and not numbers:
            return Generator("one_of", Text(), choices=tuple(texts))
        case "text" if ordered and len(numbers) == 2 and numbers[0] > 0 and numbers[1] <= MAX_LENGTH:
            return Generator("text", Text(), int(numbers[0]), int(numbers[1]))
        case "int" if ordered and len(numbers) == 2 and _whole(numbers):
            return Generator("int", Int(), int(numbers[0]), int(numbers[1]))
        case "decimal" if ordered and len(numbers) in (2, 3):
            places = int(numbers[2]) if len(numbers) == 3 else 2
            return Generator("decimal", Number(), numbers[0], numbers[1], places) if places <= 9 else None
        case "date" if len(texts) == 2 and not numbers:
            return _dates(*texts)
    return None


def _whole(numbers: list[Decimal]) -> bool:
    return all(number == int(number) for number in numbers)


def _dates(first: str, last: str) -> Generator | None:
    try:
        low, high = date.fromisoformat(first), date.fromisoformat(last)
    except ValueError:
        return None
    return Generator("date", Date(), low, high) if low <= high else None
