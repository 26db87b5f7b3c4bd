"""Packs: what is asked, what is held, what a changed byte does; paths; literal sentences."""

from __future__ import annotations

from datetime import date

import pytest

from backstay_oblicore.domain import packs, storage_paths, texts
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.integrity import Fault, Filed, Found, check, integrity_report
from backstay_oblicore.domain.packs import PackRequest
from backstay_oblicore.domain.words import PackType, Role

ADMIN = frozenset({Role.ADMIN})


def request(**changes: object) -> PackRequest:
    facts: dict[str, object] = {
        "pack_type": PackType.AUDIT_PACK,
        "company_id": "c",
        "site_id": "s",
        "document_id": "d",
        "start": date(2026, 1, 1),
        "end": date(2026, 12, 31),
    }
    return PackRequest(**(facts | changes))  # type: ignore[arg-type]  # facts of several types


BOARD = {"pack_type": PackType.BOARD_MULTI_SITE_RISK, "site_id": None, "document_id": None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (BOARD | {"site_id": "s"}, "Board Pack must have site_id = null"),
        (BOARD | {"company_id": None}, "Board Pack requires company_id"),
        ({"site_id": None}, "AUDIT_PACK requires site_id"),
        ({"company_id": None}, "AUDIT_PACK requires company_id"),
        ({"document_id": None}, "AUDIT_PACK requires document_id"),
        ({"end": date(2025, 1, 1)}, "ends .* before it starts"),
        ({"output_format": "DOCX"}, "PDF or ZIP"),
        ({"recipient_type": "PRESS"}, "recipient_type is one of"),
    ],
)
def test_a_request_that_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    """OBL-070"""
    with pytest.raises(InvalidRequest, match=message):
        packs.check_request(request(**changes), roles=ADMIN)


def test_a_board_pack_is_for_owners_and_admins() -> None:
    """OBL-071"""
    packs.check_request(request(**BOARD), roles=ADMIN)
    with pytest.raises(AccessDenied):
        packs.check_request(request(**BOARD), roles=frozenset({Role.STAFF}))


def test_filters_choose_obligations_and_an_undated_one_belongs() -> None:
    """OBL-072"""
    inside, outside = [date(2026, 5, 1)], [date(2027, 5, 1)]

    assert packs.is_wanted(request(), status="PENDING", category=None, dues=inside)
    assert packs.is_wanted(request(), status="PENDING", category=None, dues=[])
    assert not packs.is_wanted(request(), status="PENDING", category=None, dues=outside)
    assert not packs.is_wanted(request(statuses=("OVERDUE",)), status="PENDING", category=None, dues=[])
    assert not packs.is_wanted(request(categories=("REPORTING",)), status="PENDING", category="X", dues=[])
    assert not packs.is_wanted(request(overdue_only=True), status="PENDING", category=None, dues=inside)


FILED = Filed("e1", "report.pdf", 10, "application/pdf", "aa")


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (Found(10, "application/pdf", "aa"), None),
        (None, Fault.MISSING_FILE),
        (Found(11, "application/pdf", "aa"), Fault.SIZE_MISMATCH),
        (Found(10, "text/plain", "aa"), Fault.TYPE_MISMATCH),
        (Found(10, "application/pdf", "bb"), Fault.HASH_MISMATCH),
    ],
)
def test_evidence_is_valid_only_if_everything_holds(found: Found | None, fault: Fault | None) -> None:
    """OBL-073"""
    result = check(FILED, found)

    assert result.fault is fault
    assert result.status == ("VALID" if fault is None else "INTEGRITY_ERROR")
    assert set(result.as_json()) == {"evidence_id", "file_exists", "metadata_valid", "hash_valid", "status"}
    assert integrity_report([result])["error_count"] == (fault is not None)


def test_only_two_types_carry_the_files_themselves() -> None:
    """OBL-074"""
    assert {pack for pack in PackType if packs.has_appendix(pack)} == {
        PackType.AUDIT_PACK,
        PackType.REGULATOR_INSPECTION,
    }


def test_a_changed_byte_is_named() -> None:
    files = {"a.pdf": b"one", "b.pdf": b"two"}
    sealed = packs.manifest(files, pack_id="p")

    assert packs.differences(sealed, files) == []
    assert packs.differences(sealed, files | {"b.pdf": b"twO"}) == ["b.pdf differs"]
    assert packs.differences(sealed, {"a.pdf": b"one", "c.pdf": b""}) == [
        "b.pdf is missing",
        "c.pdf was added",
    ]
    forged = sealed | {"files": sealed["files"][:1]}
    assert "the manifest itself was changed" in packs.differences(forged, files)


