"""What people do in the console, in Chromium: upload, rules, versions, lives, partners, webhooks."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from passport_site import Site

from backstay_parts.browser import open_chromium
from backstay_parts.webhooks import WebhookReceiver
from backstay_passport.store import rules as rule_store

RULES = """package "console"
fact Battery { sku: Text, mass_kg: Decimal kg }
let battery = fact("Battery", "battery:" + product.sku)
rule mass: set GeneralProductInformation.batteryMass = battery.mass_kg
"""
TESTS = """property "mass" for 500 cases with { mass: decimal(1, 900, 2) }
  given { product {sku: "A"} fact "Battery" "battery:A" {sku: "A", mass_kg: mass} }
  expect out(GeneralProductInformation.batteryMass) == mass * 1 kg
"""


class Console:
    """A person at the console."""

    def __init__(self, site: Site, visit: Any) -> None:
        self.site, self.visit, self.page = site, visit, visit.page

    async def open(self, path: str) -> None:
        """Go to a page of the console."""
        await self.page.goto(f"{self.site.url}/console{path}")

    async def press(self, name: str) -> None:
        """Press a button; a question before it is answered with yes."""
        await self.page.get_by_role("button", name=name, exact=True).first.click()
        await self.page.wait_for_load_state()

    async def shows(self, text: str) -> None:
        """The page shows a text."""
        await self.page.get_by_text(text).first.wait_for(timeout=15_000)

    async def until(self, text: str) -> None:
        """Open the page again until it shows a text: a job has to end first."""
        for _ in range(300):
            if text in await self.page.content():
                return
            await self.page.wait_for_timeout(100)
            await self.page.reload()
        raise TimeoutError(text)

    async def picture(self, name: str) -> None:
        """Keep a picture, wide and as a telephone shows it."""
        await self.page.set_viewport_size({"width": 1200, "height": 900})
        await self.visit.screenshot(name)
        await self.page.set_viewport_size({"width": 390, "height": 844})
        width = await self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, name
        await self.visit.screenshot(f"{name}-phone")
        await self.page.set_viewport_size({"width": 1200, "height": 900})


@pytest.fixture
async def console(site: Site, tmp_path: Path) -> AsyncIterator[Console]:
    """The console, with somebody logged in; PASSPORT_SCREENSHOTS keeps the pictures."""
    async with open_chromium(screenshots=Path(os.environ.get("PASSPORT_SCREENSHOTS", tmp_path))) as visit:
        visit.page.on("dialog", lambda dialog: dialog.accept())
        await visit.page.goto(f"{site.url}/console")
        await visit.page.fill("input[name=username]", "ada")
        await visit.page.fill("input[name=password]", "battery staple")
        await visit.page.keyboard.press("Enter")
        await visit.page.wait_for_url(f"{site.url}/console")
        yield Console(site, visit)
    # A form with a mistake in it answers 422, which the browser writes down.
    assert [one for one in visit.complaints if "status of 422" not in one] == []


async def test_a_document_is_uploaded_and_a_rejected_one_says_why(console: Console) -> None:
    """BPC-011, BPC-015: from the form to the inbox."""
    for name, content in {
        "good.json": {"components": [{"sku": "C-1"}]},
        "bad.json": {"components": [{}]},
    }.items():
        file = {"name": name, "mimeType": "application/json", "buffer": json.dumps(content).encode()}
        await console.page.set_input_files("input[name=file]", file)
        await console.page.select_option("select[name=kind]", "BOM")
        await console.press("Upload")

    await console.until("/components/0/sku")
    await console.shows("good.json")
    await console.picture("console-inbox")


async def test_rules_are_written_tested_published_and_put_away(console: Console) -> None:
    """BPC-034, BPC-035, BPC-037: an error beside its field; edit, test, publish, put away."""
    await console.open("/rules/new")
    await console.page.fill("textarea[name=rules_source]", RULES.replace("mass_kg\n", "mass_kk\n"))
    await console.page.fill("textarea[name=tests_source]", TESTS)
    await console.press("Check and store")
    await console.shows("line 4")
    assert await console.page.locator(".field.wrong textarea[name=rules_source]").count() == 1
    await console.picture("console-rule-error")

    await console.page.fill("textarea[name=rules_source]", RULES)
    await console.press("Check and store")
    await console.shows("Stored as a draft.")
    await console.page.get_by_role("link", name="Edit").click()
    await console.page.fill("textarea[name=rules_source]", RULES + "# edited\n")
    await console.press("Check and store")
    await console.shows("The draft is rewritten.")
    await console.shows("# edited")
    await console.press("Run tests")
    await console.until("VALIDATED")
    await console.press("Publish")
    await console.shows("Published; it never changes again.")
    await console.page.get_by_role("link", name="New draft from this").click()
    await console.page.fill("textarea[name=rules_source]", RULES + "# second\n")
    await console.press("Check and store")
    await console.page.get_by_role("link", name="version 1 (PUBLISHED)").click()
    await console.shows("+ # second")
    await console.picture("console-rule-diff")
    with console.site.world.services.database.read() as connection:
        first = next(
            row
            for row in rule_store.versions(connection, console.site.world.tenant)
            if row["name"] == "console" and row["version"] == 1
        )
    await console.open(f"/rules/{first['id']}")
    await console.press("Deprecate")
    await console.shows("Deprecated; it makes no more passports.")
    await console.press("Retire")
    await console.until("RETIRED")


async def test_versions_are_made_compared_activated_and_revoked(console: Console) -> None:
    """BPC-047: a change names the rule or document behind it; a revocation wants its reason."""
    site = console.site
    battery = await asyncio.to_thread(site.another, "CONSOLE-1")
    changed = {"data": {"manufactured_on": "2026-04-02"}}
    assert site.api("PATCH", f"/units/{battery.unit_id}", json=changed).status_code == 200
    await console.open(f"/batteries/{battery.unit_id}")
    await console.press("Make a version")
    await console.shows("A version is being made.")
    await console.until("What changed since version")
    await console.shows("2026-04-02")
    await console.shows("the battery's own record")
    await console.until("Activate")
    await console.picture("console-battery-changes")
    await console.press("Activate")
    await console.until("SUPERSEDED")

    await console.page.get_by_text("Revoke", exact=True).first.click()
    await console.page.locator("details[open] input[name=reason]").fill("cells of a bad lot")
    await console.page.locator("details[open] button").click()
    await console.shows("It is revoked.")

    [event] = [one for one in site.world.events("PASSPORT_REVOKED") if b"bad lot" in one.payload_canonical]
    assert event.actor_id == "ada"
    assert "Not valid any more" in site.get(battery.page).text


async def test_a_battery_begins_a_new_life(console: Console) -> None:
    """BPC-020: the old one says what it has become; a recycler is led from the new page to the old one."""
    site = console.site
    battery = await asyncio.to_thread(site.another, "OLD-1")
    await console.open(f"/batteries/{battery.unit_id}")
    await console.page.get_by_text("Begin a new life").click()
    await console.page.fill("input[name=serial]", "NEW-1")
    await console.press("Begin")
    await console.shows("A new life begins; the old passport has ended.")
    unit_id = console.page.url.rsplit("/", 1)[-1]
    await console.picture("console-lives")
    await console.open(f"/batteries/{battery.unit_id}")
    await console.shows("It has become NEW-1")
    unit = site.api("GET", f"/units/{unit_id}").json()

    assert [one["serial"] for one in unit["earlier_lives"]] == ["OLD-1"]
    assert site.api("GET", f"/units/{battery.unit_id}").json()["successor_id"] == unit_id
    assert "Not valid any more" in site.get(battery.page).text
    passport = site.api(
        "POST", "/passports", json={"product_id": site.product_id, "unit_id": unit_id}
    ).json()["id"]
    inputs = site.inputs()
    job = site.api("POST", f"/passports/{passport}/compile", json=inputs).json()["job_id"]
    version = await asyncio.to_thread(site.finished, job)
    assert site.api("POST", f"/versions/{version}/activate").json()["status"] == "ACTIVE"
    address = battery.page.replace("OLD-1", "NEW-1")
    assert "Earlier lives" in site.get(address, token=site.recycler).text
    assert "Earlier lives" not in site.get(address).text


async def test_versions_are_made_of_a_whole_model(console: Console) -> None:
    """BPC-046: the model's page, and one press for all its batteries."""
    await console.open("/batteries")
    await console.picture("console-batteries")
    await console.open(f"/models/{console.site.product_id}")
    await console.press("Make a version of the model")
    await console.until("SIGNED")
    await console.picture("console-model")
    await console.press("Make versions of all its batteries")
    await console.shows("Versions are being made:")


