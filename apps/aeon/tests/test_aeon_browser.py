"""The pages in Chromium, served by a real process, with a real worker behind them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

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
