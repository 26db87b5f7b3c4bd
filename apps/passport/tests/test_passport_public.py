"""The public page in every case: of a model, of hostile and odd serial numbers, and after a passport has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from passport_site import Site
from test_passport_web import HOSTILE

from backstay.kit import path_of
from backstay_parts.browser import open_chromium
from backstay_passport.actions import passports, people
from backstay_passport.cli.waiting import wait_for
from backstay_passport.domain.digital_link import label_url
from backstay_passport.export import ExportFormat

CREDENTIALS = ("application/vc", "application/vc+ld+json")


@pytest.mark.parametrize("serial", ["A/1", "A%41", "/", "50%/x?y=1&z", "a.png", "1+1=2"])
def test_a_label_opens_the_page_of_its_own_battery(site: Site, serial: str) -> None:
    """BPC-030: whatever GS1 allows in a serial number, a label is opened as it is printed."""
    battery = site.another(serial)
    gtin = site.page.split("/")[-3]
    printed = label_url(site.url, gtin, serial)

    page, picture = (
        site.get(printed),
        site.get(site.url + path_of("label", gtin, f"{serial}.png"), "image/png"),
    )

    assert printed == battery.page
    assert page.status_code == 200
    assert site.get(printed, "application/json").json()["receipt"]["battery_unit_id"] == battery.unit_id
    assert picture.headers["content-type"] == "image/png"


def test_a_label_without_a_serial_number_opens_the_models_passport(site: Site) -> None:
    """BPC-020, BPC-030: the product's passport, once it is active, in every form."""
    services, tenant = site.world.services, site.world.tenant
    address = label_url(site.url, site.page.split("/")[-3], None)
    before = site.get(address).status_code
    asked = site.api("POST", f"/products/{site.product_id}/compile", json={}).json()["requested"][0]
    version_id = site.coded(wait_for(services, asked["job_id"], 60).result)
    passports.activate(services, tenant, version_id)

    page = site.get(address)

    assert (before, page.status_code) == (404, 200)
    assert "all batteries of this model" in page.text
    assert "468.5 kg" in page.text
    assert site.get(address, "application/json").json()["receipt"]["battery_unit_id"] is None


def test_no_credential_is_made_of_what_is_not_valid_any_more(site: Site) -> None:
    """BPC-033: a revoked passport has a page that says so, JSON that says so, and no credential."""
    battery = site.another("REVOKED")
    assert [site.get(battery.page, kind).status_code for kind in CREDENTIALS] == [200, 200]
    assert site.get(battery.page, "application/ld+json").json()["valid"] is True

    passports.revoke(site.world.services, site.world.tenant, battery.version_id, "recalled")

    assert "Not valid any more" in site.get(battery.page).text
    assert site.get(battery.page, "application/json").json()["valid"] is False
    assert site.get(battery.page, "application/ld+json").json()["valid"] is False
    assert [site.get(battery.page, kind).status_code for kind in CREDENTIALS] == [410, 410]


