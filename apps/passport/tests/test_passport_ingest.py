"""Documents in every format: the same facts, and clear refusals of what cannot be read."""

from __future__ import annotations

import io
import random
from decimal import Decimal
from typing import Any

import pytest
from PIL import Image
from pypdf import PdfWriter

from backstay_passport.demo.documents import as_json, as_scan, as_xml, form_pdf, table_pdf
from backstay_passport.demo.models import models
from backstay_passport.domain.errors import DocumentRejected
from backstay_passport.domain.facts import DocumentKind, read_facts
from backstay_passport.domain.facts.bom import COMPONENT
from backstay_passport.ingest.forms import read_rows
from backstay_passport.ingest.labels import read_label
from backstay_passport.ingest.layout import Cell, Row
from backstay_passport.ingest.reading import MAX_BYTES, read_document

PARTS = [
    {"sku": "CELL-21700", "name": "Cylindrical cell", "mass_kg": Decimal("0.0685"), "quantity": 444},
    {"sku": "MOD-12S", "name": "Module frame", "mass_kg": Decimal("3.25"), "quantity": 37},
    {"sku": "BMS-7", "name": "Control unit", "mass_kg": Decimal("1.4"), "quantity": 1},
    {"sku": "HOUSE-AL", "name": "Housing", "mass_kg": Decimal("58"), "quantity": 2},
]
HEADINGS = [("sku", "Article no."), ("name", "Description"), ("mass_kg", "Mass (kg)"), ("quantity", "Qty")]
CSV = b"""sku;Description;Weight (g);Pieces
CELL-21700;Cylindrical cell;68.5;444
MOD-12S;Module frame;3250;37
BMS-7;Control unit;1400.0;1
HOUSE-AL;Housing;58000;2
"""


def hashes(content: bytes, kind: DocumentKind = DocumentKind.BOM) -> dict[str, str]:
    """The facts of a document by key."""
    read = read_document(content)
    assert read.kind == kind
    return {fact.fact_key: fact.payload_hash.hex() for fact in read_facts(read.kind, read.content)}


def test_six_forms_of_one_bill_of_materials_give_the_same_facts() -> None:
    """BPC-044: JSON, XML, CSV, text PDF as table and as form, scanned PDF; the same payload hashes."""
    content = {"components": PARTS}
    pdf = table_pdf("Bill of materials", HEADINGS, PARTS)
    expected = hashes(as_json(content))
    assert len(expected) == 4
    for other in (
        as_xml(content, "bom"),
        CSV,
        pdf,
        form_pdf("Bill of materials", PARTS),
        as_scan(pdf, seed=3),
    ):
        assert hashes(other) == expected


def test_a_whole_model_is_read_alike_from_json_xml_and_form() -> None:
    """BPC-044: nested data in three formats."""
    for model in models():
        content = {"components": [model.component]}
        expected = hashes(as_json(content))
        assert hashes(as_xml(content)) == expected
        assert hashes(form_pdf("Bill of materials", [model.component])) == expected


def test_a_footprint_and_a_report_are_recognised_in_pdf() -> None:
    """BPC-044: PCF and due diligence by their content."""
    model = models()[1]
    pcf, report = {"declarations": model.declarations}, {"suppliers": model.suppliers}
    assert hashes(form_pdf("Carbon footprint", model.declarations), DocumentKind.PCF) == hashes(
        as_json(pcf), DocumentKind.PCF
    )
    assert hashes(form_pdf("Due diligence", model.suppliers), DocumentKind.DUE_DILIGENCE) == hashes(
        as_json(report), DocumentKind.DUE_DILIGENCE
    )


@pytest.mark.parametrize(
    "content",
    [
        b'{"letter": "hello"}',
        b"<note><to>you</to></note>",
        b"Dear customer,\nthank you for your order.\n",
        b"name;colour\nA;red\n",
    ],
)
def test_an_unknown_document_is_other(content: bytes) -> None:
    """BPC-044: unknown content is kind OTHER."""
    assert read_document(content).kind == DocumentKind.OTHER


def test_a_letter_as_pdf_is_other() -> None:
    """BPC-044: a PDF without a known table or form."""
    assert (
        read_document(form_pdf("Invoice 17", [{"customer": "Meyer", "total": Decimal(5)}])).kind
        == DocumentKind.OTHER
    )


