"""In how many words can a letter take a fact back? A fact said otherwise is never stored as this patient's."""

import pytest
from exora_words import document_of
from test_exora_facts import accepted, proposed, stored

from backstay_exora.domain.clinical import ProposedFact, accept

DENIED = [
    "Diabetes - no",
    "Diabetes N",
    "Neither asthma nor diabetes.",
    "Screening for bowel cancer was negative.",
    "Investigations excluded pulmonary embolism.",
    "Coeliac disease was not found.",
    "ADHD was raised by her school and not confirmed.",
    "Asthma [ ]",
    "[ ] Asthma",
    "He never took warfarin 5 mg.",
    "Warfarin 5 mg: not taking",
    "Warfarin 5 mg (patient not taking)",
    "Aspirin 100 mg - declined",
    "She refused sertraline 50 mg.",
    "Do not take ibuprofen 400 mg.",
    "Ibuprofen 400 mg must not be given.",
    "Ibuprofen 400 mg is to be avoided.",
    "Medicines to avoid:\n- ibuprofen 400 mg",
]
OTHERS = [
    "Breast cancer (mother).",
    "Bowel cancer - father at age 60.",
    "Diabetes runs in the family.",
    "There is hypertension in both her parents.",
    "His late wife had dementia.",
    "The donor had hepatitis C.",
    "Neighbour with tuberculosis.",
    "The patient's daughter, who has epilepsy, takes valproate 200 mg.",
    "Mother: asthma. Father: hypertension.",
    "Pt's mat. grandmother - stroke",
    "Her mother came along. She takes warfarin 5 mg daily.",
    "His brother is unwell. He has asthma. He takes warfarin 5 mg daily.",
]
ENDED = [
    "Ramipril 2.5 mg daily - ceased",
    "Warfarin 2.5 mg nocte (stopped 3 May)",
    "Previous medications:\nwarfarin 5 mg daily",
    "Medicines no longer taken\n- warfarin 5 mg daily",
    "Warfarin 5 mg - d/c",
    "Frusemide 40 mg was suspended on admission.",
    "Please withhold metformin 500 mg until reviewed.",
    "Hold apixaban 5 mg before surgery.",
    "Course of cefalexin 500 mg completed.",
    "She has been off lithium 250 mg since June.",
    "She has come off sertraline 50 mg.",
    "Sertraline 50 mg has been weaned and ended.",
    "Amlodipine 5 mg replaced by perindopril.",
    "Leflunomide 20 mg had to be abandoned.",
    "Past history of asthma as a child, outgrown.",
    "Warfarin 5 mg daily (old dose)",
    "Prednisolone 25 mg until 3 March 2024, then nil.",
    "Home medications\nwarfarin 3 mg\n\nMedications on discharge\nParacetamol 1 g",
    "Current medications:\nwarfarin 5 mg daily\n\nProgress\nWarfarin was ceased today.",
]
PLANNED = [
    "I would recommend starting metformin 500 mg daily.",
    "If the pain persists, try tramadol 50 mg.",
    "Differential: gout, cellulitis.",
    "?pneumonia",
    "Hypertension?",
    "Metformin 500 mg may be added by you.",
]
OTHERWISE = [
    "She developed a rash on amoxicillin 500 mg.",
    "Trimethoprim 300 mg gave him hives.",
    "Metoclopramide 10 mg was given in theatre.",
    "Given in ED\nMetoprolol 5 mg IV once",
    "Please omit metformin 500 mg.",
    "Plan:\n- metformin 500 mg",
]


@pytest.mark.parametrize("text", DENIED + OTHERS + ENDED + PLANNED + OTHERWISE)
def test_what_a_letter_takes_back_in_any_words_is_not_stored(text: str) -> None:
    """EXO-030: even where the model proposes it as active."""
    kept = {name for _, name, _ in stored(text)} - {"paracetamol", "perindopril"}

    assert kept == set()
    assert accepted(text).set_aside or accepted(text).to_review


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Asthma: Yes  Epilepsy: No  Migraine: Yes", {"asthma", "migraine"}),
        ("Amlodipine 5 mg was stopped and perindopril 5 mg was started.", {"perindopril"}),
        ("We replaced amlodipine 5 mg with perindopril 5 mg.", {"perindopril"}),
        ("Tom came with his wife because of gout.", {"gout"}),
        ("His bipolar disorder is well held on lithium 450 mg bd.", {"bipolar disorder", "lithium"}),
        ("Her sister has asthma. Anna herself has asthma.", {"asthma"}),
        ("Type 2 diabetes is reviewed by the Diabetes Service.", {"type 2 diabetes"}),
        ("He takes metformin 500 mg. Warfarin 5 mg was ceased.", {"metformin"}),
        ("Oxycodone 5-10 mg prn", {"oxycodone"}),
    ],
)
def test_what_is_said_in_earnest_is_stored(text: str, expected: set[str]) -> None:
    """EXO-030"""
    assert {name for _, name, _ in stored(text)} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She had an anaphylactic reaction to vancomycin and must never be given vancomycin.", "vancomycin"),
        ("Allergic to penicillin - avoid.", "penicillin"),
        ("Penicillin allergy: do not give.", "penicillin"),
        ("Allergies:\npenicillin - avoid", "penicillin"),
        ("He is allergic to penicillin but not to cefalexin.", "penicillin"),
        ("Avoid penicillin (anaphylaxis).", "penicillin"),
    ],
)
def test_an_allergy_is_not_lost_where_a_letter_forbids_the_substance(text: str, expected: str) -> None:
    """EXO-030"""
    assert {(kind, name) for kind, name, _ in stored(text)} == {("allergy", expected)}


@pytest.mark.parametrize(
    "text",
    [
        "Possible penicillin allergy in childhood.",
        "Penicillin allergy, since delabelled.",
        "He has grown out of the egg allergy.",
    ],
)
def test_an_allergy_in_doubt_is_asked_about(text: str) -> None:
    """EXO-030"""
    assert stored(text) == set()
    assert [item.fact.kind for item in accepted(text).to_review] == ["allergy"]


@pytest.mark.parametrize("text", ["Digoxin 6Z.5 mcg daily", "Paracetamol 1.9 QID", "Warfarin 1 000 mg daily"])
def test_a_dose_that_nobody_could_read_is_a_review_item(text: str) -> None:
    """EXO-030: the medicine is not stored without the dose that stands there."""
    name = text.split()[0]

    result = accept([ProposedFact("medication", name, name, 1)], document_of(text))

    assert (result.stored, [item.reason for item in result.to_review]) == (
        (),
        ["the reading is unsure; look at the picture"],
    )


def test_a_number_of_tablets_is_no_unread_dose() -> None:
    """EXO-030"""
    assert stored("Medications:\nwarfarin 2 tablets daily") == {("medication", "warfarin", "")}


def test_a_relative_is_no_allergy() -> None:
    """EXO-030"""
    document = document_of("Allergies\nnil known\nMother - type 2 diabetes")

    assert accept([ProposedFact("allergy", "Mother", "Mother", 1)], document).stored == ()


def test_a_contradiction_is_shown_to_a_person() -> None:
    """EXO-030"""
    text = "Current medications:\nwarfarin 5 mg daily\n\nProgress\nWarfarin was ceased today."

    result = accept(proposed(text), document_of(text))

    assert "the letter also says that this has ended or is not so; read both places" in [
        item.reason for item in result.to_review
    ]
