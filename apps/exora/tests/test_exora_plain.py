"""What a letter does not say plainly is asked about: wordings that no list of cues knows, and plain ones."""

from dataclasses import replace

import pytest
from exora_words import document_of
from test_exora_facts import accepted, proposed, stored

from backstay_exora.domain.clinical import accept

NOT_PLAIN = [
    "? pneumonia",
    "Diagnosis: ? pneumonia",
    "strong family background of stroke",
    "Her diabetes screen was clear",
    "Pneumonia is thought improbable",
    "Atenolol 50 mg, nil since 2019",
    "Clopidogrel 75 mg daily, finishing March 2023",
    "Recovered from pneumonia",
    "Childhood asthma",
    "Penicillin allergy disproved by testing",
    "Warfarin 5 mg - trial only, please review need",
    "Gout seems a remote prospect",
    "Her neighbours think she has epilepsy",
    "We were asked to look into coeliac disease",
    "A label of asthma was given in error",
    "Asthma has not been a feature since 1990",
    "She beat breast cancer in 2001",
    "Query raised by GP regarding gout",
    "Hypertension cured after weight loss",
    "The leaflet on diabetes was handed over",
    "Metformin 500 mg left off",
    "Amlodipine 5 mg caused ankle swelling",
    "Ramipril 5 mg did not suit her",
    "Perindopril 5 mg until last month",
    "Methotrexate 10 mg held back",
    "Tramadol 50 mg (had in hospital)",
    "Codeine 30 mg from her husband's supply",
    "Suspicion of gout fell away",
    "She fears dementia",
    "Cancer screening: breast cancer negative",
    "Tuberculosis contact tracing",
    "Evidence for lupus is thin",
    "Penicillin: tolerated amoxicillin since, so not allergic",
    "Vague history of penicillin allergy",
    "Old records mention asthma but spirometry was normal",
    "Epilepsy ruled out",
    "Stroke mimic",
    "Anxiety about dementia",
    "At her age pneumonia would be serious",
    "Sertraline 50 mg was of no use",
    "Ibuprofen 400 mg: do not repeat",
    "Type 2 diabetes went into remission after surgery",
    "Insulin 10 units was last given in 2015",
    "Apixaban 5 mg script not collected",
    "Gout is a remote prospect",
]
PLAIN = [
    "Asthma",
    "Asthma since childhood",
    "She has asthma.",
    "Known asthma, on salbutamol",
    "Type 2 diabetes (2010)",
    "Type 2 diabetes, diet controlled",
    "Her gout is well controlled.",
    "History of atrial fibrillation",
    "Past medical history: hypertension, gout and asthma.",
    "He suffers from migraine.",
    "This 60 year old man with hypertension was reviewed.",
    "Atrial fibrillation, rate controlled on metoprolol 25 mg bd",
    "Metformin 500 mg twice daily with meals",
    "Atorvastatin 40 mg nocte",
    "Warfarin 5 mg as per INR",
    "Paracetamol 1 g qid prn for pain",
    "Salbutamol 100 mcg 2 puffs prn for wheeze",
    "Insulin glargine 20 units at night",
    "Osteoarthritis of both knees",
    "She was diagnosed with breast cancer in 2020.",
    "MRI confirmed multiple sclerosis.",
    "Hypertension - well controlled",
    "COPD with frequent exacerbations",
    "Depression - on sertraline 50 mg daily",
    "HISTORY COPD, HYPERTENSION",
    "Drops: latanoprost 50 mcg/mL nocte",
]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_what_is_not_said_plainly_is_not_stored(text: str) -> None:
    """EXO-030: even where the model proposes it as active; a person is asked, or it is set aside."""
    assert proposed(text), "the reader names it"

    result = accepted(text)

    assert result.stored == ()
    assert result.to_review or result.set_aside


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_said_plainly_is_stored_without_a_question(text: str) -> None:
    """EXO-030"""
    result = accepted(text)

    assert {fact.name for fact in result.stored} == {fact.name for fact in proposed(text)}
    assert result.to_review == ()


def test_the_past_medical_history_has_not_ended() -> None:
    """EXO-030"""
    text = "Past medical history\nhypertension\ngout"

    assert {name for _, name, _ in stored(text)} == {"hypertension", "gout"}


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("Medications:\nmetformin 500 mg twice daily", {"frequency": "four times a day"}),
        ("Medications:\nmetformin 500 mg twice daily", {"route": "IV"}),
        ("He takes metformin 500 mg daily and sertraline 50 mg nocte.", {"frequency": "nocte"}),
        ("Allergies: penicillin (rash)", {"reaction": "anaphylaxis"}),
    ],
)
def test_how_it_is_taken_and_what_it_does_must_stand_on_the_page(text: str, given: dict[str, str]) -> None:
    """EXO-030: what the model only says of it is a question for a person."""
    first, *others = proposed(text)

    right = accept([first, *others], document_of(text))
    wrong = accept([replace(first, **given), *others], document_of(text))

    assert first.name in {fact.name for fact in right.stored}
    assert first.name not in {fact.name for fact in wrong.stored}
    assert [item.reason for item in wrong.to_review] == [
        "how it is taken, or what it does, does not stand there in the words that were given"
    ]


def test_the_pages_own_frequency_is_kept() -> None:
    """EXO-030"""
    (fact,) = accepted("Medications:\nmetformin 500 mg twice daily").stored

    assert (fact.dose, fact.frequency) == ("500 mg", "twice daily")
