"""The second half of the story: the annual report, five packs that prove themselves, one dead letter."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx

from backstay_oblicore import intake, packing
from backstay_oblicore.demo.stage import Stage
from backstay_oblicore.demo.year import DAYS
from backstay_oblicore.domain.words import PackType
from backstay_oblicore.print.pages import lay_out, paragraph
from backstay_oblicore.web.verifying import verify_pack
from backstay_parts.pdf import open_pdf

AGENCY = ("a@agency.example", "b@agency.example")


async def reports(stage: Stage) -> None:
    """Draw up the annual report: paper, table and row agree."""

    async def is_there() -> bool:
        return bool(await stage.rows("SELECT id FROM oblicore.aer_documents"))

    async with stage.services.app.working(concurrency=4):
        await stage.run("AER_GENERATION", datetime(stage.today.year, 1, 15, 8, tzinfo=UTC))
        await stage.until(is_there, "the annual report drawn up")
    [row] = await stage.rows("SELECT * FROM oblicore.aer_documents")
    folder = f"{row['generated_file_path']}aer-{stage.today.year - 1}"
    table = await stage.services.storage.get(f"{folder}-data.csv")
    paper = await stage.services.storage.get(f"{folder}.pdf")
    (stage.demo.folder / "aer.pdf").write_bytes(paper)
    [line] = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"))))
    hours = str(row["total_run_hours"])
    stage.demo.check("run hours in row and table", expected=hours, found=line["total_run_hours"])
    with open_pdf(paper) as pdf:
        words = " ".join(pdf.page(number).text for number in range(1, pdf.page_count + 1))
    agree = hours in words and line["nox_total_kg"] in words
    stage.demo.check("the paper shows the same figures", expected=True, found=agree)
    figures = f"{line['total_run_hours']} h, NOx {line['nox_total_kg']} kg"
    stage.demo.row("annual report", state="DRAFT", figures=figures)


async def packs(stage: Stage, permit: UUID) -> None:
    """Make five packs with one byte of evidence flipped; one is mailed, shared, checked, changed."""
    await _plant_evidence(stage, permit)
    made = []
    async with stage.services.app.working(concurrency=3):
        jobs = [await _pack(stage, permit, pack_type) for pack_type in PackType]
        made = [await job.result(timeout=300) for job in jobs]
        pack = UUID(made[-1]["pack_id"])
        stage.mail.refuse(AGENCY[1], 451, times=1)
        people = [{"email": address} for address in AGENCY]
        sending = await packing.distribute(
            stage.services, pack, user=stage.cast.manager, method="EMAIL", recipients=people
        )
        sharing = await packing.distribute(
            stage.services, pack, user=stage.cast.manager, method="SHARED_LINK", expires_in_days=1
        )
        await sending.result(timeout=60)
        token = (await sharing.result(timeout=60))["token"]

        async def is_sent() -> bool:
            sent = "SELECT count(*) FROM oblicore.pack_distributions WHERE status = 'SENT'"
            return bool(await stage.value(sent) == len(AGENCY))

        await stage.until(is_sent, "both recipients served", seconds=180)
    errors = sum(one["integrity_errors_count"] for one in made)
    stage.demo.check("packs that name the flipped byte", expected=len(PackType), found=errors)
    await _check_pack(stage, pack)
    await _check_link(stage, pack, token)
    stage.demo.row("packs", state="made", figures="5 types, 1 integrity error each")


async def _plant_evidence(stage: Stage, permit: UUID) -> None:
    duty = await stage.value(
        "SELECT id FROM oblicore.obligations WHERE document_id = $1 AND deleted_at IS NULL ORDER BY id LIMIT 1",
        permit,
    )
    proof = lay_out("Evidence", [paragraph("Calibration certificate")])
    await intake.add_evidence(
        stage.services,
        proof,
        user=stage.cast.manager,
        site=stage.cast.factory,
        file_name="proof.pdf",
        obligations=[duty],
    )
    path = await stage.value("SELECT storage_path FROM oblicore.evidence_items")
    await stage.services.storage.put(path, proof[:-1] + b"?", content_type="application/pdf")


async def _pack(stage: Stage, permit: UUID, pack_type: PackType) -> Any:
    is_board = pack_type is PackType.BOARD_MULTI_SITE_RISK
    request = {
        "pack_type": pack_type,
        "company_id": stage.cast.company,
        "site_id": None if is_board else stage.cast.factory,
        "document_id": None if is_board else permit,
        "date_range_start": stage.today,
        "date_range_end": stage.today + timedelta(days=DAYS),
    }
    return await packing.generate(stage.services, request, user=stage.cast.manager)


async def _check_pack(stage: Stage, pack: UUID) -> None:
    [row] = await stage.rows("SELECT * FROM oblicore.audit_packs WHERE id = $1", pack)
    content = await stage.services.storage.get(row["storage_path"])
    (stage.demo.folder / "pack.pdf").write_bytes(content)
    for address in AGENCY:
        received = [mail.attachments for mail in stage.mail.mails(to=address)]
        equal = sum(content in one.values() for one in received)
        stage.demo.check(f"byte-equal packs at {address}", expected=1, found=equal)
    same = await verify_pack(stage.services, content)
    changed = await verify_pack(stage.services, content.replace(b"%%EOF", b"%%EOf"))
    stage.demo.check("verdict on the pack", expected="unchanged", found=same["verdict"])
    stage.demo.check("verdict on a changed one", expected="changed", found=changed["verdict"])


async def _check_link(stage: Stage, pack: UUID, token: str) -> None:
    address = f"{stage.services.settings.public_url}/share/{token}"
    async with httpx.AsyncClient(timeout=30) as inspector:
        before = (await inspector.get(address)).status_code
        await stage.rows(
            "UPDATE oblicore.audit_packs SET shared_link_expires_at = now() - interval '1 day'"
            " WHERE id = $1 RETURNING id",
            pack,
        )
        after = (await inspector.get(address)).status_code
    stage.demo.check("the link, before and after it expires", expected="200, 410", found=f"{before}, {after}")


async def letter(stage: Stage) -> None:
    """A job that cannot work dies, is told of, and is resolved with a reason."""
    job = await stage.services.handlers["DOCUMENT_PROCESSING"].enqueue(
        document_id=uuid4(), requested_by=stage.cast.staff
    )

    async def is_dead() -> bool:
        return bool(await stage.services.app.dead_letters.open())

    async with stage.services.app.working(concurrency=2):
        await stage.until(is_dead, "the letter")
        await stage.run("ALERT_DEAD_LETTERS", stage.today)
    told = await stage.value(
        "SELECT count(*) FROM oblicore.notifications WHERE entity_type = 'BACKGROUND_JOB' AND entity_id = $1"
        " AND channel = 'EMAIL'",
        job.id,
    )
    stage.demo.check("people told of the death", expected=1, found=told)
    await stage.services.app.dead_letters.resolve(job.id, by="owner", reason="the document was withdrawn")
    stage.demo.row("dead letter", state="resolved", figures="with a name and a reason")