def locked_pdf() -> bytes:
    """A PDF with a password."""
    writer = PdfWriter(clone_from=io.BytesIO(form_pdf("Bill of materials", PARTS)))
    writer.encrypt("secret", algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "pointer", "problem"),
    [
        (b"", "", "empty"),
        (b'{"components": [', "", "line 1 column"),
        (b'{"components": [{"sku": "A", "mass_kg": 1e3}]}', "/components/0/mass_kg", "1e3"),
        (b"<bom><component></bom>", "", "line 1 column"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "", "DOCTYPE"),
        (b"<a>" * 100 + b"</a>" * 100, "", "deeper"),
        (b"%PDF-1.4 nothing else", "", "damaged"),
        (form_pdf("Bill of materials", PARTS)[:300], "", "damaged"),
        (b"\x89PNG\r\n\x1a\n broken", "", "picture"),
        (b"x" * (MAX_BYTES + 1), "", "bytes"),
        (b"a,b\x00\n1,2\n", "", "not a text file"),
    ],
)
def test_what_cannot_be_read_is_rejected_with_a_reason(content: bytes, pointer: str, problem: str) -> None:
    """BPC-015, BPC-044: malformed, oversized, truncated."""
    with pytest.raises(DocumentRejected) as caught:
        read_document(content)
    assert caught.value.pointer == pointer
    assert problem in caught.value.problem


def test_a_locked_pdf_is_rejected() -> None:
    """BPC-015: encrypted documents."""
    with pytest.raises(DocumentRejected, match="password"):
        read_document(locked_pdf())


@pytest.mark.parametrize(
    ("label", "path", "unit"),
    [
        ("SKU", ("sku",), ""),
        ("Net weight (kg)", ("mass_kg",), "kg"),
        ("Rated capacity [Ah]", ("technical", "rated_capacity_ah"), "Ah"),
        ("Technical / Nominal voltage (V)", ("technical", "nominal_voltage_v"), "V"),
        ("technical.nominal_voltage_v", ("technical", "nominal_voltage_v"), ""),
        ("Material 2 / CAS number", ("materials", 1, "cas"), ""),
        ("materials[0].name", ("materials", 0, "name"), ""),
        ("Manufacturer / address / postal code:", ("manufacturer", "address", "postal_code"), ""),
        ("Raled capacily (Ah)", ("technical", "rated_capacity_ah"), "Ah"),
    ],
)
def test_a_label_is_understood_by_its_words(label: str, path: tuple[Any, ...], unit: str) -> None:
    """BPC-044: labels, synonyms, paths and small mistakes."""
    found = read_label(label, COMPONENT)
    assert found is not None
    assert (found.path, found.unit) == (path, unit)


@pytest.mark.parametrize("label", ["Country", "Colour of the box", "Telephone", "Site contact", ""])
def test_a_label_that_means_nothing_or_several_things_is_left_alone(label: str) -> None:
    """BPC-044: no guessing."""
    assert read_label(label, COMPONENT) is None


def test_a_number_in_a_wrong_unit_is_rejected_not_guessed() -> None:
    """BPC-015: a mass in litres has no value."""
    read = read_document(b"sku;Mass (litre)\nA;5\n")
    with pytest.raises(DocumentRejected) as caught:
        read_facts(read.kind, read.content)
    assert caught.value.pointer == "/components/0/mass_kg"


def test_a_row_without_its_number_is_not_swallowed() -> None:
    """BPC-015: a table row without an article number is rejected where it stands."""
    broken = [PARTS[0], {**PARTS[1], "sku": None}, PARTS[2]]
    read = read_document(table_pdf("Bill of materials", HEADINGS, broken))
    with pytest.raises(DocumentRejected) as caught:
        read_facts(read.kind, read.content)
    assert caught.value.pointer == "/components/1/sku"


@pytest.mark.parametrize("scanned", [False, True])
def test_a_column_that_nobody_knows_is_not_mixed_into_its_neighbours(scanned: bool) -> None:
    """BPC-015, BPC-044: its cells stay under its own heading, and those beside it stay what they are."""
    headings = [("sku", "SKU"), ("name", "Description"), ("colour", "Finish"), ("mass_kg", "Mass (kg)")]
    parts = [
        {"sku": "CELL-1", "name": "Cell", "colour": "blue", "mass_kg": 2},
        {"sku": "BMS-7", "name": "Control unit", "colour": "grey", "mass_kg": 1},
    ]
    pdf = table_pdf("Bill of materials", headings, parts)
    read = read_document(as_scan(pdf, seed=5) if scanned else pdf)
    facts = {fact.fact_key: fact.payload for fact in read_facts(read.kind, read.content)}
    assert facts["battery:CELL-1"] == {"sku": "CELL-1", "name": "Cell", "Finish": "blue", "mass_kg": "2"}
    assert facts["battery:BMS-7"] == {
        "sku": "BMS-7",
        "name": "Control unit",
        "Finish": "grey",
        "mass_kg": "1",
    }


def test_a_row_of_texts_without_its_number_is_not_swallowed() -> None:
    """BPC-015: nor joined to the row above it."""
    headings = [
        ("supplier_id", "Supplier no."),
        ("material", "Material"),
        ("risk", "Risk"),
        ("policy_url", "Policy"),
    ]
    rows = [
        {"supplier_id": "S1", "material": "Cobalt", "risk": "high", "policy_url": "https://a.example/p"},
        {"supplier_id": None, "material": "Nickel", "risk": "low", "policy_url": "https://b.example/p"},
    ]
    read = read_document(table_pdf("Supply chain due diligence", headings, rows))
    with pytest.raises(DocumentRejected) as caught:
        read_facts(read.kind, read.content)
    assert caught.value.pointer == "/suppliers/1/supplier_id"


