"""AUDIT_PACK_GENERATION and PACK_DISTRIBUTION: read back by another library, sent once, checked byte by byte."""

from __future__ import annotations

import hashlib
import io
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pdfplumber
import pytest
from pypdf import PdfReader

from backstay import State
from backstay_oblicore import intake
from backstay_oblicore.domain.errors import AccessDenied, DocumentMissing, InvalidRequest
from backstay_oblicore.domain.packs import HEADINGS
from backstay_oblicore.domain.words import PackType
from backstay_oblicore.print.pages import attachments, lay_out, paragraph
from backstay_oblicore.web.verifying import verify_pack

EVIDENCE = lay_out("Evidence", [paragraph("Calibration certificate of the effluent meter")])


async def prepared(world: Any) -> tuple[UUID, UUID, UUID]:
    document = await world.document(permit_number="EPR/1", title="Factory permit")
    duty = await world.obligation(
        document,
        condition_reference="2.3.1",
        original_text="The meter shall be calibrated annually.",
        status="OVERDUE",
    )
    await world.obligation(
        document, condition_reference="1.1.1", status="COMPLETED", summary="Keep the system"
    )
    evidence = await intake.add_evidence(
        world.services,
        EVIDENCE,
        user=world.manager,
        site=world.site,
        file_name="certificate.pdf",
        obligations=[duty],
    )
    return document, duty, evidence


def request(
    world: Any, document: UUID | None, pack_type: PackType = PackType.AUDIT_PACK, **values: Any
) -> dict[str, Any]:
    return {
        "pack_type": pack_type,
        "company_id": world.company,
        "site_id": world.site if document else None,
        "document_id": document,
        "date_range_start": date(2026, 1, 1),
        "date_range_end": date(2026, 12, 31),
        "requested_by": world.manager,
        **values,
    }


async def stored(world: Any) -> tuple[Any, bytes]:
    [row] = await world.rows("SELECT * FROM oblicore.audit_packs")
    return row, await world.services.storage.get(row["storage_path"])


@pytest.mark.parametrize("pack_type", list(PackType))
async def test_each_type_has_its_sections_and_page_numbers(world: Any, pack_type: PackType) -> None:
    """OBL-074 OBL-075 OBL-076 OBL-077 OBL-079"""
    document, _, _ = await prepared(world)
    is_board = pack_type is PackType.BOARD_MULTI_SITE_RISK

    await world.run("AUDIT_PACK_GENERATION", **request(world, None if is_board else document, pack_type))

    row, content = await stored(world)
    with pdfplumber.open(io.BytesIO(content)) as pdf:
        texts = [page.extract_text() for page in pdf.pages]
    whole = "\n".join(texts)
    assert all(heading in whole for heading in HEADINGS[pack_type])
    assert all(f"Page {n} of {len(texts)}" in text for n, text in enumerate(texts, start=1))
    assert all("Generated: " in text for text in texts)
    assert ("Calibration certificate" in whole) is (
        pack_type in (PackType.AUDIT_PACK, PackType.REGULATOR_INSPECTION)
    )
    assert (row["total_obligations"], row["overdue_count"], row["complete_count"]) == (2, 1, 1)
    assert (row["evidence_count"], row["integrity_errors_count"]) == (1, 0)
    assert row["file_sha256"] == hashlib.sha256(content).hexdigest()
    assert f"/{'company' if is_board else world.site}/" in row["storage_path"]
    shape = row["content"]
    assert set(shape) == {"metadata", "summary", "obligations", "integrity_report"}
    assert set(shape["obligations"][0]) >= {
        "id", "reference", "summary", "original_text", "category", "frequency", "status", "deadlines", "evidence",
    }  # fmt: skip
    assert [duty["reference"] for duty in shape["obligations"]] == ["1.1.1", "2.3.1"]
    assert PdfReader(io.BytesIO(content)).outline
    assert (
        await world.value(
            "SELECT count(*) FROM oblicore.audit_logs WHERE action_type = 'AUDIT_PACK_GENERATED'"
        )
        == 1
    )
    note = (await world.rows("SELECT * FROM oblicore.notifications"))[0]
    assert note["title"] == "Audit Pack Generated Successfully"
    assert note["action_url"] == f"/audit-packs/{row['id']}/download"


@pytest.mark.parametrize("fault", ["MISSING_FILE", "SIZE_MISMATCH", "TYPE_MISMATCH", "HASH_MISMATCH"])
async def test_evidence_that_changed_is_named(world: Any, fault: str) -> None:
    """OBL-073 OBL-078"""
    document, _, evidence = await prepared(world)
    path = await world.value("SELECT storage_path FROM oblicore.evidence_items")
    flipped = EVIDENCE[:-1] + bytes([EVIDENCE[-1] ^ 1])
    if fault == "MISSING_FILE":
        await world.services.storage.delete(path)
    else:
        kind = "text/plain" if fault == "TYPE_MISMATCH" else "application/pdf"
        content = {"SIZE_MISMATCH": EVIDENCE + b"x", "HASH_MISMATCH": flipped}.get(fault, EVIDENCE)
        await world.services.storage.put(path, content, content_type=kind)

    await world.run("AUDIT_PACK_GENERATION", **request(world, document))

    row, content = await stored(world)
    [error] = row["content"]["integrity_report"]["errors"]
    assert error == {"evidence_id": str(evidence), "file_name": "certificate.pdf", "error_type": fault}
    assert row["integrity_errors_count"] == 1
    with pdfplumber.open(io.BytesIO(content)) as pdf:
        text = "\n".join(page.extract_text() for page in pdf.pages)
    assert "Integrity Warning" in text
    assert fault in text


