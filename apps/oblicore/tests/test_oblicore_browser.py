"""The pages in a real browser: a permit from upload to confirmed duty, wide, narrow, dark and without scripts."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from oblicore_browsing import HASH, PASSWORD

from backstay_oblicore import measuring
from backstay_oblicore.demo.permit_maker import make_permit
from backstay_parts.browser import open_chromium
from backstay_parts.sheets import write_xlsx

ISSUED = date(2026, 1, 5)
HOSTILE = "<img src=x onerror=alert(1)>'\";--{{7*7}}=1+1"
MOST_USED = ("/", "/obligations", "/calendar", "/review-queue", "/documents/{document}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where pictures go; set OBLICORE_SCREENSHOTS to look at them afterwards."""
    return Path(os.environ.get("OBLICORE_SCREENSHOTS", tmp_path))


async def enter(page: Any, address: str) -> None:
    await page.goto(f"{address}/login")
    await page.fill("input[name=username]", "manager@brindle.example")
    await page.fill("input[name=password]", PASSWORD)
    await page.click("button.primary")
    await page.wait_for_url(f"{address}/")


async def furnished(world: Any) -> dict[str, Any]:
    """A company as it is on an ordinary day, with hostile names in it."""
    await world.execute("UPDATE oblicore.users SET password_hash = $1", HASH)
    made = make_permit(1003, issued=ISSUED)
    document = await world.document(title=f"Factory permit {HOSTILE}", issue_date=ISSUED, page_count=3)
    path = f"documents/{world.company}/{world.site}/{document}/original.pdf"
    await world.services.storage.put(path, made.content, content_type="application/pdf")
    await world.execute("UPDATE oblicore.documents SET storage_path = $2 WHERE id = $1", document, path)
    await world.run("DOCUMENT_PROCESSING", document_id=document, requested_by=world.manager)
    await world.obligation(
        document, summary=HOSTILE, deadline_date=datetime.now(UTC).date(), status="OVERDUE"
    )
    await world.run("MONITORING_SCHEDULE")
    await world.backstay.drain()
    place = {"company_id": world.company, "site_id": world.site, "document_id": document}
    today = datetime.now(UTC).date()
    meter = await world.insert("parameters", **place, parameter_type="COD", limit_value=400, unit="mg/l")
    for number, value in enumerate((310, 342, 335, 371, 412)):
        day = today - timedelta(days=30 * (5 - number))
        await measuring.record_result(
            world.services, meter, day=day, value=Decimal(value), user=world.manager
        )
    engine = await world.insert(
        "generators",
        **place,
        generator_identifier="GEN-3",
        annual_run_hour_limit=500,
        anniversary_date=today - timedelta(days=200),
    )
    for number, purpose in enumerate(("TESTING", "EMERGENCY", "OTHER", "TESTING", "OTHER")):
        await measuring.record_hours(
            world.services,
            engine,
            day=today - timedelta(days=35 * number),
            hours=Decimal(20 + 7 * number),
            purpose=purpose,
            user=world.manager,
        )
    await world.backstay.drain()
    return {"document": document, "meter": meter, "engine": engine}


@pytest.mark.timeout(300)
async def test_the_pages_hold_in_every_dress(world: Any, address: str, folder: Path) -> None:
    """OBL-092"""
    ids = await furnished(world)
    dresses: dict[str, dict[str, Any]] = {
        "wide": {},
        "dark": {"color_scheme": "dark"},
        "phone": {"width": 390, "height": 844},
        "bare": {"java_script_enabled": False},
    }
    for dress, options in dresses.items():
        async with open_chromium(screenshots=folder, **options) as visit:
            await enter(visit.page, address)
            for path in MOST_USED:
                await visit.page.goto(address + path.format(**ids))
                name = path.strip("/").split("/")[0] or "home"
                await visit.screenshot(f"{name}-{dress}")
                wider = await visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                assert wider <= 0, f"{path} is {wider} pixels wider than a {dress} screen"
                assert await visit.page.locator("img[src=x]").count() == 0
            assert visit.complaints == [], dress


@pytest.mark.timeout(300)
async def test_a_clause_is_seen_on_its_page_corrected_and_packed(
    world: Any, address: str, folder: Path
) -> None:
    """OBL-030 OBL-070"""
    ids = await furnished(world)
    async with open_chromium(screenshots=folder) as visit:
        page = visit.page
        await enter(page, address)
        await page.goto(f"{address}/documents/{ids['document']}?page=1")
        assert await page.locator("svg rect.box").count() > 3
        await page.locator("svg a rect.box").first.click()
        await page.wait_for_url(f"{address}/obligations/*")
        await visit.screenshot("obligation-wide")
        await page.fill("input[name=summary]", "Corrected by a person")
        await page.get_by_role("button", name="Save").click()
        await page.wait_for_selector("text=reckoned anew")
        assert await page.locator("h1").inner_text() == "Corrected by a person"
        for name, path in (
            ("parameter", f"/sampling/{ids['meter']}"),
            ("generator", f"/generators/{ids['engine']}"),
            ("preferences", "/preferences"),
            ("inbox", "/inbox"),
            ("ledger", "/ledger"),
            ("coverage", f"/documents/{ids['document']}/coverage"),
        ):
            await page.goto(address + path)
            await visit.screenshot(f"{name}-wide")
        await page.goto(f"{address}/packs/new")
        await page.fill("input[name=date_range_start]", "2026-01-01")
        await visit.screenshot("pack-new-wide")
        await page.get_by_role("button", name="Make the pack").click()
        await page.wait_for_selector("text=being made")
        await world.backstay.drain()
        await page.goto(page.url)
        await page.wait_for_selector("text=SHA-256")
        await visit.screenshot("pack-wide")
        assert visit.complaints == []


