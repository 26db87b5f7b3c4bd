"""Reading permits: conditions, when they are due, and the proof that nothing was passed over."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backstay_oblicore.demo.permit_maker import MadeDocument, make_consent, make_permit
from backstay_oblicore.domain.permits import asking, subjective
from backstay_oblicore.domain.permits.asking import Chunk, Finding, chunks, merge, parse_answer
from backstay_oblicore.domain.permits.conditions import Reading, read_pages
from backstay_oblicore.domain.permits.diff import compare
from backstay_oblicore.domain.permits.meaning import definition_rule
from backstay_oblicore.domain.permits.pages import Page, page_from_text
from backstay_oblicore.domain.permits.rules import BUILT_IN, for_module
from backstay_oblicore.domain.permits.segments import Segment
from backstay_oblicore.domain.permits.sentences import is_candidate, split
from backstay_oblicore.domain.permits.timing import read_timing
from backstay_oblicore.readers.documents import native_pages, outline
from backstay_oblicore_reader.grammar import obligations

RULES = for_module(BUILT_IN, "MODULE_1")
OTHER_WORDING = Path(__file__).parent / "other_wording"
GATE_SEEDS = range(1001, 1011)


def read_fully(pages: list[Page]) -> Reading:
    """Read by rules, and ask the grammar reader about the rest, as the service does over its socket."""
    reading = read_pages(pages, RULES)
    answers = [
        (chunk, parse_answer({"obligations": obligations(chunk.text)}, chunk))
        for chunk in chunks(reading.unmatched)
    ]
    return merge(reading, answers, model="grammar")[0]


@dataclass
class Score:
    """How a reading compares with the truth."""

    found: int = 0
    expected: int = 0
    given: int = 0
    timed: int = 0

    def add(self, reading: Reading, truth: list[tuple[str, str, str]]) -> list[str]:
        faults = []
        by_reference = {condition.reference: condition for condition in reading.conditions}
        self.given += len(reading.conditions)
        self.expected += len(truth)
        for reference, frequency, rule in truth:
            condition = by_reference.pop(reference, None)
            if condition is None:
                faults.append(f"missing {reference}")
                continue
            self.found += 1
            says = str(condition.due_rule)
            if condition.frequency == frequency and (rule == "on event" or says.startswith(rule)):
                self.timed += 1
            else:
                faults.append(f"{reference}: {condition.frequency} {says}, not {frequency} {rule}")
        return [*faults, *(f"invented {reference}" for reference in by_reference)]


def truth_of(made: MadeDocument) -> list[tuple[str, str, str]]:
    return [(one.reference, one.frequency, one.rule) for one in made.conditions]


def test_made_permits_are_read_nearly_without_fault() -> None:
    """OBL-028 OBL-030"""
    score, faults = Score(), []
    for seed in GATE_SEEDS:
        made = (make_permit if seed % 3 else make_consent)(seed, issued=date(2026, 1, 5))
        reading = read_fully(native_pages(made.content))
        faults += [f"{seed} {fault}" for fault in score.add(reading, truth_of(made))]
        assert not reading.open_sentences

    assert score.found / score.expected >= 0.95, faults
    assert score.found / score.given >= 0.95, faults
    assert score.timed / score.expected >= 0.95, faults


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_permits_of_fresh_seeds_are_read_nearly_without_fault(record_property: Any) -> None:
    """OBL-028 OBL-030"""
    seeds = [random.SystemRandom().randrange(10_000, 10_000_000) for _ in range(20)]
    score, faults = Score(), []
    for seed in seeds:
        made = (make_permit if seed % 3 else make_consent)(seed, issued=date(2026, 1, 5))
        reading = read_fully(native_pages(made.content))
        faults += [f"{seed} {fault}" for fault in score.add(reading, truth_of(made))]
        filed = " ".join(one.text for one in reading.sentences if one.filed == "definition")
        assert not [one.reference for one in made.conditions if one.text in filed], seed
        assert not reading.open_sentences, seed

    record_property("seeds", f"{seeds}: {score}")
    assert score.found / score.expected >= 0.95, faults
    assert score.found / score.given >= 0.95, faults
    assert score.timed / score.expected >= 0.95, faults


@pytest.mark.parametrize("name", ["water_discharge", "composting_licence", "boiler_permit"])
def test_other_wordings_and_layouts_are_read(name: str) -> None:
    text = (OTHER_WORDING / f"{name}.txt").read_text()
    lines = (OTHER_WORDING / f"{name}.truth").read_text().splitlines()
    truth = [(line.split(" ", 2)[0], line.split(" ", 2)[1], line.split(" ", 2)[2]) for line in lines]
    score = Score()

    faults = score.add(read_fully([page_from_text(1, text)]), truth)

    assert score.found / score.expected >= 0.90, faults
    assert score.found / score.given >= 0.90, faults
    assert score.timed / score.expected >= 0.90, faults


def test_every_binding_sentence_is_accounted_for_and_no_duty_is_a_definition() -> None:
    for seed in (1001, 1002, 1004):
        made = make_permit(seed, issued=date(2026, 1, 5))
        reading = read_fully(native_pages(made.content))
        definitions = " ".join(one.text for one in reading.sentences if one.filed == "definition")
        accounted = " ".join(one.text for one in reading.sentences)

        for truth in made.conditions:
            assert truth.text not in definitions
            candidates = [one for one in split(truth.text) if is_candidate(one)]
            assert all(one in accounted or truth.reference.startswith(("IC", "Table")) for one in candidates)


def test_what_no_rule_knows_stays_open() -> None:
    page = page_from_text(1, "1.1.1 Yard surfaces ought to drain to the interceptor.")

    reading = read_pages([page], RULES)

    assert [one.filed for one in reading.sentences] == ["open"]
    assert reading.conditions == ()
    assert len(reading.unmatched) == 1


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ('"Quarter" shall mean a calendar quarter.', "meaning"),
        (
            "References to a table shall be construed as references to a table of this permit.",
            "interpretation",
        ),
        ("This permit shall come into force on 1 May 2026.", "effect"),
        ("Nothing in this consent shall be taken to authorise a nuisance.", "saving"),
        ("The Environment Agency shall respond within 28 days.", "regulator"),
        ("The Environment Agency shall be notified within 28 days.", None),
        ("The operator shall use the term 'quarter' and must report monthly.", None),
        ('"Site" means the land, and the operator shall fence it.', None),
        ("The words on the sign shall be read as not exceeding 5 mph and must be kept clean.", None),
    ],
)
def test_only_what_binds_nobody_is_a_definition(sentence: str, rule: str | None) -> None:
    assert definition_rule(sentence) == rule


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("The emissions shall not exceed 500 tonnes per year.", "at all times"),
        ("The annual mean shall not exceed 40.", "at all times"),
        ("Records of daily discharge volumes shall be kept.", "at all times"),
        ("Records shall be retained for at least 6 years.", "at all times"),
        ("A plan must be submitted by 30 September 2027.", "once, by 30 September 2027"),
        ("A plan must be submitted by 01/10/2027.", "once, by 1 October 2027"),
        ("The tank shall be tested at intervals of not more than two years.", "every 2 years"),
        ("Reports shall be sent by the 15th of each month.", "within 15 days of the end of each month"),
        ("Tests must be carried out every 1,500 operating hours.", "every 1500 operating hours"),
        ("The operator shall notify the Agency within 48 hours of any spill.", "within 2 days of any spill"),
        (
            "Before the commencement of operations the bund shall be tested.",
            "0 days before start of operations",
        ),
    ],
)
def test_words_of_time_are_understood(words: str, rule: str) -> None:
    assert str(read_timing(words).rule).startswith(rule)


def test_running_heads_and_page_numbers_are_no_text() -> None:
    pages = [
        page_from_text(
            n, f"Permit number EPR/AB1234\n{n}.1.1 The operator shall keep log {n}.\nPage {n} of 4"
        )
        for n in range(1, 5)
    ]

    reading = read_pages(pages, RULES)

    assert [one.text for one in reading.conditions] == [
        f"The operator shall keep log {n}." for n in range(1, 5)
    ]
    assert [one.page for one in reading.conditions] == [1, 2, 3, 4]


def test_subjective_phrases_are_named() -> None:
    found = subjective.phrases_in("Appropriate measures shall be taken as soon as is reasonably practicable.")

    assert found == ["as soon as practicable", "appropriate measures"]


def test_a_native_pdf_is_known_as_such() -> None:
    made = make_consent(7, issued=date(2026, 1, 5))

    assert outline(made.content).is_native


def segment(text: str, reference: str = "1.1.1") -> Segment:
    return Segment(reference, "", 1, [text], 1)


def test_long_documents_are_asked_about_in_chunks_within_the_limit() -> None:
    """OBL-029"""
    many = [segment("The operator shall keep this record safe. " * 60, f"1.1.{n}") for n in range(1, 300)]
    many.append(segment("word " * 150_000, "9.9.9"))

    packed = chunks(many)

    assert len(packed) >= 3
    assert all(asking.estimated_tokens(chunk.text) <= 100_000 for chunk in packed)
    assert sum(chunk.text.count("word") for chunk in packed) == 150_000


def test_words_that_do_not_stand_in_the_document_are_doubted() -> None:
    piece = segment("Surfaces ought to drain to the interceptor.")
    reading = read_pages([page_from_text(1, f"1.1.1 {piece.text}")], RULES)
    chunk = Chunk("", {1: reading.unmatched[0]})
    invented = Finding(
        1, "The operator shall paint the tank blue every week.", asking.Category.OPERATIONAL, None, 0.9
    )

    merged, doubts = merge(reading, [(chunk, [invented])], model="m")

    assert [doubt.review_type for doubt in doubts] == ["HALLUCINATION"]
    assert merged.conditions == ()
    assert len(merged.open_sentences) == 1


def test_too_many_obligations_are_cut_with_a_warning() -> None:
    """OBL-094"""
    text = "\n".join(f"1.1.{n} The operator shall keep log {n}." for n in range(1, 6))
    reading = read_pages([page_from_text(1, text)], RULES)

    merged, doubts = merge(reading, [], model="m", most=3)

    assert len(merged.conditions) == 3
    assert "first 3 of 5" in doubts[0].reason


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"obligations": "none"},
        {"obligations": [{"section": 1}]},
        {"obligations": [{"section": 9, "text": "x", "category": "MONITORING", "confidence_score": 0.5}]},
        {"obligations": [{"section": 1, "text": "x", "category": "NOISE", "confidence_score": 0.5}]},
        {"obligations": [{"section": 1, "text": "x", "category": "MONITORING", "confidence_score": 7}]},
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(answer: object) -> None:
    """OBL-029"""
    with pytest.raises(asking.AnswerInvalid):
        parse_answer(answer, Chunk("", {1: segment("x")}))


def test_a_variation_is_told_by_what_it_changed() -> None:
    @dataclass(frozen=True)
    class Clause:
        reference: str
        text: str

    old = [
        Clause("1.1", "The operator shall keep the site tidy at all times."),
        Clause("1.2", "Noise shall not exceed 50 decibels at the boundary."),
        Clause("1.3", "The operator shall submit a closure plan to the Agency."),
    ]
    new = [
        Clause("1.1", "The operator shall keep the site tidy at all times."),
        Clause("1.2", "Noise shall not exceed 45 decibels at the boundary."),
        Clause("1.3", "Odour must be checked daily along the fence by trained staff."),
        Clause("1.4", "The operator shall submit a closure plan to the Agency."),
    ]

    assert [(one.kind, one.new_reference or one.old_reference) for one in compare(old, new)] == [
        ("SAME", "1.1"),
        ("CHANGED", "1.2"),
        ("ADDED", "1.3"),
        ("RENUMBERED", "1.4"),
    ]
    assert [one.kind for one in compare(old, new[:2])][-1] == "GONE"
