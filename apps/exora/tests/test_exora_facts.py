"""Which facts may be stored: grounded on the page, not taken back by what stands around them, doses as read."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exora_words import document_of, document_of_letter

from backstay_exora.demo.letters import draw_letter
from backstay_exora.demo.people import draw_practice
from backstay_exora.domain.clinical import Accepted, ProposedFact, accept
from backstay_exora.domain.text import DocumentText
from exora_reader.facts import read_facts


def proposed(text: str) -> list[ProposedFact]:
    """What a model that never hesitates would propose: everything that is named, as active."""
    found = read_facts(text)
    facts = [_active("medication", entry, "name") for entry in found["medications"]]
    facts += [_active("condition", entry, "name") for entry in found["conditions"]]
    return facts + [_active("allergy", entry, "substance") for entry in found["allergies"]]


def _active(kind: Any, entry: dict[str, Any], name: str) -> ProposedFact:
    return ProposedFact(
        kind,
        entry[name],
        entry["quote"],
        entry["page"],
        entry.get("dose", ""),
        entry.get("route", ""),
        entry.get("frequency", ""),
        entry.get("reaction", ""),
    )


def accepted(text: str) -> Accepted:
    return accept(proposed(text), document_of(text))


def stored(text: str) -> set[tuple[str, str, str]]:
    return {(fact.kind, fact.name.lower(), fact.dose) for fact in accepted(text).stored}


def test_a_fact_is_stored_in_the_pages_own_words_with_its_boxes() -> None:
    """EXO-030"""
    (fact,) = accepted("She takes Metformin 500 mg twice daily.").stored

    assert (fact.kind, fact.name, fact.dose) == ("medication", "Metformin", "500 mg")
    assert fact.boxes == ({"page": 1, "left": 220.0, "top": 100.0, "right": 412.0, "bottom": 120.0},)


@pytest.mark.parametrize(
    "dose",
    [
        "0.5 mg",
        "500mg",
        "2.5 mg",
        "62.5 mcg",
        "1 g",
        "100/25 mg",
        "20 units",
        "2 puffs",
        "40 mg/0.4 mL",
        "0,5 mg",
    ],
)
def test_dose_unit_and_decimal_point_are_kept_as_read(dose: str) -> None:
    """EXO-030"""
    (fact,) = accepted(f"Medications:\nperindopril {dose} daily").stored

    assert fact.dose == dose


@pytest.mark.parametrize(
    "text",
    [
        "There is no evidence of pneumonia.",
        "She denies any history of asthma.",
        "Pulmonary embolism was ruled out on imaging.",
        "Nil hypertension.",
        "He is not taking warfarin 5 mg.",
        "Avoid ibuprofen 400 mg.",
        "No known allergy to penicillin.",
    ],
)
def test_what_a_letter_denies_is_never_stored(text: str) -> None:
    """EXO-030"""
    assert stored(text) == set()
    assert accepted(text).set_aside


@pytest.mark.parametrize(
    "text",
    [
        "Family history: mother had breast cancer.",
        "Her father has type 2 diabetes and takes metformin 500 mg daily.",
        "Family history\nstroke\nepilepsy",
        "His brother is allergic to penicillin.",
    ],
)
def test_what_is_said_of_somebody_else_is_never_stored(text: str) -> None:
    """EXO-030"""
    assert stored(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Warfarin 5 mg was ceased in May.",
        "We stopped amlodipine 5 mg because of swelling.",
        "Ceased medications:\natorvastatin 40 mg",
        "She previously took sertraline 50 mg.",
        "Her pneumonia has resolved.",
        "He no longer takes digoxin 62.5 mcg.",
    ],
)
def test_what_has_ended_is_never_stored_as_active(text: str) -> None:
    """EXO-030"""
    assert stored(text) == set()


@pytest.mark.parametrize(
    "text", ["Consider starting apixaban 5 mg.", "Suspected gout.", "We discussed metformin 500 mg."]
)
def test_what_is_only_considered_is_not_stored(text: str) -> None:
    """EXO-030"""
    assert stored(text) == set()


def test_a_denial_ends_where_another_clause_begins() -> None:
    """EXO-030"""
    text = "No pneumonia was found, but she has asthma. There is no rash; he has gout."

    assert stored(text) == {("condition", "asthma", ""), ("condition", "gout", "")}


@pytest.mark.parametrize(
    "text",
    [
        "Allergies: penicillin (rash)",
        "She is allergic to penicillin, which causes a rash.",
        "Adverse reactions:\npenicillin - hives",
        "Anaphylaxis to penicillin in 2010.",
        "He has a penicillin allergy.",
    ],
)
def test_an_allergy_is_stored_as_an_allergy(text: str) -> None:
    """EXO-030"""
    assert {(kind, name) for kind, name, _ in stored(text)} == {("allergy", "penicillin")}


def test_a_medication_that_stands_under_allergies_is_an_allergy() -> None:
    """EXO-030: even if the model calls it a medication."""
    text = "Allergies:\ncodeine"

    result = accept([ProposedFact("medication", "codeine", "codeine", 1)], document_of(text))

    assert [(fact.kind, fact.name) for fact in result.stored] == [("allergy", "codeine")]


def test_a_fact_whose_words_are_not_on_the_page_is_not_stored() -> None:
    """EXO-030"""
    document = document_of("She takes metformin 500 mg daily.")

    made_up = ProposedFact("medication", "insulin", "insulin 10 units daily", 1, "10 units")
    elsewhere = ProposedFact("medication", "insulin", "metformin 500 mg", 1, "10 units")

    assert accept([made_up, elsewhere], document).stored == ()


def test_a_dose_that_is_not_the_pages_is_a_review_item() -> None:
    """EXO-030"""
    document = document_of("She takes digoxin 62.5 mcg daily.")

    result = accept([ProposedFact("medication", "digoxin", "digoxin 62.5 mcg", 1, "625 mcg")], document)

    assert result.stored == ()
    assert [item.reason for item in result.to_review] == [
        "the dose on the page is not the dose that was given"
    ]


@pytest.mark.parametrize(
    ("text", "confidence"), [("digoxin 62.5 mcg", 0.5), ("digoxin 6O mcg", 0.96), ("digoxin .5 mg", 0.96)]
)
def test_an_unsure_reading_is_a_review_item(text: str, confidence: float) -> None:
    """EXO-030"""
    dose = text.removeprefix("digoxin ")

    result = accept(
        [ProposedFact("medication", "digoxin", text, 1, dose)], document_of(text, confidence=confidence)
    )

    assert result.stored == ()
    assert [item.reason for item in result.to_review] == ["the reading is unsure; look at the picture"]


def test_the_same_fact_is_stored_once() -> None:
    """EXO-031"""
    text = "She takes metformin 500 mg daily.\nMetformin 500 mg was continued."

    assert len(accepted(text).stored) == 1


def test_a_changed_dose_is_the_new_one() -> None:
    """EXO-030"""
    assert stored("Perindopril was increased from 5 mg to 10 mg daily.") == {
        ("medication", "perindopril", "10 mg")
    }


@pytest.mark.parametrize("seed", range(1000, 1040))
def test_facts_of_an_unseen_letter_are_read_and_decoys_are_not(seed: int) -> None:
    """EXO-030"""
    letter = draw_letter(draw_practice(seed)[seed % 5], seed)
    document = document_of_letter(letter)

    result = accept(proposed(_marked(document)), document)

    found = {(fact.name.lower(), fact.dose) for fact in result.stored if fact.kind == "medication"}
    assert found == {(name.lower(), dose) for name, dose in letter.truth.medications}
    others = {fact.name.lower() for fact in result.stored if fact.kind != "medication"}
    assert others == {*letter.truth.conditions, *letter.truth.allergies}


def test_a_model_that_says_inactive_is_believed() -> None:
    """EXO-030"""
    document = document_of("She takes metformin 500 mg daily.")
    fact = proposed("She takes metformin 500 mg daily.")[0]

    assert accept([replace(fact, is_active=False)], document).stored == ()


def test_reader_and_application_import_nothing_of_each_other() -> None:
    """EXO-028"""
    script = (
        "import sys, exora_reader.tasks\n"
        "assert not [name for name in sys.modules if name.startswith('backstay_exora')]\n"
        "import backstay_exora.domain.clinical, backstay_exora.domain.identity, backstay_exora.domain.fhir\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('backstay', 'asyncpg', 'fastapi')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    sources = Path(__file__).parent.parent / "src" / "backstay_exora"
    users = [path.name for path in sources.rglob("*.py") if "import exora_reader" in path.read_text()]
    assert users == []


def _marked(document: DocumentText) -> str:
    return "\n".join(f"=== PAGE {page} ===\n{document.page_text(page)}" for page in document.pages)
