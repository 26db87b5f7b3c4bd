"""Pages and API on real sockets: what the public sees, what it never sees, who may do what."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from passport_examples import KEY, example_input, signed
from passport_site import Site

from backstay_parts.browser import open_chromium
from backstay_passport.actions import people
from backstay_passport.cli.waiting import wait_for
from backstay_passport.domain.bundle import bundle_artifacts, public_bundle, read_zip, write_zip
from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.fields import LEAVES
from backstay_passport.domain.tiers import Tier, audience, tier_of, visible
from backstay_passport.domain.verify import Artifacts, holds, verify
from backstay_passport.export import ExportFormat
from backstay_passport.rule_packages import battery_passport
from backstay_passport.store import access, batteries
from backstay_passport.web.public import best_type

HOSTILE = '<script>alert("x")</script>'
HTML = {"Accept": "text/html"}


def test_the_label_opens_a_page_without_javascript(site: Site) -> None:
    """BPC-033: figures, reasons and a verified mark, as plain HTML."""
    page = httpx.get(site.page, headers=HTML)
    assert page.status_code == 200
    for words in ("Verified", "468.5 kg", "Why this value?", "Norrfjord Cells AB", "Rule"):
        assert words in page.text
    assert "<script>" not in page.text.replace("<script src", "")


def test_the_page_speaks_the_callers_language(site: Site) -> None:
    """BPC-045: HTML, JSON, JSON-LD and a credential by content negotiation."""
    types = {
        "application/json": "payload",
        "application/ld+json": "@context",
        "application/vc+ld+json": "credentialSubject",
    }
    for name, member in types.items():
        answer = httpx.get(site.page, headers={"Accept": name})
        assert answer.headers["content-type"].startswith(name)
        assert member in answer.json()
    assert best_type("text/html,application/xhtml+xml,application/json;q=0.9") == "text/html"
    assert best_type("application/json;q=0.9, application/ld+json") == "application/ld+json"
    assert best_type("") == best_type("*/*") == best_type(";;q=x") == "text/html"


def _flat(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {name for key, part in value.items() for name in ({key} | _flat(part))}
    if isinstance(value, list):
        return {name for part in value for name in _flat(part)}
    return set()


@pytest.mark.parametrize("kind", ["application/json", "application/ld+json", "application/vc+ld+json"])
def test_no_public_route_returns_a_field_of_another_tier(site: Site, kind: str) -> None:
    """BPC-021: generated from the table of tiers, for every field."""
    answer = httpx.get(site.page, headers={"Accept": kind}).json()
    shown = answer.get("payload", {}).get("submodels") or answer.get("credentialSubject", {}).get(
        "batteryPassport"
    )
    names = _flat(
        shown if shown is not None else {key: value for key, value in answer.items() if key != "@context"}
    )
    public = {entry.name for entry in LEAVES if tier_of(entry.path) == Tier.PUBLIC}
    for entry in LEAVES:
        if tier_of(entry.path) != Tier.PUBLIC and entry.name not in public:
            assert entry.name not in names, entry.path


def _texts(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for part in value.values() for text in _texts(part)}
    if isinstance(value, list):
        return {text for part in value for text in _texts(part)}
    return {str(value)} if isinstance(value, str) else set()


def _open_routes(site: Site) -> list[str]:
    """Every address of the site that answers a GET without any right, with real names in it."""
    described = httpx.get(f"{site.url}/openapi.json").json()["paths"]
    gtin, serial = site.page.split("/")[-3], site.page.split("/")[-1]
    known = {"gtin": gtin, "serial": serial, "version_id": site.version["id"], "name": "battery-passport.xsd"}
    known |= {"passport_id": site.version["passport_id"], "unit_id": site.unit_id}
    paths = [
        path.format_map(defaultdict(lambda: str(uuid4()), known))
        for path in described
        if "get" in described[path]
    ]
    pages = ["/", "/verify", "/login", "/console", "/console/batteries", f"/console/batteries/{site.unit_id}"]
    return [*paths, *pages, "/openapi.json", "/schemas/context.jsonld", "/schemas/Labeling.schema.json"]


def test_nothing_that_needs_no_right_returns_a_restricted_value(site: Site) -> None:
    """BPC-021: every route of the site without a token, in every type: no value of tiers 2 to 4 is in any answer."""
    whole = parse(bytes(site.version["payload_canonical"]))["submodels"]
    public = json.dumps(visible(whole, audience("public")), ensure_ascii=False)
    hidden = {
        text for text in _texts(whole) - _texts(json.loads(public)) if len(text) >= 4 and text not in public
    }
    # A word of its own in the name of a public field, "Original power capability"; its field is looked for instead.
    hidden -= {"Original"}
    assert len(hidden) > 20
    asked = 0
    for path in _open_routes(site):
        for kind in ("text/html", "application/json", "application/ld+json", "application/vc+ld+json"):
            answer = httpx.get(site.url + path, headers={"Accept": kind}, follow_redirects=True)
            assert answer.status_code in (200, 401, 403, 404), (path, answer.status_code)
            asked += answer.status_code == 200
            shown = answer.content.decode("utf-8", "replace")
            assert not [text for text in hidden if text in shown], (path, kind)
            assert "Battery status" not in shown
    assert asked > 30


def test_a_token_opens_its_tiers_and_no_others(site: Site) -> None:
    """BPC-021: recycler and authority; a wrong token sees what everybody sees."""

    def fields(token: str) -> set[str]:
        answer = httpx.get(
            site.page, headers={"Accept": "application/json", "Authorization": f"Bearer {token}"}
        )
        return _flat(answer.json()["payload"]["submodels"])

    assert {"stateOfCharge", "batteryStatus", "sparePartSources"} <= fields(site.recycler)
    assert "resultOfTestReport" not in fields(site.recycler)
    assert "resultOfTestReport" in fields(site.authority)
    assert "stateOfCharge" not in fields(site.authority)
    assert not {"stateOfCharge", "resultOfTestReport", "sparePartSources"} & fields("bpt_wrong")


def test_the_public_json_verifies_without_us(site: Site) -> None:
    """BPC-021, BPC-033: what the page gives is enough to check it."""
    found = httpx.get(site.page, headers={"Accept": "application/json"}).json()
    artifacts = Artifacts(
        payload=encode(found["payload"]),
        proof=encode(found["proof"]),
        receipt=encode(found["receipt"]),
        signature=bytes.fromhex(found["signature"]["signature"]),
        public_key=bytes.fromhex(found["signature"]["public_key"]),
        qr_text=found["qr"],
        whole_payload=False,
    )
    assert holds(verify(artifacts))


@pytest.mark.parametrize(
    "path", ["/01/04006381333931/21/NONE", "/01/123/21/X", "/01/x/21/%00", "/proof/x.png"]
)
def test_an_unknown_label_is_not_found(site: Site, path: str) -> None:
    """BPC-006: nothing is told about what is not there."""
    assert httpx.get(site.url + path, headers=HTML).status_code == 404


def test_the_verify_page_names_what_broke(site: Site) -> None:
    """BPC-033: a text, a picture, a bundle; a changed character is named."""
    text = site.version["qr_payload"]
    good = httpx.post(f"{site.url}/verify", data={"text": text}, headers=HTML)
    assert "This passport is true" in good.text
    changed = text[:60] + ("A" if text[60] != "A" else "B") + text[61:]
    bad = httpx.post(f"{site.url}/verify", data={"text": changed}, headers=HTML)
    assert "does not hold" in bad.text
    assert "ph (payload hash)" in bad.text
    picture = httpx.get(f"{site.url}/proof/{site.version['id']}.png").content
    scanned = httpx.post(f"{site.url}/verify", files={"file": ("code.png", picture)}, headers=HTML)
    assert "This passport is true" in scanned.text
    nonsense = httpx.post(f"{site.url}/verify", files={"file": ("x.png", b"nothing")}, headers=HTML)
    assert "neither an export of ours nor a picture" in nonsense.text


def test_the_verify_page_trusts_only_keys_of_the_maker(site: Site) -> None:
    """BPC-029, BPC-033: a bundle that somebody has signed with a key of their own is not true."""
    _, artifacts = signed(example_input())
    content = write_zip(public_bundle(artifacts, KEY.key_id, audience("public")))
    page = httpx.post(f"{site.url}/verify", files={"file": ("p.zip", content)}, headers=HTML)
    assert "This passport does not hold" in page.text
    assert "test-key-1 is not a key known here" in page.text


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04 broken", b"\x89PNG\r\n\x1a\n broken", b"GIF89a", b"\x00" * 9]
)
def test_the_verify_page_has_an_answer_to_any_file(site: Site, content: bytes) -> None:
    """BPC-033: a file that is nothing is said to be nothing."""
    page = httpx.post(f"{site.url}/verify", files={"file": ("x", content)}, headers=HTML)
    assert page.status_code == 200
    assert "does not hold" in page.text


def test_hostile_texts_are_shown_as_texts(site: Site) -> None:
    """BPC-033: what people type is never run."""
    page = httpx.post(f"{site.url}/verify", data={"text": HOSTILE}, headers=HTML)
    assert HOSTILE not in page.text
    assert "&lt;script&gt;" in page.text


def test_the_api_wants_a_key(site: Site) -> None:
    """BPC-047: nothing without a key."""
    for path in ("/documents", "/jobs", "/rules", "/webhooks/deliveries"):
        assert httpx.get(f"{site.url}/api/v1{path}").status_code == 401


def test_ids_of_another_tenant_are_not_found(site: Site) -> None:
    """BPC-006: the same 404 for unknown and foreign ids."""
    services = site.world.services
    with services.database.begin() as connection:
        other = access.add_tenant(connection, "other")
    key = people.new_key(services, other, "other", "maker")
    for path in (f"/versions/{site.version['id']}", f"/passports/{site.version['passport_id']}"):
        answer = httpx.get(f"{site.url}/api/v1{path}", headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 404


def test_a_program_makes_a_passport_by_the_api(site: Site) -> None:
    """BPC-046, BPC-047: upload → facts → snapshot → rules → battery → compile → activate → export."""
    services = site.world.services
    sku = "API-1"
    content = json.dumps({"components": [{"sku": sku, "mass_kg": 7}]}).encode()
    answer = site.api(
        "POST", "/documents", files={"file": ("a.json", content, "application/json")}, data={"kind": "BOM"}
    )
    assert answer.status_code == 202, answer.text
    done = answer.json()
    wait_for(services, done["job_id"], 60)
    snapshot = site.api("POST", "/snapshots", json={"name": "api"}).json()["id"]
    items = {"document_version_ids": [done["document_version_id"]]}
    assert site.api("POST", f"/snapshots/{snapshot}/items", json=items).json() == {"added": 1}
    assert "snapshot_hash" in site.api("POST", f"/snapshots/{snapshot}/seal").json()
    assert site.api("POST", f"/snapshots/{snapshot}/seal").status_code == 409
    sources = battery_passport()
    body = {"rules_source": sources.rules, "tests_source": sources.tests}
    rules = site.api("POST", "/rules", json=body).json()["id"]
    assert site.api("POST", f"/rules/{rules}/publish").status_code == 409
    job = site.api("POST", f"/rules/{rules}/test", json={"seed": 3}).json()["job_id"]
    assert wait_for(services, job, 110).result == "PASSED"
    assert site.api("POST", f"/rules/{rules}/publish").status_code == 200
    product = site.api("POST", "/products", json={"sku": sku, "gtin": "4006381333931"}).json()["id"]
    unit = site.api("POST", f"/products/{product}/units", json={"serial": "U1"}).json()["id"]
    passport = site.api("POST", "/passports", json={"product_id": product, "unit_id": unit}).json()["id"]
    request = {"snapshot_id": snapshot, "rule_package_version_id": rules}
    job = site.api("POST", f"/passports/{passport}/compile", json=request).json()["job_id"]
    wait_for(services, job, 60)
    versions = site.api("GET", f"/passports/{passport}").json()["versions"]
    assert len(versions) == 1
    assert "payload_canonical" not in versions[0]
    version = site.coded(versions[0]["id"])
    assert site.api("POST", f"/versions/{version}/activate").json()["status"] == "ACTIVE"
    request = {"format": ExportFormat.ZIP, "public": True}
    job = site.api("POST", f"/versions/{version}/exports", json=request).json()["job_id"]
    export = wait_for(services, job, 60).result
    assert holds(verify(bundle_artifacts(read_zip(site.api("GET", f"/exports/{export}/file").content))))
    assert "7 kg" in site.get(f"{site.url}/01/04006381333931/21/U1").text


def test_the_api_says_what_is_wrong(site: Site) -> None:
    """BPC-047: problems with code, message and place."""
    wrong = site.api("POST", "/rules", json={"rules_source": "package", "tests_source": ""})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "rule_syntax_error")
    assert "rules:1:8" in wrong.json()["detail"]
    assert site.api("POST", "/snapshots", json={"name": ""}).status_code == 422
    assert site.api("POST", "/products", json={"sku": "X", "gtin": "1234"}).status_code == 422


def test_a_bundle_is_exported_by_the_api(site: Site) -> None:
    """BPC-045: an export is a job; its file verifies."""
    version = site.version["id"]
    request = {"format": ExportFormat.ZIP, "public": True}
    job = site.api("POST", f"/versions/{version}/exports", json=request).json()["job_id"]
    wait_for(site.world.services, job, 60)
    export = site.api("GET", f"/versions/{version}/exports").json()[0]["id"]
    content = site.api("GET", f"/exports/{export}/file").content
    assert holds(verify(bundle_artifacts(read_zip(content))))
    upload = httpx.post(f"{site.url}/verify", files={"file": ("p.zip", io.BytesIO(content))}, headers=HTML)
    assert "This passport is true" in upload.text


def test_the_api_is_described(site: Site) -> None:
    """BPC-047: OpenAPI with every operation."""
    paths = httpx.get(f"{site.url}/openapi.json").json()["paths"]
    for path in (
        "/api/v1/documents",
        "/api/v1/snapshots/{snapshot_id}/seal",
        "/api/v1/verify",
        "/01/{gtin}/21/{serial}",
    ):
        assert path in paths


async def test_the_pages_in_a_browser(site: Site, tmp_path: Path) -> None:
    """BPC-033: public page at 390 pixels, verify page and console in Chromium, hostile names shown as text."""
    with site.world.services.database.begin() as connection:
        product = batteries.products(connection, site.world.tenant)[0]["id"]
        batteries.add_unit(
            connection, site.world.tenant, product, {"serial": "<b>x</b>", "gtin": "4006381333931"}
        )
    async with open_chromium(screenshots=tmp_path) as visit:
        await visit.page.set_viewport_size({"width": 390, "height": 844})
        await visit.page.goto(site.page)
        width = await visit.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390
        await visit.screenshot("public-phone")
        await visit.page.set_viewport_size({"width": 1200, "height": 900})
        await visit.page.goto(f"{site.url}/verify")
        await visit.page.fill("textarea[name=text]", site.version["qr_payload"])
        await visit.page.get_by_role("button", name="Verify", exact=True).click()
        assert await visit.page.get_by_text("This passport is true").is_visible()
        await visit.screenshot("verify")
        await visit.page.goto(f"{site.url}/console")
        await visit.page.fill("input[name=username]", "ada")
        await visit.page.fill("input[name=password]", "battery staple")
        await visit.page.keyboard.press("Enter")
        await visit.page.wait_for_url(f"{site.url}/console")
        await visit.screenshot("console")
        for path in ("readiness", "batteries", "rules", "rules/new", "webhooks", "jobs", "chains"):
            answer = await visit.page.goto(f"{site.url}/console/{path}")
            assert answer is not None
            assert answer.status == 200, path
            await visit.screenshot(f"console-{path.replace('/', '-')}")
        await visit.page.goto(f"{site.url}/console/batteries")
        assert await visit.page.get_by_text("<b>x</b>").count() >= 1
        await visit.page.goto(f"{site.url}/console/batteries/{site.unit_id}")
        await visit.screenshot("console-battery")
    assert visit.complaints == []