def test_every_path_is_built_in_one_place_from_safe_parts() -> None:
    """OBL-089"""
    assert storage_paths.document_original("c", "s", "d") == "documents/c/s/d/original.pdf"
    assert storage_paths.document_text("c", "s", "d") == "documents/c/s/d/extracted_text.txt"
    assert storage_paths.evidence_file("c", "s", "e", name="u", extension="pdf") == "evidence/c/s/e/u.pdf"
    assert (
        storage_paths.pack_file("c", None, "p", timestamp="1") == "audit-packs/c/company/p/audit-pack-1.pdf"
    )
    assert storage_paths.aer_pdf("c", "d", "a", year=2025) == "aer-documents/c/d/a/aer-2025.pdf"
    assert storage_paths.aer_csv("c", "d", "a", year=2025) == "aer-documents/c/d/a/aer-2025-data.csv"
    assert storage_paths.import_file("c", "s", "i", extension="xls") == "imports/c/s/i/original.xls"
    for part in ("..", "a/b", "", "a..b", ".hidden", "a\n"):
        with pytest.raises(InvalidRequest):
            storage_paths.document_original("c", part, "d")
    with pytest.raises(InvalidRequest):
        storage_paths.import_file("c", "s", "i", extension="exe")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (texts.document_done("P", count=5, flagged=0), '"P" has been processed. 5 obligations extracted.'),
        (
            texts.document_done("P", count=5, flagged=2),
            '"P" has been processed. 5 obligations extracted. 2 items flagged for review.',
        ),
        (
            texts.renewal_message("CONSENT", number="TE/1", expiry=date(2026, 5, 1)),
            "Your CONSENT (TE/1) expires on 2026-05-01. Please initiate renewal process.",
        ),
        (
            texts.renewal_message("CONSENT", number=None, expiry=date(2026, 5, 1)),
            "Your CONSENT expires on 2026-05-01. Please initiate renewal process.",
        ),
        (
            texts.pack_failed("BOARD_MULTI_SITE_RISK", error="x", is_validation=True),
            "Board Pack generation failed: x. Ensure company_id is provided and site_id is null.",
        ),
        (
            texts.pack_failed("AUDIT_PACK", error="x", is_validation=True),
            "Pack generation failed: x. Ensure site_id is provided.",
        ),
        (
            texts.pack_failed("AUDIT_PACK", error="x", is_validation=False),
            "Failed to generate AUDIT_PACK pack. Error: x",
        ),
    ],
)
def test_sentences_are_literal(text: str, expected: str) -> None:
    """OBL-034 OBL-063 OBL-079"""
    assert text == expected


LITERAL = {
    "UNKNOWN_FREQUENCY": "Unknown frequency: {frequency}",
    "FILE_NOT_FOUND": "File not found",
    "DOCUMENT_ACCESS": "Document not found or access denied",
    "EVIDENCE_TITLE": "Evidence Required: {summary}",
    "EVIDENCE_MESSAGE": "Evidence is required for obligation due on {due}",
    "DOCUMENT_DONE_TITLE": "Document Processed Successfully",
    "DOCUMENT_FAILED_TITLE": "Document Processing Failed",
    "DOCUMENT_FAILED": 'Processing failed for "{title}". {error}',
    "MISSING_COLUMN": "Missing required column: {field}",
    "MISSING_PERMIT_NUMBER": "Missing permit_number",
    "MISSING_OBLIGATION_TITLE": "Missing obligation_title",
    "INVALID_DATE": "Invalid date format",
    "INVALID_FREQUENCY": "Invalid frequency value",
    "SITE_NOT_FOUND": "Site not found",
    "SITE_WILL_BE_CREATED": "Site will be created",
    "DUPLICATE_OBLIGATION": "Duplicate obligation",
    "IMPORT_READY": "Your Excel import is ready. {valid} valid rows, {errors} errors.",
    "IMPORT_DONE": "{count} obligations imported successfully.",
    "IMPORT_FAILED": "Excel import failed - {error}",
    "SAMPLE_TITLE": "Sample Due: {parameter}",
    "SAMPLE_MESSAGE": "Sampling is due for {parameter} at {site}",
    "SAMPLING_PROGRESS": "Processed {n}/{total} parameters",
    "SAMPLING_FAILED": "Sampling schedule job failed",
    "RUN_HOURS_BREACHED": "Run-Hour Limit Breached",
    "RUN_HOURS_90": "Run-Hour Limit 90% Reached",
    "RUN_HOURS_80": "Run-Hour Limit 80% Warning",
    "RUN_HOURS_PROGRESS": "Checked {n}/{total} generators, {breaches} threshold breaches",
    "RUN_HOURS_FAILED": "Run-hour monitoring job failed",
    "AER_PROGRESS": "Processing generator {n}/{total}",
    "AER_FAILED": "AER generation failed",
    "RENEWAL_TITLE": "{days} Days: {title} Renewal",
    "RENEWAL_MESSAGE": "Your {document_type} ({number}) expires on {expiry}. Please initiate renewal process.",
    "RENEWAL_FAILED": "Permit renewal reminder job failed",
    "CROSS_SELL_PROGRESS": "Scanned {n}/{total} documents, {triggers} triggers created",
    "CROSS_SELL_MESSAGE": (
        "We detected references to {keyword} in your permit. Would you like to activate {module}?"
    ),
    "BOARD_HAS_SITE": "Board Pack must have site_id = null",
    "BOARD_NEEDS_COMPANY": "Board Pack requires company_id",
    "PACK_NEEDS_SITE": "{pack_type} requires site_id",
    "PACK_PROGRESS": "Processing obligation {n}/{total}, evidence {m}/{files}",
    "PACK_DONE_TITLE": "Audit Pack Generated Successfully",
    "PACK_FAILED_TITLE": "Pack Generation Failed",
    "PACK_FOOTER": "Generated: {date}",
    "JOB_FAILED": (
        "The {job_type} job failed after {retries} retries. Error: {error}. "
        "Please check the admin dashboard for details."
    ),
    "JOB_NOT_FOUND": "Job not found: {id}",
}


@pytest.mark.parametrize("name", sorted(LITERAL))
def test_each_promised_sentence_is_literal(name: str) -> None:
    assert getattr(texts, name) == LITERAL[name]