def test_a_credential_is_not_dated_before_the_key_that_signs_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BPC-029: after a rotation, an old version's credential is of the new key's time, and always the same."""
    settings = site.world.services.settings
    old = site.get(site.page, "application/vc").json()
    monkeypatch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", "Wl" * 21 + "Y=")
    object.__setattr__(settings, "signing_key_id", "rotated")
    try:
        new, again = (site.get(site.page, "application/vc").json() for _ in range(2))
    finally:
        object.__setattr__(settings, "signing_key_id", "dev-key-1")

    assert new["issuer"] != old["issuer"]
    assert new["validFrom"] == old["validFrom"] <= old["proof"]["created"] <= new["proof"]["created"]
    assert new == again


@pytest.mark.parametrize("chosen", [one for one in ExportFormat if one != ExportFormat.ZIP])
def test_every_export_can_be_verified_and_a_change_in_it_is_found(site: Site, chosen: ExportFormat) -> None:
    """BPC-033, BPC-045: PDF, XML, JSON-LD and credential, as they are and with one value changed."""
    version = site.version["id"]
    request = {"format": chosen, "public": True}
    job = site.api("POST", f"/versions/{version}/exports", json=request).json()["job_id"]
    export_id = wait_for(site.world.services, job, 60).result
    content = site.api("GET", f"/exports/{export_id}/file").content
    changed = content.replace(b"468.5", b"469.5")
    if chosen == ExportFormat.PDF:
        changed = content + b"\n%changed\n"

    good, bad = (
        site.api("POST", "/verify/file", files={"file": ("f", one)}).json() for one in (content, changed)
    )

    assert changed != content
    assert (good["ok"], good["passport_version_id"]) == (True, version), good
    assert bad["ok"] is False
    assert "batteryMass" in str(bad) or chosen in (ExportFormat.VC, ExportFormat.PDF)


def test_the_public_json_can_be_verified_here_too(site: Site) -> None:
    """BPC-033: as it is, and with one value changed."""
    content = site.get(site.page, "application/json").content
    changed = content.replace(b"468.5", b"469.5")

    good, bad = (
        site.api("POST", "/verify/file", files={"file": ("f", one)}).json() for one in (content, changed)
    )

    assert good["ok"] is True
    assert "GeneralProductInformation.batteryMass" in str(bad["checks"])


STRANGE = (
    b"{}",
    b"{",
    b"[]",
    b"[" * 99,
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b'{"proof": {"a": 1}}',
    b'{"proof": {"a": 1}, "issuer": "did:key:z\xc3\xa9", "id": 7}',
    b'{"payload": {"passport_version_id": "x"}, "proof": 1, "receipt": 1, '
    b'"signature": {"signature": "", "public_key": ""}}',
    b'{"passportVersion": {"a": 1}}',
    b"<x/>",
    b"<",
    b"<x>" * 5000 + b"</x>" * 5000,
    "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>".encode("utf-16-le"),
    b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>",
    b"%PDF-1.4 x",
)


@pytest.mark.parametrize("content", STRANGE, ids=range(len(STRANGE)))
def test_files_that_are_no_exports_get_an_answer(site: Site, content: bytes) -> None:
    """BPC-033: what is nothing of ours is said to be so."""
    answer = site.api("POST", "/verify/file", files={"file": ("f", content)})
    assert (answer.status_code, answer.json()["ok"]) == (200, False)


def test_hostile_texts_on_the_public_page_are_texts(site: Site) -> None:
    """BPC-033: names from documents are never run."""
    battery = site.another("<b>'\"&;</b>".replace(" ", ""))
    page = site.get(battery.page + f"?token={HOSTILE}")

    assert page.status_code == 200
    assert "<b>'" not in page.text
    assert "&lt;b&gt;" in page.text
    assert HOSTILE not in page.text


def test_a_token_ends_when_it_is_revoked_and_its_looks_are_listed(site: Site) -> None:
    """BPC-021: who has looked at what, until the token opens nothing any more."""
    token_id, token = people.new_token(
        site.world.services, site.world.tenant, "Scrap Ltd", "recycler", days=3
    )
    battery = site.another("LOOKED-AT")

    def fields() -> str:
        return str(site.get(battery.page, "application/json", token).json()["payload"])

    seen = fields()
    listed = [one for one in site.api("GET", "/access-log").json() if one["token_id"] == token_id]
    assert site.api("DELETE", f"/tokens/{token_id}").status_code == 204
    unseen = fields()

    assert "batteryStatus" in seen
    assert "batteryStatus" not in unseen
    assert [(one["name"], one["serial"]) for one in listed] == [("Scrap Ltd", "LOOKED-AT")]
    assert next(one for one in site.api("GET", "/tokens").json() if one["id"] == token_id)["revoked_at"]


async def test_the_page_is_whole_without_javascript(site: Site, tmp_path: Path) -> None:
    """BPC-033: in Chromium with scripts switched off, at 390 pixels: figures, reasons that open, the verify form."""
    async with open_chromium(screenshots=tmp_path, java_script_enabled=False) as visit:
        await visit.page.set_viewport_size({"width": 390, "height": 844})
        await visit.page.goto(site.page)
        assert await visit.page.get_by_text("Verified", exact=True).is_visible()
        reason = visit.page.locator("details", has_text="Why this value?").first
        await reason.locator("summary").click()
        assert await reason.get_by_text("Rule").first.is_visible()
        await visit.page.goto(f"{site.url}/verify")
        await visit.page.fill("textarea[name=text]", site.version["qr_payload"])
        await visit.page.get_by_role("button", name="Verify", exact=True).click()
        assert await visit.page.get_by_text("This passport is true").is_visible()
    assert visit.complaints == []
