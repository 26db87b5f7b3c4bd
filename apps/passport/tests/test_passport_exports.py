"""Ingest and export as jobs: every format, readable by other people's tools, the same bytes each time."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import base58
import jsonschema
import nacl.signing
import pypdf
import pytest
import rfc8785
import zxingcpp
from lxml import etree
from passport_world import World
from PIL import Image
from pyld import jsonld
from sqlalchemy import select

from backstay.testing import SyncHarness
from backstay_parts.pdf import open_pdf
from backstay_passport.actions import documents, passports
from backstay_passport.demo.documents import as_json, as_scan, as_xml, form_pdf, table_pdf
from backstay_passport.domain.bundle import bundle_artifacts, read_zip
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.domain.facts import DocumentKind
from backstay_passport.domain.fields import SUBMODELS
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.replay import replay
from backstay_passport.domain.tiers import Tier, tier_of
from backstay_passport.domain.verify import holds, verify
from backstay_passport.export import ExportFormat
from backstay_passport.export.labels import Label, label_sheet
from backstay_passport.export.schemas import json_schema, xsd
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.store import documents as store
from backstay_passport.store.tables import document_versions, facts, passport_exports, passport_versions

PARTS = [
    {"sku": "CELL-1", "name": "Cell", "mass_kg": 2},
    {"sku": "BMS-7", "name": "Control unit", "mass_kg": 1},
]
# SHA-256 of the canonical bytes, made by hand: {"mass_kg":"2","name":"Cell","sku":"CELL-1"} and the other one.
HASHES = {
    f"battery:{sku}": hashlib.sha256(
        f'{{"mass_kg":"{mass}","name":"{name}","sku":"{sku}"}}'.encode()
    ).hexdigest()
    for sku, name, mass in (("CELL-1", "Cell", 2), ("BMS-7", "Control unit", 1))
}
HEADINGS = [("sku", "SKU"), ("name", "Description"), ("mass_kg", "Mass (kg)")]


def rows(world: World, table: Any) -> list[Any]:
    """All rows of a table."""
    with world.services.database.read() as connection:
        return list(connection.execute(select(table)).mappings())


def upload(world: World, content: bytes, mime_type: str) -> None:
    """Upload a file of any format."""
    documents.upload(
        world.services, world.tenant, name="file", content=content, mime_type=mime_type, kind=None
    )


@pytest.fixture
def version_id(runner: SyncHarness, world: World) -> str:
    """A signed version of a whole model."""
    world.full()
    runner.drain()
    return str(rows(world, passport_versions)[0]["id"])


def exported(
    runner: SyncHarness, world: World, version: str, chosen: ExportFormat, *, public: bool = False
) -> bytes:
    """Export a version by a job, twice; both must be the same."""
    for _ in range(2):
        passports.export_version(world.services, world.tenant, version, chosen, public=public)
    drained = runner.drain()
    assert drained.completed == 2, [one.job.error for one in drained.attempts]
    first, second = rows(world, passport_exports)
    assert bytes(first["content"]) == bytes(second["content"])
    assert bytes(first["content_hash"]) == sha256(bytes(first["content"]))
    return bytes(first["content"])


@pytest.mark.parametrize("form", ["json", "xml", "text pdf", "scanned pdf"])
def test_a_file_is_ingested_and_its_facts_are_read(runner: SyncHarness, world: World, form: str) -> None:
    """BPC-044: INGEST_DOCUMENT → version → PARSE_FACTS; JSON, XML, text PDF and scanned PDF give the same hashes."""
    pdf = table_pdf("Bill of materials", HEADINGS, PARTS)
    content = {
        "json": as_json({"components": PARTS}),
        "xml": as_xml({"components": PARTS}),
        "text pdf": pdf,
        "scanned pdf": as_scan(pdf) if form == "scanned pdf" else b"",
    }[form]
    types = {"json": "application/json", "xml": "application/xml"}
    upload(world, content, types.get(form, "application/pdf"))

    drained = runner.drain()

    assert [one.job.kind for one in drained.attempts] == ["INGEST_DOCUMENT", "PARSE_FACTS"]
    [version] = rows(world, document_versions)
    assert (version["kind"], version["format"], version["status"]) == ("BOM", form, "VALIDATED")
    assert {row["fact_key"]: bytes(row["payload_hash"]).hex() for row in rows(world, facts)} == HASHES


def test_an_unknown_file_is_kept_as_other(runner: SyncHarness, world: World) -> None:
    """BPC-044: unknown content is OTHER, without PARSE_FACTS."""
    upload(world, form_pdf("Invoice", [{"customer": "Meyer"}]), "application/pdf")
    assert [one.job.kind for one in runner.drain().attempts] == ["INGEST_DOCUMENT"]
    assert rows(world, document_versions)[0]["kind"] == "OTHER"


def locked_pdf() -> bytes:
    """A PDF with a password."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(table_pdf("Bill of materials", HEADINGS, PARTS)))
    writer.encrypt("secret", algorithm="RC4-128")
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