async def test_a_partner_gets_a_token_that_can_be_taken_back(console: Console) -> None:
    """BPC-021: shown once, listed with its end, revoked, and every look is listed."""
    await console.open("/partners")
    await console.page.fill("input[name=name]", "Repair & Co")
    await console.page.fill("input[name=days]", "7")
    await console.press("Give")
    said = await console.page.get_by_text("The token, shown only now:").inner_text()
    token = said.rsplit(" ", 1)[-1].strip()
    seen = console.site.get(console.site.page, "application/json", token).json()["payload"]["submodels"]
    await console.open("/partners")
    await console.shows("Repair & Co")
    await console.picture("console-partners")
    await console.press("Revoke")
    await console.shows("It opens nothing any more.")
    unseen = console.site.get(console.site.page, "application/json", token).json()["payload"]["submodels"]

    assert "sparePartSources" in seen["Circularity"]
    assert "sparePartSources" not in unseen["Circularity"]


async def test_endpoints_are_added_disabled_and_delivered_to_again(console: Console) -> None:
    """BPC-039, BPC-042: a disabled endpoint gets no more events; a delivery is made again; the secret is exchanged."""
    with WebhookReceiver() as receiver:
        await console.open("/webhooks")
        await console.page.fill("input[name=url]", f"{receiver.url}/console")
        await console.page.fill("input[name=event_types]", "UNIT_ADDED")
        await console.press("Add")
        await console.shows("The secret, shown only now:")
        site = console.site
        units = f"/products/{site.product_id}/units"
        site.api("POST", units, json={"serial": "HOOK-1"})
        await console.until("DELIVERED")
        await console.press("Deliver again")
        await console.shows("It is delivered once more.")
        await console.press("New secret")
        await console.shows("The new secret, shown only now:")
        await console.picture("console-webhooks")
        await console.press("Disable")
        await console.shows("It gets no more events.")
        site.api("POST", units, json={"serial": "HOOK-2"})
        deliveries = console.site.api("GET", "/webhooks/deliveries").json()
        assert len([one for one in deliveries if one["event_type"] == "UNIT_ADDED"]) == 1


async def test_the_other_pages_of_the_console(console: Console) -> None:
    """BPC-047: readiness, jobs and chains open, wide and on a telephone."""
    for path in ("readiness", "jobs", "chains", "rules"):
        await console.open(f"/{path}")
        await console.picture(f"console-{path}")
