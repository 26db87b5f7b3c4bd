"""Makes something of each of many, or says which of them are bad."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from backstay.errors import InvalidBatch, InvalidJob, InvalidPolicy

MOST_PROBLEMS = 100

G = TypeVar("G")
M = TypeVar("M")


def make_all(make: Callable[[G], M], given: Iterable[G]) -> list[M]:
    """What is made of each, in order; raises InvalidBatch if any is refused, and it names the first hundred."""
    made: list[M] = []
    problems: dict[int, str] = {}
    total = 0
    for index, one in enumerate(given):
        try:
            made.append(make(one))
        except (InvalidJob, InvalidPolicy) as error:
            total += 1
            if total <= MOST_PROBLEMS:
                problems[index] = str(error)
    if problems:
        raise InvalidBatch(problems, total=total)
    return made