def spoiled(content: bytes, seed: int) -> bytes:
    """A file with bytes changed, cut out, doubled or put in."""
    chance = random.Random(seed)
    changed = bytearray(content)
    for _ in range(chance.choice([1, 2, 5, 20])):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[at : at + chance.randrange(1, 40)]
            case 2:
                changed[at:at] = bytes(chance.choice(b'{}[]<>"\\,:;0\x009eE-.&/\xff') for _ in range(5))
            case _:
                changed[at:at] = changed[at // 2 : at // 2 + 30]
    return bytes(changed)


def picture() -> bytes:
    """A small picture."""
    target = io.BytesIO()
    Image.new("L", (60, 40), 255).save(target, "PNG")
    return target.getvalue()


@pytest.mark.parametrize("form", ["json", "xml", "csv", "pdf", "picture"])
def test_a_spoiled_file_is_read_or_rejected_and_nothing_else(form: str) -> None:
    """BPC-015, BPC-044: whatever happens to a file on its way, the answer is facts, OTHER or DOCUMENT_REJECTED."""
    content = {
        "json": as_json({"components": PARTS}),
        "xml": as_xml({"components": PARTS}),
        "csv": CSV,
        "pdf": table_pdf("Bill of materials", HEADINGS, PARTS),
        "picture": picture(),
    }[form]
    rejected = 0
    for seed in range(30 if form in ("pdf", "picture") else 150):
        try:
            read = read_document(spoiled(content, seed))
            if read.kind != DocumentKind.OTHER:
                read_facts(read.kind, read.content)
        except DocumentRejected:
            rejected += 1
    assert rejected > 0


@pytest.mark.parametrize(
    ("rows", "mass"),
    [
        ("A;1.250,5\nB;2,85", "1250.5"),
        ("A;1,250\nB;2,85", "1.25"),
        ("A;1.250\nB;2,85", "1250"),
        ("A;1,250\nB;2.85", "1250"),
        ("A;1.250\nB;2.85", "1.25"),
    ],
)
def test_digits_are_parted_as_the_rest_of_the_document_does_it(rows: str, mass: str) -> None:
    """BPC-044: a comma is a decimal mark only where another number of the document shows that it is."""
    read = read_document(f"sku;Mass (kg)\n{rows}\n".encode())
    facts = {fact.fact_key: fact.payload for fact in read_facts(read.kind, read.content)}
    assert facts["battery:A"]["mass_kg"] == mass


@pytest.mark.parametrize("rows", ["A;1,250\nB;2", "A;2.85\nB;2,85"])
def test_a_number_that_could_be_two_is_refused(rows: str) -> None:
    """BPC-015: one and a quarter, or one thousand two hundred and fifty? Nobody guesses."""
    read = read_document(f"sku;Mass (kg)\n{rows}\n".encode())
    with pytest.raises(DocumentRejected, match="mass_kg"):
        read_facts(read.kind, read.content)


def test_what_stands_below_a_table_says_nothing_of_its_last_row() -> None:
    """BPC-015: a form's field behind a table is not taken for one of the row before."""
    rows = [_row("SKU", "Description"), _row("A", "Pack"), _row("B", "Cell"), _row("Chemistry: NMC")]
    assert read_rows(rows) == {
        "components": [{"sku": "A", "name": "Pack"}, {"sku": "B", "name": "Cell"}, {"chemistry": "NMC"}]
    }


def test_a_remark_below_a_table_is_no_battery() -> None:
    """BPC-015: a row of one cell that is no number ends the table; one that is stays, and is refused where it lacks."""
    heading, first = _row("SKU", "Description"), _row("A", "Pack")
    remark = read_rows([heading, first, _row("Subject to technical changes")])
    number = read_rows([heading, first, _row("B-2")])
    assert remark == {"components": [{"sku": "A", "name": "Pack"}]}
    assert number == {"components": [{"sku": "A", "name": "Pack"}, {"sku": "B-2"}]}


def _row(*texts: str) -> Row:
    cells = tuple(Cell(text, 100.0 * place, 100.0 * place + 50) for place, text in enumerate(texts))
    return Row(1, 0, 10, cells)


def test_a_footprint_with_a_column_for_each_stage_is_read_stage_by_stage() -> None:
    """BPC-044: in the unit of each column; a column that is no stage is kept as it is."""
    heading = "SKU,Declared unit,Raw materials (g CO2e/kWh),Production (kg CO2e/kWh),Distribution,Checked by"
    read = read_document(f"{heading}\nA,1 kWh,44100,16.2,1.9,TÜV\n".encode())
    found = {fact.fact_key: fact.payload["kg_co2e"] for fact in read_facts(read.kind, read.content)}
    assert found == {
        "pcf:A:RawMaterialExtraction": "44.1",
        "pcf:A:MainProduction": "16.2",
        "pcf:A:Distribution": "1.9",
    }