UNREADABLE = {
    "malformed pdf": (b"%PDF-1.4 broken", "damaged"),
    "malformed xml": (b"<a><b></a>", "line 1 column"),
    "malformed json": (b'{"components": [', "line 1 column"),
    "malformed picture": (b"\x89PNG broken", "picture"),
    "unknown encoding": (b'<?xml version="1.0" encoding="U-9"?><bom/>', "not XML"),
    "empty": (b" ", "empty"),
    "encrypted": (locked_pdf(), "password"),
    "truncated": (table_pdf("Bill of materials", HEADINGS, PARTS)[:700], "damaged"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_is_rejected_once(runner: SyncHarness, world: World, name: str) -> None:
    """BPC-015, BPC-044: REJECTED with a reason, one attempt, nothing else left."""
    content, problem = UNREADABLE[name]
    upload(world, content, "application/octet-stream")
    drained = runner.drain()
    assert (drained.dead, len(drained.attempts)) == (1, 1)
    assert drained.attempts[0].job.error is not None
    assert drained.attempts[0].job.error["code"] == "DOCUMENT_REJECTED"
    [version] = rows(world, document_versions)
    assert version["status"] == "REJECTED"
    assert problem in json.loads(version["error"])["problem"]
    assert (bytes(version["content"]), rows(world, facts)) == (b"", [])
    assert len(world.events("DOCUMENT_REJECTED")) == 1


def test_an_oversized_file_is_rejected_before_it_is_read(
    runner: SyncHarness, world: World, tmp_path: Path
) -> None:
    """BPC-015, BPC-044: one byte too many, in the folder; as an upload it is not even taken."""
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    world.services.settings = replace(world.services.settings, files_dir=tmp_path)
    with world.services.database.begin() as connection:
        document_id = store.add_document(connection, world.tenant, "large", "BOM")
    where = {"document_id": document_id, "file_url": f"file://{tmp_path / 'large.json'}", "mime_type": "x/y"}
    world.services.enqueue("INGEST_DOCUMENT", world.tenant, **where)

    drained = runner.drain()

    assert (drained.dead, len(drained.attempts)) == (1, 1)
    [version] = rows(world, document_versions)
    assert (version["status"], bytes(version["content"])) == ("REJECTED", b"")
    assert f"{MAX_BYTES + 1} bytes" in json.loads(version["error"])["problem"]
    with pytest.raises(InvalidInput, match="a document may have"):
        upload(world, bytes(MAX_BYTES + 1), "application/json")
    assert len(rows(world, document_versions)) == 1


@pytest.mark.parametrize(
    ("kind", "content", "pointer"),
    [
        ("PCF", as_xml({"components": PARTS}), "/declarations"),
        ("BOM", form_pdf("Invoice", [{"customer": "Meyer"}]), "/components"),
        ("DUE_DILIGENCE", b"Dear customer,\nthank you.\n", "/suppliers"),
        ("BOM", b'{"components": [{"sku": "A\\u0000B"}]}', "/components/0/sku"),
    ],
)
def test_a_file_of_the_wrong_kind_is_rejected_where_it_is_wrong(
    runner: SyncHarness, world: World, kind: str, content: bytes, pointer: str
) -> None:
    """BPC-012, BPC-015, BPC-044: called one thing, being another; with a pointer, once, without facts."""
    documents.upload(
        world.services,
        world.tenant,
        name="wrong",
        content=content,
        mime_type="application/octet-stream",
        kind=DocumentKind(kind),
    )
    drained = runner.drain()
    assert [one.job.kind for one in drained.attempts] == ["INGEST_DOCUMENT", "PARSE_FACTS"]
    assert drained.dead == 1
    [version] = rows(world, document_versions)
    assert (version["status"], json.loads(version["error"])["pointer"]) == ("REJECTED", pointer)
    assert rows(world, facts) == []


def test_files_outside_of_the_folder_are_refused(runner: SyncHarness, world: World, tmp_path: Path) -> None:
    """BPC-044: file addresses stay below the folder that was set."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "bom.json").write_text('{"components": [{"sku": "A"}]}')
    (tmp_path / "secret.json").write_text('{"components": [{"sku": "B"}]}')
    world.services.settings = replace(world.services.settings, files_dir=folder)
    with world.services.database.begin() as connection:
        document_id = store.add_document(connection, world.tenant, "bom", None)
    for path in (folder / "bom.json", folder / ".." / "secret.json"):
        world.services.enqueue(
            "INGEST_DOCUMENT",
            world.tenant,
            document_id=document_id,
            file_url=f"file://{path}",
            mime_type="application/json",
        )

    drained = runner.drain()

    assert {row["fact_key"] for row in rows(world, facts)} == {"battery:A"}
    [dead] = [one.job for one in drained.attempts if one.job.error]
    assert "not below BPC_FILES_DIR" in dead.error["message"]


def test_the_pdf_can_be_read_and_scanned(runner: SyncHarness, world: World, version_id: str) -> None:
    """BPC-045: text and code of the PDF, by other libraries."""
    content = exported(runner, world, version_id, ExportFormat.PDF)
    pages = pypdf.PdfReader(io.BytesIO(content)).pages
    text = "\n".join(page.extract_text() for page in pages)
    assert version_id in text
    assert "NMC811" in text
    codes = [
        code.text
        for image in pages[0].images
        for code in zxingcpp.read_barcodes(Image.open(io.BytesIO(image.data)).convert("L"))
    ]
    assert codes == [rows(world, passport_versions)[0]["qr_payload"]]


def test_json_ld_expands_offline_and_holds_the_data_model(
    runner: SyncHarness, world: World, version_id: str
) -> None:
    """BPC-045: expansion needs no network; the seven submodels are exactly those of the data model."""
    content = exported(runner, world, version_id, ExportFormat.JSON_LD)
    document = json.loads(content)
    for name in SUBMODELS:
        schema = json_schema(name)
        jsonschema.Draft4Validator.check_schema(schema)
        jsonschema.Draft4Validator(schema).validate(document[name])

    def nobody(url: str, _options: object) -> Any:
        raise AssertionError(f"asked the network for {url}")

    [expanded] = jsonld.expand(document, {"documentLoader": nobody})
    assert expanded["@type"] == ["https://w3id.org/backstay/battery-passport#BatteryPassport"]


def test_xml_validates_against_its_schema(runner: SyncHarness, world: World, version_id: str) -> None:
    """BPC-045: an independent validator accepts it."""
    content = exported(runner, world, version_id, ExportFormat.XML)
    schema = etree.XMLSchema(etree.fromstring(xsd().encode()))
    schema.assertValid(etree.fromstring(content))


def test_the_credential_is_verified_by_another_library(
    runner: SyncHarness, world: World, version_id: str
) -> None:
    """BPC-045: eddsa-jcs-2022, verified with rfc8785 and PyNaCl."""
    document = json.loads(exported(runner, world, version_id, ExportFormat.VC, public=True))
    proof = document.pop("proof")
    signature = base58.b58decode(proof.pop("proofValue")[1:])
    key = base58.b58decode(document["issuer"].removeprefix("did:key:z"))[2:]
    hashed = sha256(rfc8785.dumps(proof)) + sha256(rfc8785.dumps(document))
    nacl.signing.VerifyKey(key).verify(hashed, signature)
    assert "batteryStatus" not in json.dumps(document)


def test_bundles_verify_and_only_the_holders_is_replayed(
    runner: SyncHarness, world: World, version_id: str
) -> None:
    """BPC-018, BPC-045: the holder's bundle from the database is recomputed to the same three hashes."""
    bundle = read_zip(exported(runner, world, version_id, ExportFormat.ZIP))
    assert holds(verify(bundle_artifacts(bundle)))
    assert all(one.equal for one in replay(bundle))


@pytest.mark.parametrize(
    "chosen", [ExportFormat.JSON_LD, ExportFormat.XML, ExportFormat.PDF, ExportFormat.ZIP]
)
def test_a_public_export_has_nothing_of_other_tiers(
    runner: SyncHarness, world: World, version_id: str, chosen: ExportFormat
) -> None:
    """BPC-045: values of restricted tiers are in no public export."""
    content = exported(runner, world, version_id, chosen, public=True)
    if chosen == ExportFormat.PDF:
        content = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages).encode()
    assert tier_of("Labeling.resultOfTestReport") == Tier.AUTHORITY
    for hidden in (b"test-report.pdf", b"dismantling.pdf", b"Kiel Battery Parts", b"Iron phosphate"):
        assert hidden not in content


def test_a_version_that_is_not_signed_is_not_exported(
    runner: SyncHarness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BPC-045: only signed versions."""
    monkeypatch.delenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64")
    world.compile()
    runner.drain()
    passports.export_version(
        world.services, world.tenant, rows(world, passport_versions)[0]["id"], ExportFormat.XML, public=True
    )
    [ran] = runner.drain().attempts
    assert ran.job.error is not None
    assert ran.job.error["code"] == "INVALID_PASSPORT_STATUS"


def test_an_export_is_written_to_its_destination(
    runner: SyncHarness, world: World, version_id: str, tmp_path: Path
) -> None:
    """BPC-045: a file at the destination, with the bytes that are stored."""
    world.services.settings = replace(world.services.settings, files_dir=tmp_path)
    target = tmp_path / "out" / "passport.xml"
    passports.export_version(
        world.services,
        world.tenant,
        version_id,
        ExportFormat.XML,
        public=True,
        destination=f"file://{target}",
    )
    runner.drain()
    assert target.read_bytes() == bytes(rows(world, passport_exports)[0]["content"])


def test_a_label_sheet_has_a_readable_code_for_each_battery() -> None:
    """BPC-031: every label has its own code, and a reader reads it."""
    urls = [f"https://id.example/01/04006381333931/21/S{number:03d}" for number in range(25)]
    sheet = label_sheet([Label(url, "Pack", "04006381333931", url[-4:]) for url in urls])
    found: list[str] = []
    with open_pdf(sheet) as pdf:
        for number in range(1, pdf.page_count + 1):
            found += [code.text for code in zxingcpp.read_barcodes(pdf.render(number, dpi=200))]
    assert sorted(found) == urls