async def test_a_pack_can_be_checked_by_whoever_has_it(world: Any) -> None:
    document, _, _ = await prepared(world)
    await world.run("AUDIT_PACK_GENERATION", **request(world, document))
    _, content = await stored(world)

    same = await verify_pack(world.services, content)
    changed = await verify_pack(world.services, content + b"\n% a line more")
    damaged = await verify_pack(world.services, content.replace(b"%%EOF", b"%%EOf"))
    other = await verify_pack(world.services, b"no pack")

    assert (same["verdict"], same["differences"]) == ("unchanged", [])
    assert (changed["verdict"], changed["differences"]) == ("changed", ["the pages were changed"])
    assert damaged["verdict"] == "changed"
    assert other["verdict"] == "unknown"
    assert {"manifest.json", "content.json", "001-certificate.pdf"} <= set(attachments(content))


async def test_a_zip_holds_pack_evidence_and_manifest(world: Any) -> None:
    """OBL-075"""
    document, _, _ = await prepared(world)

    await world.run("AUDIT_PACK_GENERATION", **request(world, document, output_format="ZIP"))

    _, content = await stored(world)
    assert content.startswith(b"PK")
    assert (await verify_pack(world.services, content))["verdict"] == "unchanged"


async def test_requests_that_do_not_fit_die_with_their_reason(world: Any, other_company: Any) -> None:
    """OBL-070 OBL-071 OBL-072 OBL-079"""
    document, _, _ = await prepared(world)

    with pytest.raises(InvalidRequest, match="Board Pack must have site_id = null"):
        await world.run(
            "AUDIT_PACK_GENERATION",
            **request(world, None, PackType.BOARD_MULTI_SITE_RISK) | {"site_id": world.site},
        )
    message = await world.value("SELECT message FROM oblicore.notifications WHERE channel = 'IN_APP'")
    assert message.endswith("Ensure company_id is provided and site_id is null.")
    with pytest.raises(AccessDenied):
        await world.run(
            "AUDIT_PACK_GENERATION",
            **request(world, None, PackType.BOARD_MULTI_SITE_RISK) | {"requested_by": world.staff},
        )
    with pytest.raises(DocumentMissing, match="Document not found or access denied"):
        await world.run(
            "AUDIT_PACK_GENERATION", **request(world, document) | {"requested_by": other_company.owner}
        )
    assert await world.value("SELECT count(*) FROM oblicore.audit_packs") == 0


async def test_a_pack_is_mailed_to_each_once_although_one_is_refused_at_first(
    world: Any, mail_server: Any
) -> None:
    """OBL-080 OBL-081 OBL-082"""
    document, _, _ = await prepared(world)
    await world.run("AUDIT_PACK_GENERATION", **request(world, document))
    row, content = await stored(world)
    mail_server.refuse("b@regulator.example", 451, times=1)
    people = [{"email": f"{one}@regulator.example"} for one in "abc"]

    await world.run(
        "PACK_DISTRIBUTION",
        pack_id=row["id"],
        distribution_method="EMAIL",
        recipients=people,
        requested_by=world.manager,
    )
    await world.backstay.drain(with_scheduled=True)

    for person in people:
        [mail] = mail_server.wait_for(1, to=person["email"])
        [attached] = mail.attachments.values()
        assert attached == content
    rows = await world.rows("SELECT status, sent_at FROM oblicore.pack_distributions")
    assert [one["status"] for one in rows] == ["SENT"] * 3


async def test_a_shared_link_works_until_it_expires(world: Any) -> None:
    """OBL-081"""
    document, _, _ = await prepared(world)
    await world.run("AUDIT_PACK_GENERATION", **request(world, document))
    row, _ = await stored(world)

    result = await world.run(
        "PACK_DISTRIBUTION",
        pack_id=row["id"],
        distribution_method="SHARED_LINK",
        expires_in_days=1,
        requested_by=world.manager,
        at=datetime.now(UTC),
    )

    from backstay_oblicore.store import packs

    async with world.services.database.as_service() as connection:
        opened = await packs.opened(connection, result["token"], now=datetime.now(UTC))
        late = await packs.opened(connection, result["token"], now=datetime.now(UTC) + timedelta(days=2))
    assert (opened["is_expired"], late["is_expired"]) == (False, True)
    assert await world.value("SELECT view_count FROM oblicore.pack_distributions") == 1


@pytest.mark.parametrize(
    "values",
    [
        {"distribution_method": "EMAIL"},
        {"distribution_method": "EMAIL", "recipients": [{"email": "no address"}]},
        {"distribution_method": "SHARED_LINK", "expires_in_days": 0},
    ],
)
async def test_distributions_that_cannot_work_are_tried_once(world: Any, values: dict[str, Any]) -> None:
    """OBL-080 OBL-082"""
    document, _, _ = await prepared(world)
    job = await world.services.handlers["PACK_DISTRIBUTION"].enqueue(
        pack_id=document, requested_by=world.manager, **values
    )

    await world.backstay.drain(with_scheduled=True)

    found = await job.get()
    assert (found.state, found.attempt) == (State.DEAD, 1)
