"""Letters of five kinds in several layouts, drawn by a seed, each with the truth of what it says.

The reader knows nothing of this module. What a letter denies, says of a relative or says has ended is in its truth
as a decoy: none of it may ever be stored.
"""

import io
import random
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from backstay_exora.demo.people import Person, draw_person
from backstay_parts.optional import need

KINDS = ("referral", "discharge", "script", "pathology", "review")
PLANTS = (
    "other birth date",
    "swapped birth date",
    "other name",
    "other address",
    "other gender",
    "other record number",
    "second person",
    "too few",
)
"""What a letter can be made to have wrong."""

_DRUGS = [
    ("metformin", ["500 mg", "850 mg", "1 g"], "twice daily"),
    ("perindopril", ["2.5 mg", "5 mg", "10 mg"], "in the morning"),
    ("atorvastatin", ["20 mg", "40 mg", "80 mg"], "at night"),
    ("amlodipine", ["5 mg", "10 mg"], "daily"),
    ("levothyroxine", ["50 mcg", "75 mcg", "100 mcg"], "mane"),
    ("sertraline", ["50 mg", "100 mg"], "daily"),
    ("apixaban", ["2.5 mg", "5 mg"], "bd"),
    ("pantoprazole", ["20 mg", "40 mg"], "daily"),
    ("gliclazide MR", ["30 mg", "60 mg"], "daily"),
    ("frusemide", ["20 mg", "40 mg"], "mane"),
    ("prednisolone", ["5 mg", "25 mg"], "daily"),
    ("methotrexate", ["10 mg", "15 mg"], "once a week"),
    ("salbutamol", ["2 puffs"], "as needed"),
    ("warfarin", ["2 mg", "5 mg"], "nocte"),
    ("digoxin", ["62.5 mcg", "125 mcg"], "daily"),
    ("allopurinol", ["100 mg", "300 mg"], "daily"),
]
_CONDITIONS = [
    "hypertension",
    "type 2 diabetes",
    "atrial fibrillation",
    "asthma",
    "osteoarthritis",
    "hypothyroidism",
    "gout",
    "chronic kidney disease",
    "depression",
    "osteoporosis",
    "ischaemic heart disease",
]
_ALLERGIES = [
    ("penicillin", "rash"),
    ("codeine", "nausea"),
    ("latex", "hives"),
    ("trimethoprim", "anaphylaxis"),
]
_FAMILIAL = ["bowel cancer", "breast cancer", "stroke", "epilepsy"]
_DENIED = ["pneumonia", "pulmonary embolism", "heart failure", "anaemia"]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a letter says, and what it only seems to say."""

    medications: tuple[tuple[str, str], ...] = ()
    conditions: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    decoys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter: the file, for whom it was written, its truth, what is wrong with it."""

    filename: str
    content: bytes
    stated: Person
    truth: Truth
    kind: str
    plant: str | None = None
    lines: tuple[str, ...] = field(default=())


def draw_letter(
    person: Person, seed: int, *, kind: str | None = None, plant: str | None = None, pages: int = 1
) -> Letter:
    """A letter for the person as a PDF with text; `plant` makes it wrong in one way."""
    chance = random.Random(f"letter {seed}")  # noqa: S311 - repeatable fixtures, no secret
    chosen = kind or chance.choice(KINDS)
    written = _planted(person, plant, chance)
    truth = _truth(chance, chosen, drugs=6 * pages if pages > 1 else 3)
    lines = [
        *_letterhead(chance),
        "",
        *_patient_block(written, chance, is_scarce=plant == "too few"),
        *([f"MRN: {written.record_number}"] if plant == "other record number" else []),
        "",
        *_body(truth, chance, chosen, written),
    ]
    if plant == "second person":
        other = draw_person(chance)
        lines += [
            "",
            f"Patient: {other.given_names} {other.family_name}",
            f"DOB: {other.date_of_birth:%d/%m/%Y}",
        ]
    lines += ["", "Yours sincerely,", chance.choice(["Dr Susan Lee", "Dr A. Marchetti", "Dr Paul Okafor"])]
    content = _pdf(lines, chance, pages)
    return Letter(f"{chosen}-{seed}.pdf", content, person, truth, chosen, plant, tuple(lines))


def _planted(person: Person, plant: str | None, chance: random.Random) -> Person:
    other = draw_person(chance)
    match plant:
        case "other birth date":
            return replace(
                person, date_of_birth=person.date_of_birth + timedelta(days=chance.randint(1, 4000))
            )
        case "swapped birth date":
            born = person.date_of_birth
            day, month = (
                (born.month, born.day)
                if born.day <= 12 and born.day != born.month
                else (born.day % 12 + 1, born.month)
            )
            return replace(person, date_of_birth=date(born.year, month, day))
        case "other name":
            name = next(n for n in ("Beatrice", "Leonard") if n not in person.given_names)
            return replace(person, given_names=name)
        case "other address":
            return replace(person, address=f"{chance.randint(300, 900)} Elsewhere Road, Dubbo NSW 2830")
        case "other gender":
            return replace(person, gender="male" if person.gender == "female" else "female")
        case "other record number":
            return replace(person, record_number=other.record_number)
        case _:
            return person


