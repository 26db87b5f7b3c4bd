"""Which field a label of a table or form means: words, synonyms, spelling mistakes, and the unit beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.fuzz import ratio, token_sort_ratio

from backstay_passport.domain.types import ListOf, Optional, Record, Type
from backstay_passport.ingest.synonyms import SYNONYMS, written_out

MIN_SCORE = 85
Path = tuple[str | int, ...]

_UNIT_SUFFIXES = {"kg", "pct", "ah", "kwh", "v", "w", "c", "ohm", "url", "years", "months", "id"}


@dataclass(frozen=True)
class Label:
    """What a label means: the path of a field, its type, and the unit that the label names."""

    path: Path
    type: Type
    unit: str


def read_label(text: str, schema: Record) -> Label | None:
    """Return the field that a label means, or None if it means none or several alike."""
    words, unit = without_unit(written_out(text))
    segments = [part for part in re.split(r"\s*[/›>.]\s*", words) if part]
    if not segments:
        return None
    found = _follow(segments, schema) or (_anywhere(segments[0], schema) if len(segments) == 1 else None)
    return None if found is None else Label(found[0], found[1], unit)


def without_unit(text: str) -> tuple[str, str]:
    """Return a label and the unit that stands behind it in brackets."""
    found = re.search(r"\s*[(\[]([^()\[\]]*[^()\[\]\d][^()\[\]]*)[)\]]\s*:?\s*$", text)
    if found is None:
        return text.strip().rstrip(":").strip(), ""
    return text[: found.start()].strip(), found[1].strip()


def _follow(segments: list[str], schema: Record) -> tuple[Path, Type] | None:
    path: list[str | int] = []
    current: Type = schema
    for segment in segments:
        name, index = _indexed(segment)
        if isinstance(current, ListOf) and index is None and name.isdigit():
            path.append(int(name))
            current = _bare(current.item)
            continue
        if not isinstance(current, Record):
            return None
        field = _best(name, current) or (_best(segment, current) if index is not None else None)
        if field is None:
            return None
        path.append(field)
        current = _bare(current.fields[field])
        if isinstance(current, ListOf) and index is not None:
            path.append(index)
            current = _bare(current.item)
    return (tuple(path), current) if path and not isinstance(current, Record) else None


def _anywhere(segment: str, schema: Record) -> tuple[Path, Type] | None:
    """Find a label that names a field inside of an object without naming the object."""
    scored = sorted(
        ((_score(segment, str(path[-1])), path, kind) for path, kind in _inner(schema, ())),
        key=lambda one: -one[0],
    )
    if not scored or scored[0][0] < MIN_SCORE:
        return None
    if len(scored) > 1 and scored[1][0] == scored[0][0]:
        return None
    return scored[0][1], scored[0][2]


def _inner(schema: Record, prefix: Path) -> Iterator[tuple[Path, Type]]:
    for name, kind in schema.fields.items():
        bare = _bare(kind)
        if isinstance(bare, Record):
            yield from _inner(bare, (*prefix, name))
        elif prefix and not isinstance(bare, ListOf):
            yield (*prefix, name), bare


def _indexed(segment: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(.*?[^\s\d\[(#])\s*(?:\[(\d+)\]|#?\s?(\d+))", segment)
    if found is None:
        return segment, None
    # In brackets counting starts at 0, as programs do; without, at 1, as people do.
    return found[1], int(found[2]) if found[2] is not None else int(found[3]) - 1


def _best(text: str, schema: Record) -> str | None:
    scored = sorted(((_score(text, name), name) for name in schema.fields), reverse=True)
    if scored[0][0] < MIN_SCORE or (len(scored) > 1 and scored[1][0] == scored[0][0]):
        return None
    return scored[0][1]


def _score(text: str, name: str) -> float:
    words = _words(text)
    scores = [max(ratio(words, one), _reordered(words, one)) for one in _names(name)]
    return max(scores)


def _reordered(words: str, name: str) -> float:
    """Return how alike two labels are in another order: "voltage, minimum" and "minimum voltage"."""
    # One word has no order, and the same words in another order may mean another thing: it must be exact.
    return 99.0 if " " in words and token_sort_ratio(words, name) == 100 else 0.0


def _names(name: str) -> list[str]:
    full = name.replace("_", " ")
    short = " ".join(word for word in name.split("_") if word not in _UNIT_SUFFIXES)
    singular = [full[:-1]] if full.endswith("s") else []
    return [full, *([short] if short else []), *singular, *SYNONYMS.get(name, ())]


def _words(text: str) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.sub(r"[\s_,\-]+", " ", spaced).strip().lower()


def _bare(kind: Type) -> Type:
    return kind.item if isinstance(kind, Optional) else kind
