"""Twenty hand-written letters, printed, scanned and read: the figures that a practice would see."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from exora_words import document_of
from printed import FURTHER, HELD_OUT, LETTERS, Reading, read, read_unscanned

from backstay_exora.domain.clinical import accept
from backstay_exora.domain.identity import Agreement

SHARE = 0.90
DRAWN = (2, 13)  # one that lay sideways, one whose labels the scanner takes for a column of their own


def _shares(readings: Sequence[Reading]) -> tuple[dict[str, float], list[Any]]:
    seen: Counter[str] = Counter()
    missed: list[Any] = []
    for reading in readings:
        truth = {tuple(pair) for pair in reading.letter["medications"]}
        seen["medications"] += len(truth)
        seen["medications read"] += len(truth & reading.medications)
        missed += sorted(truth - reading.medications)
        for kind, field in (("condition", "conditions"), ("allergy", "allergies")):
            seen[field] += len(reading.letter[field])
            asked = {item.fact.name.lower() for item in reading.accepted.to_review if item.fact.kind == kind}
            found = reading.names(kind) | (asked if kind == "allergy" else set())
            seen[f"{field} read"] += len(set(reading.letter[field]) & found)
        agreed = [name for name, found in reading.identifiers.items() if found is Agreement.MATCHES]
        seen["identifiers"] += len(reading.identifiers)
        seen["identifiers read"] += len(agreed)
    fields = ("identifiers", "medications", "conditions", "allergies")
    return {field: seen[f"{field} read"] / seen[field] for field in fields if seen[field]}, missed


def _assert_nothing_wrong(reading: Reading) -> None:
    letter = reading.letter
    stored = {fact.name.lower() for fact in reading.accepted.stored}
    assert stored.isdisjoint(letter["never"]), letter["name"]
    assert reading.medications <= {tuple(pair) for pair in letter["medications"]}, letter["name"]
    assert Agreement.DIFFERS not in reading.identifiers.values(), letter["name"]


@pytest.mark.parametrize("number", DRAWN)
def test_a_scanned_letter_is_read(number: int) -> None:
    """EXO-027, EXO-028, EXO-030: two of the twenty; `make prove-exora` reads all."""
    reading = read(LETTERS[number])

    shares, missed = _shares([reading])
    assert min(shares.values()) >= SHARE, (shares, missed)
    _assert_nothing_wrong(reading)


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_nine_of_ten_identifiers_and_facts_of_twenty_scanned_letters_are_read() -> None:
    """EXO-027, EXO-028, EXO-030"""
    readings = [read(letter) for letter in LETTERS]

    shares, missed = _shares(readings)
    assert len(readings) == 20
    assert min(shares.values()) >= SHARE, (shares, missed)
    for reading in readings:
        _assert_nothing_wrong(reading)


@pytest.mark.parametrize("letter", FURTHER, ids=lambda letter: letter["name"])
def test_a_letter_in_a_layout_of_its_own_is_read(letter: dict[str, Any]) -> None:
    """EXO-028, EXO-030: charts, forms, a letter to the patient; every word of them, and nothing that they take back."""
    reading = read_unscanned(letter)

    shares, missed = _shares([reading])
    assert set(shares.values()) == {1.0}, (shares, missed)
    _assert_nothing_wrong(reading)


def test_of_letters_that_nobody_built_the_reader_with_nothing_wrong_is_stored() -> None:
    """EXO-028, EXO-030: acceptance.md has what the first reading found."""
    readings = [read_unscanned(letter) for letter in HELD_OUT]

    shares, missed = _shares(readings)
    assert (shares["identifiers"], shares["medications"]) == (1.0, 1.0), missed
    for reading in readings:
        _assert_nothing_wrong(reading)


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_nine_of_ten_identifiers_and_facts_of_ten_further_scans_are_read() -> None:
    """EXO-027, EXO-028, EXO-030"""
    readings = [read(letter) for letter in FURTHER]

    shares, missed = _shares(readings)
    assert min(shares.values()) >= SHARE, (shares, missed)
    for reading in readings:
        _assert_nothing_wrong(reading)


@pytest.mark.parametrize(
    "text",
    [
        "I took her off amiodarone 200 mg.",
        "He took prednisolone 25 mg last spring but no longer does.",
        "She was treated with prednisolone 50 mg and has since finished the course.",
        "Apixaban 5 mg is on hold.",
        "Semaglutide 1 mg is being considered.",
        "Mefloquine 250 mg is contraindicated.",
        "Inactive medicines\nClonidine 100 mcg",
        "Clonidine 100 mcg (ended 02/2026)",
    ],
)
def test_what_a_letter_takes_back_in_other_words_is_not_stored(text: str) -> None:
    """EXO-030"""
    from test_exora_facts import proposed

    assert proposed(text), "the reader names it"
    assert accept(proposed(text), document_of(text)).stored == ()


def test_a_name_that_was_read_with_doubt_is_a_review_item() -> None:
    """EXO-030"""
    from test_exora_facts import proposed

    text = "Takes atovaguone 250 mg daily."

    result = accept(proposed(text), document_of(text, confidence=0.52))

    assert (result.stored, len(result.to_review)) == ((), 1)
