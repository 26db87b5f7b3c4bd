"""How far a passport is: which required fields are filled and from where, and what would have to fill the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_passport.domain.fields import BY_PATH, SUPPLEMENT, Field
from backstay_passport.domain.rules.run import Assignment


@dataclass(frozen=True)
class FieldState:
    """A required field: whether it is filled, and the facts that fill it or the types of facts that could."""

    path: str
    filled: bool
    bringers: tuple[str, ...]


@dataclass(frozen=True)
class Readiness:
    """The required fields of a passport, and what keeps rules from running."""

    fields: tuple[FieldState, ...]
    problems: tuple[str, ...] = ()

    @property
    def filled(self) -> tuple[FieldState, ...]:
        """The fields that are there."""
        return tuple(one for one in self.fields if one.filled)

    @property
    def missing(self) -> tuple[FieldState, ...]:
        """The fields that are not."""
        return tuple(one for one in self.fields if not one.filled)


def readiness(
    submodels: Mapping[str, Any],
    assignments: Sequence[Assignment] = (),
    reads: Mapping[str, frozenset[str]] | None = None,
    problems: Sequence[str] = (),
) -> Readiness:
    """Return which required fields the submodels fill, one by one: an object that is missing misses all of its own."""
    sources = {
        found.path: tuple(fact.source or fact.fact_type for fact in found.used) for found in assignments
    }
    could = {path: tuple(sorted(types)) for path, types in (reads or {}).items()}
    fields = []
    for entry in REQUIRED:
        filled = _is_filled(submodels, entry.path.split("."))
        bringers = _of_path(entry.path, sources if filled else could)
        fields.append(FieldState(entry.path, filled, tuple(dict.fromkeys(bringers))))
    return Readiness(tuple(fields), tuple(dict.fromkeys(problems)))


def _is_required(entry: Field) -> bool:
    parts = entry.path.split(".")
    above = [BY_PATH[".".join(parts[:length])] for length in range(1, len(parts) + 1)]
    return parts[0] != SUPPLEMENT and all(one.required for one in above)


REQUIRED: tuple[Field, ...] = tuple(
    entry for entry in BY_PATH.values() if not entry.children and _is_required(entry)
)


def _is_filled(value: Any, parts: Sequence[str]) -> bool:
    if isinstance(value, list):
        # A list that is said to be empty has nothing that could be missing.
        return all(_is_filled(item, parts) for item in value)
    if not parts:
        return value is not None
    return isinstance(value, Mapping) and _is_filled(value.get(parts[0]), parts[1:])


def _of_path(path: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return what is known of a field: of the path that a rule sets, which may be an object or list around it."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        found = known.get(".".join(parts[:length]))
        if found is not None:
            return found
    return ()
