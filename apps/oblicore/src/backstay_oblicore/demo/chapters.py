"""The first half of the story: a permit, its scan, a register; workers die and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay_oblicore import intake
from backstay_oblicore.demo.cast import FAULTS, ROWS, register
from backstay_oblicore.demo.permit_maker import as_scan, make_permit
from backstay_oblicore.demo.stage import Stage


async def documents(stage: Stage) -> UUID:
    """Read a permit and the scan of another; the worker is killed in the middle and the next one goes on there."""
    seed = int(f"{stage.today:%Y%m%d}")
    issued = stage.today - timedelta(days=30)
    made = make_permit(seed, issued=issued)
    paper = make_permit(seed + 1, issued=issued)
    scan = await asyncio.to_thread(as_scan, paper.content, seed=7)
    stage.demo.event(f"made a permit and the scan of another for seed {seed}")
    permit = await _upload(stage, made.content, "Factory permit", "ENVIRONMENTAL_PERMIT")
    scanned = await _upload(stage, scan, "Transfer station permit, scanned", "ENVIRONMENTAL_PERMIT")
    native = await intake.extract(stage.services, permit, user=stage.cast.manager)
    reading = await intake.extract(stage.services, scanned, user=stage.cast.manager)
    first = stage.start_worker()

    async def has_begun() -> bool:
        return len(await stage.services.app.jobs.steps(reading.id)) >= 2

    await stage.until(has_begun, "two pages recognised")
    await stage.kill(first)
    before = await _steps(stage, reading.id)
    stage.demo.event(f"worker killed after {len(before)} recognised pages")
    async with stage.services.app.working(concurrency=4):
        await native.result(timeout=300)
        result = await reading.result(timeout=600)
    after = await _steps(stage, reading.id)
    repeated = [name for name in before if after.get(name) != before[name]]
    stage.demo.check("pages recognised twice", expected=0, found=len(repeated))
    await _check_coverage(stage, permit, expected=len(made.conditions))
    found = result["obligations_extracted"]
    enough = found >= 0.95 * len(paper.conditions)
    stage.demo.check("the scan gave 95 of 100 conditions", expected=True, found=enough)
    stage.demo.event(f"the scan gave {found} of {len(paper.conditions)} conditions")
    return permit


async def _steps(stage: Stage, job: Any) -> dict[str, Any]:
    return {step.name: step.run for step in await stage.services.app.jobs.steps(job)}


async def _check_coverage(stage: Stage, permit: UUID, *, expected: int) -> None:
    rows = await stage.rows(
        "SELECT filed, count(*) AS n FROM oblicore.document_sentences WHERE document_id = $1 GROUP BY filed",
        permit,
    )
    filed = {row["filed"]: row["n"] for row in rows}
    found = await stage.value(
        "SELECT count(*) FROM oblicore.obligations WHERE document_id = $1 AND deleted_at IS NULL", permit
    )
    stage.demo.check("conditions of the permit", expected=expected, found=found)
    stage.demo.check("binding sentences left open", expected=0, found=filed.get("open", 0))
    figures = f"{sum(filed.values())} sentences accounted for: {filed.get('obligation', 0)} duties"
    stage.demo.row("documents", state="read", figures=f"{figures}, {filed.get('definition', 0)} definitions")


async def imported(stage: Stage) -> None:
    """Import a register with planted faults; the worker is killed while it creates the duties."""
    found, checking = await intake.add_import(
        stage.services,
        register(stage.today),
        user=stage.cast.manager,
        site=stage.cast.factory,
        file_name="register.xlsx",
        options={"create_missing_permits": True},
    )
    async with stage.services.app.working(concurrency=2):
        checked = await checking.result(timeout=240)
    stage.demo.check("faulty rows named", expected=FAULTS, found=checked["error_count"])
    creating = await intake.confirm_import(stage.services, found, user=stage.cast.manager)
    first = stage.start_worker()

    async def is_running() -> bool:
        return str((await stage.services.app.jobs.get(creating.id)).state) in ("running", "completed")

    await stage.until(is_running, "the import running")
    await stage.kill(first)
    stage.demo.event("worker killed while it created the duties")
    async with stage.services.app.working(concurrency=2):
        result = await creating.result(timeout=300)
    stored = await stage.value("SELECT count(*) FROM oblicore.obligations WHERE excel_import_id = $1", found)
    stage.demo.check("duties created, each once", expected=ROWS - FAULTS, found=stored)
    stage.demo.row("register", state="imported", figures=f"{stored} duties, said {result['success_count']}")


async def _upload(stage: Stage, content: bytes, title: str, kind: str) -> UUID:
    return await intake.add_document(
        stage.services,
        content,
        user=stage.cast.manager,
        site=stage.cast.factory,
        title=title,
        document_type=kind,
        issue_date=stage.today - timedelta(days=30),
    )