@pytest.mark.timeout(300)
async def test_a_permit_and_a_register_come_in_and_a_pack_goes_out(
    world: Any, address: str, folder: Path, tmp_path: Path
) -> None:
    """OBL-026 OBL-041 OBL-081"""
    await world.execute("UPDATE oblicore.users SET password_hash = $1", HASH)
    permit, register = tmp_path / "permit.pdf", tmp_path / "register.xlsx"
    permit.write_bytes(make_permit(1003, issued=ISSUED).content)
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
    rows = [
        ["EPR/1", "Check the bund", "monthly", date(2027, 1, 1), None],
        ["EPR/1", "", "monthly", "soon", None],
    ]
    register.write_bytes(write_xlsx({"R": [head, *rows]}))
    async with open_chromium(screenshots=folder) as visit:
        page = visit.page
        await enter(page, address)

        await page.goto(f"{address}/documents/new")
        await page.fill("input[name=title]", "Factory permit")
        await page.fill("input[name=permit_number]", "EPR/1")
        await page.fill("input[name=expiry_date]", "2036-01-05")
        await page.set_input_files("input[name=file]", permit)
        await visit.screenshot("upload-wide")
        await page.get_by_role("button", name="Upload").click()
        await page.wait_for_selector("text=It is being read")
        await world.backstay.drain()
        await page.goto(page.url)
        assert await page.locator("svg rect.box").count() > 3

        await page.goto(f"{address}/imports/new")
        await page.set_input_files("input[name=file]", register)
        await visit.screenshot("import-wide")
        await page.get_by_role("button", name="Upload").click()
        await page.wait_for_selector("text=It is being checked")
        await world.backstay.drain()
        await page.goto(page.url)
        await page.wait_for_selector("text=Missing obligation_title")
        await visit.screenshot("preview-wide")
        await page.get_by_role("button", name="Confirm 1 rows").click()
        await world.backstay.drain()
        await page.goto(f"{address}/obligations?q=bund")
        await page.wait_for_selector("text=Check the bund")

        pack = await shared_pack(world)
        await page.context.clear_cookies()
        await page.goto(f"{address}/share/{pack}")
        await visit.screenshot("share-wide")
        async with page.expect_download() as started:
            await page.get_by_role("link", name="Download").first.click()
        saved = tmp_path / "shared.pdf"
        await (await started.value).save_as(saved)
        await page.goto(f"{address}/verify")
        await page.set_input_files("input[name=file]", saved)
        await page.get_by_role("button").last.click()
        await page.wait_for_selector("text=unchanged")
        await visit.screenshot("verify-wide")
        assert visit.complaints == []


async def shared_pack(world: Any) -> str:
    """Make a pack and share it; return the link's token."""
    document = await world.value("SELECT id FROM oblicore.documents WHERE title = 'Factory permit'")
    about = {"company_id": world.company, "site_id": world.site, "document_id": document}
    span = {"date_range_start": date(2026, 1, 1), "date_range_end": date(2026, 12, 31)}
    made = await world.run(
        "AUDIT_PACK_GENERATION", pack_type="AUDIT_PACK", requested_by=world.manager, **about, **span
    )
    shared = await world.run(
        "PACK_DISTRIBUTION",
        pack_id=UUID(made["pack_id"]),
        distribution_method="SHARED_LINK",
        requested_by=world.manager,
    )
    token: str = shared["token"]
    return token


@pytest.mark.timeout(300)
async def test_the_forms_of_a_registration_are_filled_in(world: Any, address: str, folder: Path) -> None:
    """OBL-049 OBL-054"""
    await world.execute("UPDATE oblicore.users SET password_hash = $1", HASH)
    await world.document(
        module="MODULE_3", document_type="MCPD_REGISTRATION", title="Generators", permit_number="MCP/7"
    )
    for dress, options in {"wide": {}, "phone": {"width": 390, "height": 844}}.items():
        async with open_chromium(screenshots=folder, **options) as visit:  # type: ignore[arg-type]  # two widths
            page = visit.page
            await enter(page, address)
            await page.goto(f"{address}/generators/new")
            await page.fill("input[name=generator_identifier]", f"GEN-{dress}")
            await page.fill("input[name=anniversary_date]", "2025-01-01")
            await page.fill("input[name=annual_run_hour_limit]", "500")
            await visit.screenshot(f"generator-new-{dress}")
            await page.get_by_role("button", name="Save").click()
            await page.get_by_role("link", name="Add a stack test").click()
            await page.fill("input[name=test_date]", "2025-05-01")
            await page.fill("input[name=nox_rate]", "1.115")
            await visit.screenshot(f"stack-test-new-{dress}")
            await page.get_by_role("button", name="Save").click()
            await page.wait_for_selector("text=1.115")
            await visit.screenshot(f"generator-records-{dress}")
            await page.goto(f"{address}/sampling/new")
            await visit.screenshot(f"parameter-new-{dress}")
            await page.goto(f"{address}/aer/new")
            await visit.screenshot(f"aer-new-{dress}")
            await page.get_by_role("button", name="Draw it up").click()
            await page.wait_for_selector("text=being made")
            await world.backstay.drain()
            await page.goto(page.url)
            await page.wait_for_selector("text=Running hours")
            await visit.screenshot(f"aer-{dress}")
            await page.goto(f"{address}/sites/{world.site}")
            await visit.screenshot(f"site-{dress}")
            await page.goto(f"{address}/preferences")
            await page.get_by_role("button", name="Make a token").click()
            await page.wait_for_selector("text=Copy it now")
            await visit.screenshot(f"token-{dress}")
            wider = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wider <= 0
            assert visit.complaints == []
