"""A cursor over tokens, shared by the rule language and the language of its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from backstay_passport.domain.errors import RuleProblem
from backstay_passport.domain.rules.tokens import Place, Token, text_value, tokenize

MAX_DEPTH = 60

T = TypeVar("T")


class Reader:
    """Reads tokens one after the other and says where something else was expected."""

    def __init__(self, source: str, error: type[RuleProblem]) -> None:
        self._error = error
        self._tokens = tokenize(source, error)
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """The token that would be taken next."""
        return self._tokens[self._position]

    def at(self, *kinds: str) -> bool:
        """True if the next token is of one of these kinds."""
        return self.next.kind in kinds

    def take(self, kind: str, expected: str = "") -> Token:
        """Take a token of this kind, or fail."""
        token = self.next
        if token.kind != kind:
            self.fail(f"expected {expected or repr(kind)}, found {token.text or 'the end'!r}")
        self._position += 1
        return token

    def take_any(self) -> Token:
        """Take whatever token comes next."""
        token = self.next
        self._position += 1
        return token

    def skip(self, kind: str) -> bool:
        """Take the next token if it is of this kind, and say whether it was."""
        if self.next.kind == kind:
            self._position += 1
            return True
        return False

    def word(self, expected: str) -> str:
        """Take a name; a keyword may be one where only a name can stand."""
        token = self.next
        if not (token.kind == "name" or token.text.isidentifier()):
            self.fail(f"expected {expected}, found {token.text or 'the end'!r}")
        self._position += 1
        return token.text

    def text(self, expected: str) -> str:
        """Take a quoted text."""
        return text_value(self.take("text", expected).text)

    def items(self, end: str, read: Callable[[], T]) -> list[T]:
        """Read items between commas until the closing mark, which is taken too."""
        found: list[T] = []
        while not self.at(end):
            found.append(read())
            if not self.skip(","):
                break
        self.take(end)
        return found

    def deeper(self, read: Callable[[], T]) -> T:
        """Read something nested, and refuse what is nested without end."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels")
        value = read()
        self._depth -= 1
        return value

    def fail(self, problem: str, place: Place | None = None) -> NoReturn:
        """Refuse the source, here or at a place."""
        place = place or self.next.place
        raise self._error(problem, place.line, place.column)
