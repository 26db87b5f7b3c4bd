"""The pages in Chromium, served by a real process, with a real worker behind them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aeon_fleet import Fleet

from backstay.kit import hash_password
from backstay_aeon.actions import imports, schedules, uploads, watch
from backstay_aeon.demo.generate import CUSTOMERS, messy
from backstay_aeon.domain.imports.columns import read_dataset
from backstay_aeon.store import imports as store
from backstay_aeon.store import people
from backstay_parts.browser import Visit, open_chromium
from backstay_parts.servers import ServerProcess, free_port
from backstay_parts.servers.process import answers_http

SCREENSHOTS = os.environ.get("AEON_SCREENSHOTS")
WORD = "a long enough password"
HOSTILE = "<img src=x onerror=alert(1)>.csv"
DRESSES: dict[str, dict[str, Any]] = {
    "wide": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 390, "height": 844},
}


@pytest.fixture
async def address(fleet: Fleet) -> str:
    """The pages of a team that has done something of everything."""
    user = await people.add_user(fleet.database, fleet.team, "ann@nord.example")
    await people.set_login(fleet.database, user, hash_password(WORD), "operator")
    async with fleet.database.connection() as connection:
        await store.save_dataset(connection, fleet.team, read_dataset("customers", CUSTOMERS))
    await fleet.start("general")
    content, _ = messy(400, seed=5, prefix="N", share=0.1)
    made = await imports.begin(
        fleet.services, fleet.team, user, name=HOSTILE, content=content, dataset="customers"
    )
    await imports.start(fleet.services, fleet.team, user, made)
    kept = await uploads.keep(fleet.services, fleet.team, user, "note.txt", b"a few words")
    await fleet.submit("file_processing", {"file_id": str(kept["id"])})
    for form in ("pdf", "csv"):
        await fleet.submit("report_gen", {"report": "job_summary", "format": form})
    given = {
        "name": "Mondays",
        "job_type": "report_gen",
        "payload_template": {"report": "job_summary"},
        "schedule_type": "cron",
        "cron_expression": "0 6 * * 1",
        "enabled": True,
    }
    await schedules.create(fleet.services, fleet.team, user, given)
    await fleet.until_ended(4)
    await fleet.submit("failing", {"as": "validation_error"})
    await fleet.submit("waiting", {"until": "/nowhere"})
    await watch.look(fleet.services)
    port = free_port()
    command = [sys.executable, "-m", "backstay_aeon", "serve", "--port", str(port)]
    environment = {**fleet.environment, "AEON_PUBLIC_URL": f"http://127.0.0.1:{port}"}
    own = ServerProcess(command, port=port, name="pages", env=environment, is_ready=answers_http("/login"))
    await asyncio.to_thread(fleet.stack.enter_context, own)
    return own.url


async def log_in(visit: Visit, address: str) -> None:
    await visit.page.goto(address)
    await visit.page.get_by_label("Name").fill("ann@nord.example")
    await visit.page.get_by_label("Password").fill(WORD)
    await visit.page.get_by_role("button", name="Log in").click()
    await visit.page.get_by_text("Queue depths").first.wait_for()


@pytest.mark.timeout(300)
async def test_the_pages_hold_in_every_dress(fleet: Fleet, address: str, tmp_path: Path) -> None:
    """AEO-031: every page, wide, dark and on a phone: nothing is cut off, nothing complains, names are text."""
    folder = Path(SCREENSHOTS or tmp_path)
    letter = await fleet.database.value("SELECT original_job_id FROM public.dead_letter_jobs LIMIT 1")
    made = await fleet.database.value("SELECT id FROM aeon.imports LIMIT 1")
    paths = {
        "operations": "/",
        "imports": "/imports",
        "import": f"/imports/{made}",
        "files": "/files",
        "reports": "/reports",
        "schedules": "/schedules",
        "jobs": "/jobs",
        "job": f"/jobs/{letter}",
        "letters": "/dead-letters",
    }
    for dress, options in DRESSES.items():
        async with open_chromium(screenshots=folder, **options) as visit:
            await log_in(visit, address)
            for name, path in paths.items():
                await visit.page.goto(address + path)
                await visit.screenshot(f"{name}-{dress}")
                wider = await visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                assert wider <= 0, f"{path} is {wider} pixels wider than a {dress} screen"
                assert await visit.page.locator("img[src=x]").count() == 0
            assert visit.complaints == [], dress


@pytest.mark.timeout(300)
async def test_a_person_tries_out_imports_and_takes_back_a_table(
    fleet: Fleet, address: str, tmp_path: Path
) -> None:
    """AEO-025: upload, the counts of the dry run, the import, the figures, and back again; all by hand."""
    content, truth = messy(300, seed=9, prefix="X", share=0.1)
    table = tmp_path / "more.csv"
    table.write_bytes(content)
    async with open_chromium(screenshots=Path(SCREENSHOTS or tmp_path)) as visit:
        page = visit.page
        await log_in(visit, address)
        await page.goto(f"{address}/imports")
        await page.locator("input[type=file]").set_input_files(table)
        await page.get_by_label("Dataset").fill("customers")
        await page.get_by_role("button", name="Try it out").click()
        await page.get_by_role("button", name="Import it").wait_for(timeout=60_000)
        await visit.screenshot("dry-run-wide")
        assert (
            await fleet.database.value(
                "SELECT count(*) FROM aeon.imported_records WHERE external_key LIKE 'X%'"
            )
            == 0
        )
        await page.get_by_role("button", name="Import it").click()
        await page.get_by_role("button", name="Undo").wait_for(timeout=60_000)
        await visit.screenshot("imported-wide")
        records = "SELECT count(*) FROM aeon.imported_records WHERE external_key LIKE 'X%'"
        assert await fleet.database.value(records) == truth.good
        page.once("dialog", lambda asked: asyncio.ensure_future(asked.accept()))
        await page.get_by_role("button", name="Undo").click()

        async def is_gone() -> bool:
            return bool(await fleet.database.value(records) == 0)

        await fleet.until(is_gone)
    assert visit.complaints == []


@pytest.mark.timeout(300)
async def test_a_person_maps_columns_and_sends_corrected_rows_back(
    fleet: Fleet, address: str, tmp_path: Path
) -> None:
    """AEO-025: a file with strange columns is mapped, its refused rows are taken, corrected and sent, all by hand."""
    table = tmp_path / "strange.csv"
    table.write_text("Reference;Who;Start\nS1;Ada;2026-01-01\nS2;Ben;2026-31-31\nS3;Cem;2026-01-01;surplus\n")
    async with open_chromium(screenshots=Path(SCREENSHOTS or tmp_path)) as visit:
        page = visit.page
        await log_in(visit, address)
        await page.goto(f"{address}/imports")
        await page.locator("input[type=file]").set_input_files(table)
        await page.get_by_label("Dataset").fill("customers")
        await page.get_by_role("button", name="Try it out").click()
        await page.get_by_text("say which one it is in the mapping").wait_for(timeout=60_000)
        await page.reload()
        await visit.screenshot("mapping-wide")
        for header, column in (("Reference", "customer_no"), ("Who", "name"), ("Start", "since")):
            await page.get_by_label(header).select_option(column)
        await page.get_by_role("button", name="Try it out with these columns").click()
        await page.get_by_role("button", name="Import it").click(timeout=60_000)
        await page.get_by_role("button", name="Undo").wait_for(timeout=60_000)
        await page.reload()
        async with page.expect_download() as started:
            await page.get_by_role("link", name="Take the workbook").click()
        workbook = tmp_path / "rejects.xlsx"
        await (await started.value).save_as(workbook)
        await asyncio.to_thread(mend, workbook)
        await page.locator("input[type=file]").set_input_files(workbook)
        await visit.screenshot("rejects-wide")
        await page.get_by_role("button", name="Send it back").click()
        records = "SELECT count(*) FROM aeon.imported_records WHERE external_key LIKE 'S%'"

        async def are_there() -> bool:
            return bool(await fleet.database.value(records) == 3)

        await fleet.until(are_there)
    assert visit.complaints == []


def mend(workbook: Path) -> None:
    book = openpyxl.load_workbook(workbook)
    book["rejects"].cell(2, 3).value = "2026-01-31"
    book["rejects"].cell(3, 7).value = None
    book.save(workbook)


@pytest.mark.timeout(300)
async def test_a_person_decides_about_a_dead_letter_and_stops_a_job(
    fleet: Fleet, address: str, tmp_path: Path
) -> None:
    """AEO-021, AEO-010: run again with a note, close with a note, and cancel what still runs, each by a button."""
    letter = await fleet.database.value("SELECT original_job_id FROM public.dead_letter_jobs LIMIT 1")
    waiting = await fleet.database.value("SELECT id FROM public.jobs WHERE job_type = 'waiting'")

    async def status(job: Any) -> str:
        return str((await fleet.job(job))["status"])

    async def has_died_again() -> bool:
        runs = "SELECT count(*) FROM public.job_executions WHERE job_id = $1"
        return await fleet.database.value(runs, letter) == 2 and await status(letter) == "dead_letter"

    async with open_chromium(screenshots=Path(SCREENSHOTS or tmp_path)) as visit:
        page = visit.page
        await log_in(visit, address)
        for button in ("Run it again", "Resolve"):
            await page.goto(f"{address}/dead-letters")
            await page.get_by_role("link", name="failing").first.click()
            await page.get_by_label("Why?").fill(f"a note about {button}")
            await page.get_by_role("button", name=button).click()
            await page.get_by_text("Your decision is kept.").wait_for()
            await fleet.until(has_died_again) if button == "Run it again" else None
        await visit.screenshot("decided-wide")
        await page.goto(f"{address}/jobs/{waiting}")
        page.once("dialog", lambda asked: asyncio.ensure_future(asked.accept()))
        await page.get_by_role("button", name="Cancel").click()

        async def is_cancelled() -> bool:
            return await status(waiting) == "cancelled"

        await fleet.until(is_cancelled)
        await page.goto(f"{address}/schedules")
        await page.get_by_role("button", name="Switch off").click()
        await page.get_by_role("button", name="Switch on").wait_for()
    assert visit.complaints == []
    assert await status(letter) == "failed"
    notes = await fleet.database.row(
        "SELECT resolution_notes, resolved_by FROM public.dead_letter_jobs WHERE status = 'resolved'"
        " ORDER BY created_at DESC LIMIT 1"
    )
    person = await fleet.database.value("SELECT id FROM public.users WHERE email = 'ann@nord.example'")
    assert notes == {"resolution_notes": "a note about Resolve", "resolved_by": person}
    attempt = "SELECT status FROM public.job_executions WHERE job_id = $1"
    assert await fleet.database.value(attempt, waiting) == "cancelled"
