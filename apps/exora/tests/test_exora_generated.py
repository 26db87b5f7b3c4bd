"""Generated letters, scanned and turned: how many identifiers and medications are read, and do the boxes fit?"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random, SystemRandom
from typing import Any

import pytest
from exora_words import document_from, patient_of

from backstay_exora.demo.letters import PLANTS, Letter, draw_letter
from backstay_exora.demo.people import Person, draw_practice
from backstay_exora.domain.clinical import Accepted, accept
from backstay_exora.domain.identity import Agreement, MarkerKind, compare, decide, find_markers
from backstay_exora.domain.text import DocumentText
from backstay_exora.handlers.parts import divided, proposals
from backstay_parts.ocr import read_scan
from backstay_parts.pdf import open_pdf
from backstay_parts.scans import Damage, damaged
from exora_reader.facts import read_facts

SHARE = 0.95
OVERLAP = 0.5
LETTERS = 20
MOST_HELD = 2  # of twenty clean ones: four of forty
IDENTIFIERS = 5  # in every patient block of the generator
TURNS = (0, 90, 180, 270)


class Tally:
    """What was read of several letters."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.missed: list[object] = []

    def add(self, seed: int, *, turn: int) -> None:
        """Print, scan, turn and read the letter of a seed."""
        people = draw_practice(seed)
        letter = draw_letter(people[seed % 5], seed)
        document = _scanned(letter, seed, turn)
        result = accept(proposals([read_facts(divided(document, 1)[0])]), document)
        markers = find_markers(document, latest_year=2026)
        self._identifiers(seed, compare(patient_of(people[seed % 5]), markers))
        self._medications(seed, letter, result)
        self.seen["held"] += not _is_open(people, seed, document)

    def share(self, what: str) -> float:
        return self.seen[f"{what} read"] / self.seen[what]

    def _identifiers(self, seed: int, found: Sequence[Any]) -> None:
        named = [item for item in found if item.kind is not MarkerKind.MEDICARE]
        present = [item for item in named if item.agreement is not Agreement.ABSENT]
        self.seen["identifiers"] += IDENTIFIERS
        self.seen["identifiers read"] += sum(item.agreement is Agreement.MATCHES for item in present)
        self.missed += [(seed, item.kind) for item in present if item.agreement is not Agreement.MATCHES]

    def _medications(self, seed: int, letter: Letter, result: Accepted) -> None:
        stored = {(fact.name.lower(), fact.dose): fact for fact in result.stored if fact.kind == "medication"}
        truth = {(name.lower(), dose) for name, dose in letter.truth.medications}
        self.seen["medications"] += len(truth)
        self.seen["medications read"] += len(truth & stored.keys())
        self.missed += [(seed, *entry) for entry in sorted(truth - stored.keys())]
        assert not {fact.name.lower() for fact in result.stored}.intersection(letter.truth.decoys), seed
        assert {name for name, _ in stored} <= {name for name, _ in truth}, seed
        for name, dose in truth & stored.keys():
            self.seen["boxes"] += 1
            boxes = list(_truth_boxes(letter.content, name))
            best = max(_overlap(box, stored[name, dose].boxes[0]) for box in boxes)
            self.seen["boxes read"] += best >= OVERLAP


def _scanned(letter: Letter, seed: int, turn: int) -> DocumentText:
    with open_pdf(letter.content) as pdf:
        picture = pdf.render(1, dpi=200)
    page, _ = read_scan(damaged(picture, Damage(turn=turn, noise=Random(seed).randint(0, 8)), seed=seed))
    return document_from([page])


def _is_open(people: list[Person], seed: int, document: DocumentText) -> bool:
    """What the gate says of a letter for the patient of its seed, among all patients of the practice."""
    patients = [patient_of(person, number) for number, person in enumerate(people)]
    return decide(patients[seed % 5], document, latest_year=2026, others=patients).is_open


def _truth_boxes(content: bytes, name: str) -> Iterator[tuple[float, float, float, float]]:
    """Where the name and the two words of its dose stand on a line of the letter's own text layer."""
    with open_pdf(content) as pdf:
        words = pdf.page(1).words
    first, count = name.split()[0], len(name.split()) + 2
    for place, word in enumerate(words):
        if word.text.lower().strip(",.-") == first:
            members = [other for other in words[place : place + count] if other.line == word.line]
            boxes = [other.box.scaled(200 / 72) for other in members]
            yield (
                min(box.left for box in boxes),
                min(box.top for box in boxes),
                max(box.right for box in boxes),
                max(box.bottom for box in boxes),
            )


def _overlap(truth: tuple[float, float, float, float], box: dict[str, Any]) -> float:
    """Shared area by the area of both together."""
    left, top = max(truth[0], box["left"]), max(truth[1], box["top"])
    right, bottom = min(truth[2], box["right"]), min(truth[3], box["bottom"])
    shared = max(0.0, right - left) * max(0.0, bottom - top)
    own = (box["right"] - box["left"]) * (box["bottom"] - box["top"])
    return shared / (own + (truth[2] - truth[0]) * (truth[3] - truth[1]) - shared)


def _assert_enough(tally: Tally) -> None:
    for what in ("identifiers", "medications", "boxes"):
        assert tally.share(what) >= SHARE, (what, tally.seen, tally.missed)


@pytest.mark.parametrize(("seed", "turn"), [(1101, 0), (1102, 90)])
def test_a_generated_letter_is_read_upright_or_turned(seed: int, turn: int) -> None:
    """EXO-027, EXO-028, EXO-030: two of them; `make prove-exora` draws forty."""
    tally = Tally()

    tally.add(seed, turn=turn)

    _assert_enough(tally)
    assert tally.seen["held"] == 0


@pytest.mark.prove
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("is_new", [False, True], ids=["fixed seeds", "new seeds"])
def test_ninety_five_of_a_hundred_are_read_on_twenty_letters_in_every_direction(
    is_new: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """EXO-027, EXO-028, EXO-030: a seed that failed is named in the message, and repeated with EXORA_SEED."""
    drawn = int(os.environ.get("EXORA_SEED", SystemRandom().randrange(10_000, 1_000_000)))
    first = drawn if is_new else 2000
    tally = Tally()

    for number in range(LETTERS):
        tally.add(first + number, turn=TURNS[number % 4])

    with capsys.disabled():
        sys.stdout.write(f"\nseeds from {first}: {dict(tally.seen)}, missed {tally.missed}\n")
    _assert_enough(tally)
    assert tally.seen["held"] <= MOST_HELD


@pytest.mark.prove
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", [3000, 3020])
def test_of_scanned_letters_with_something_wrong_none_passes(first: int) -> None:
    """EXO-029: forty in two halves, upright and turned."""
    passed = []
    for seed in range(first, first + LETTERS):
        people = draw_practice(seed)
        letter = draw_letter(people[seed % 5], seed, plant=PLANTS[seed % len(PLANTS)])
        is_open = _is_open(people, seed, _scanned(letter, seed, TURNS[seed % 4]))
        passed += [(seed, letter.plant)] if is_open else []

    assert passed == []