def _letterhead(chance: random.Random) -> list[str]:
    return [
        chance.choice(
            ["Harbour Street Medical Centre", "St Vincent's Outpatients", "Northside Specialist Rooms"]
        ),
        f"{chance.randint(1, 90)} Collins Street, Melbourne VIC 3000",
        f"Phone (03) 9{chance.randint(100, 999)} {chance.randint(1000, 9999)}",
        f"{chance.randint(1, 28)} {chance.choice(['March', 'June', 'October'])} 2025",
    ]


def _patient_block(person: Person, chance: random.Random, *, is_scarce: bool) -> list[str]:
    title = "Mrs" if person.gender == "female" else "Mr"
    born = person.date_of_birth
    whole = f"{person.given_names} {person.family_name}"
    if is_scarce:
        return [
            f"Re: {title} {whole}",
            f"Medicare: {person.medicare[:4]} {person.medicare[4:9]} {person.medicare[9]}",
        ]
    sex = person.gender.capitalize()
    match chance.randint(0, 3):
        case 0:
            return [
                f"Re: {title} {whole}",
                f"DOB: {born:%d/%m/%Y}   Sex: {sex[0]}",
                f"Address: {person.address}",
                f"MRN: {person.record_number}",
            ]
        case 1:
            return [
                f"Patient: {person.family_name.upper()}, {person.given_names}",
                f"Date of birth: {born.day} {born:%B %Y}",
                f"Gender: {sex}",
                f"{person.address}",
                f"UR No: {person.record_number}",
            ]
        case 2:
            return [
                f"Surname: {person.family_name}",
                f"Given names: {person.given_names}",
                f"D.O.B. {born:%d.%m.%Y}",
                f"Sex: {sex}",
                f"Home address: {person.address}",
                f"IHI {person.ihi[:4]} {person.ihi[4:8]} {person.ihi[8:12]} {person.ihi[12:]}",
            ]
        case _:
            return [
                f"RE: {title} {whole}, born {born.day} {born:%b %Y}",
                f"of {person.address}",
                f"Record number {person.record_number}",
                f"Gender: {sex}",
            ]


def _truth(chance: random.Random, kind: str, *, drugs: int) -> Truth:
    chosen = chance.sample(_DRUGS, min(len(_DRUGS) - 1, max(1, drugs if kind != "pathology" else 1)))
    spare = next(name for name, _, _ in _DRUGS if name not in {drug for drug, _, _ in chosen})
    conditions = chance.sample(_CONDITIONS, 2)
    return Truth(
        tuple((name, chance.choice(doses)) for name, doses, _ in chosen),
        tuple(conditions),
        (chance.choice(_ALLERGIES)[0],),
        (spare, chance.choice(_FAMILIAL), chance.choice(_DENIED)),
    )


def _body(truth: Truth, chance: random.Random, kind: str, person: Person) -> list[str]:
    usage = {name: how for name, _, how in _DRUGS}
    reaction = dict(_ALLERGIES)[truth.allergies[0]]
    ended, family, denied = truth.decoys
    listed = [f"{name} {dose} {usage[name]}" for name, dose in truth.medications]
    if kind in {"referral", "review"}:
        she = "She" if person.gender == "female" else "He"
        return [
            "Dear Doctor,",
            f"Thank you for {'seeing' if kind == 'referral' else 'asking me to review'} this patient,"
            f" who has {truth.conditions[0]} and {truth.conditions[1]}.",
            f"{she} takes {', '.join(listed[:-1])}{' and ' if len(listed) > 1 else ''}{listed[-1]}.",
            f"{she} is allergic to {truth.allergies[0]}, which causes {reaction}.",
            f"There is no evidence of {denied}.",
            f"Family history: mother had {family}.",
            f"{ended.capitalize()} was ceased last year.",
        ]
    allergy = chance.choice(["Allergies:", "Known allergies:", "Adverse reactions:"])
    medicines = chance.choice(["Medications on discharge:", "Current medications:", "Regular medications:"])
    return [
        "Diagnoses:",
        *(f"- {name}" for name in truth.conditions),
        "",
        medicines,
        *(f"- {entry}" for entry in listed),
        "",
        f"{allergy} {truth.allergies[0]} ({reaction})",
        "",
        f"Ceased medications: {ended}",
        f"No {denied} was found on imaging.",
        f"Family history: father had {family}.",
    ]


def _pdf(lines: list[str], chance: random.Random, pages: int) -> bytes:
    buffer = io.BytesIO()
    canvas: Any = need("reportlab.pdfgen.canvas", extra="pdf").Canvas(
        buffer, pagesize=(595, 842), invariant=1
    )
    font, size = chance.choice(["Times-Roman", "Helvetica", "Courier"]), chance.choice([11, 12])
    wrapped = [piece for line in lines for piece in _wrapped(line, 62 if font == "Courier" else 78)]
    share = -(-len(wrapped) // pages)
    for number in range(pages):
        canvas.setFont(font, size)
        for row, line in enumerate(wrapped[number * share : (number + 1) * share]):
            canvas.drawString(64, 780 - row * (size + 7), line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    cut = line.rfind(" ", 0, width)
    return [line[:cut], *_wrapped(line[cut + 1 :], width)]
