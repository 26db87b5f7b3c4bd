"""Letters written by hand in other words and layouts than the generator's, with lower thresholds."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from exora_words import document_of
from test_exora_facts import proposed

from backstay_exora.domain.clinical import accept
from backstay_exora.domain.identity import MarkerKind, find_markers

LETTERS = tomllib.loads((Path(__file__).parent / "letters" / "independent.toml").read_text())["letter"]


def _read(letter: dict[str, Any]) -> tuple[set[tuple[str, str]], set[str], set[str]]:
    text = letter["text"].strip("\n")
    result = accept(proposed(text), document_of(text))
    medications = {(fact.name.lower(), fact.dose) for fact in result.stored if fact.kind == "medication"}
    conditions = {fact.name.lower() for fact in result.stored if fact.kind == "condition"}
    allergies = {fact.name.lower() for fact in result.stored if fact.kind == "allergy"}
    return medications, conditions, allergies


def test_nine_of_ten_facts_are_read() -> None:
    """EXO-030"""
    seen: Counter[str] = Counter()
    missed: list[object] = []
    for letter in LETTERS:
        medications, conditions, allergies = _read(letter)
        wanted = {
            "medication": ({(name, dose) for name, dose in letter["medications"]}, medications),
            "condition": (set(letter["conditions"]), conditions),
            "allergy": (set(letter["allergies"]), allergies),
        }
        for kind, (truth, found) in wanted.items():
            seen[f"{kind}s"] += len(truth)
            seen[f"{kind}s read"] += len(truth & found)
            missed += sorted(truth - found)

    for kind in ("medications", "conditions", "allergys"):
        assert seen[f"{kind} read"] >= 0.9 * seen[kind], (seen, missed)


@pytest.mark.parametrize("number", range(len(LETTERS)))
def test_what_is_denied_ended_or_a_relatives_is_never_stored(number: int) -> None:
    """EXO-030"""
    medications, conditions, allergies = _read(LETTERS[number])
    stored = {name for name, _ in medications} | conditions | allergies

    assert stored.isdisjoint(LETTERS[number]["never"])


@pytest.mark.parametrize("number", range(len(LETTERS)))
def test_nothing_is_stored_that_the_letter_does_not_say(number: int) -> None:
    """EXO-030"""
    letter = LETTERS[number]
    medications, _, allergies = _read(letter)

    assert medications <= {(name, dose) for name, dose in letter["medications"]}
    assert allergies <= set(letter["allergies"])


@pytest.mark.parametrize("number", range(len(LETTERS)))
def test_name_and_birth_date_are_found(number: int) -> None:
    """EXO-028"""
    letter = LETTERS[number]
    markers = find_markers(document_of(letter["text"].strip("\n")), latest_year=2026)

    assert {marker.value for marker in markers if marker.kind is MarkerKind.NAME} == {letter["name"]}
    assert {marker.value for marker in markers if marker.kind is MarkerKind.DATE_OF_BIRTH} == {letter["born"]}
