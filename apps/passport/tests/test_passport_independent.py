"""Ten documents of other hands, written down with their truth before the reader was looked at or tuned on them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backstay_passport.domain.facts import DocumentKind, Fact, read_facts
from backstay_passport.ingest.reading import read_document

FOLDER = Path(__file__).parent / "independent"
TRUTH: dict[str, Any] = tomllib.loads((FOLDER / "truth.toml").read_text(encoding="utf-8"))
LEAST = 0.95


def path_of(name: str) -> Path:
    """The document itself, not the page that a PDF was printed from."""
    [found] = [one for one in FOLDER.glob(f"{name}.*") if one.suffix != ".html"]
    return found


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a fact by its path."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from flat(part, f"{prefix}.{name}" if prefix else name)
    elif not isinstance(value, list):
        yield prefix, value


def said(name: str) -> tuple[DocumentKind, dict[tuple[str, str], Any]]:
    """The kind that is found in a document, and every value of its facts."""
    read = read_document(path_of(name).read_bytes())
    facts: list[Fact] = [] if read.kind == DocumentKind.OTHER else read_facts(read.kind, read.content)
    return read.kind, {(fact.fact_key, path): value for fact in facts for path, value in flat(fact.payload)}


def truth_of(name: str) -> dict[tuple[str, str], Any]:
    """What stands in a document."""
    return {
        (key, path): value for key, fields in TRUTH[name]["facts"].items() for path, value in fields.items()
    }


@pytest.mark.parametrize("name", TRUTH)
def test_nothing_false_is_read_from_a_document_of_another_hand(name: str) -> None:
    """BPC-044: whatever is read of a field that the truth knows is true, and the kind is right."""
    kind, found = said(name)
    truth = truth_of(name)

    assert kind == TRUTH[name]["kind"]
    assert {place: value for place, value in found.items() if truth.get(place, value) != value} == {}
    assert {key for key, _ in found} <= {key for key, _ in truth} | _whole(truth)


def _whole(truth: dict[tuple[str, str], Any]) -> set[str]:
    """Batteries whose materials alone are listed have a fact of their own too."""
    return {f"battery:{key.split(':')[1]}" for key, _ in truth if key.startswith("material:")}


def test_nearly_everything_is_read_from_documents_of_other_hands() -> None:
    """BPC-044: over all ten, every value that a document states."""
    missed = []
    total = 0
    for name in TRUTH:
        _, found = said(name)
        for place, value in truth_of(name).items():
            total += 1
            if found.get(place) != value:
                missed.append((name, *place, value, found.get(place)))

    assert total > 70
    assert (total - len(missed)) / total >= LEAST, missed
