"""The HTTP API, every part of it that changes something: refused, done, and seen afterwards."""

from __future__ import annotations

import httpx
from passport_site import Site

from backstay_passport.actions import people
from backstay_passport.cli.waiting import wait_for

RULES = """package "by api"
fact Battery { sku: Text, mass_kg: Decimal kg }
let battery = fact("Battery", "battery:" + product.sku)
rule mass: set GeneralProductInformation.batteryMass = battery.mass_kg
"""
TESTS = """property "mass" for 500 cases with { mass: decimal(1, 900, 2) }
  given { product {sku: "A"} fact "Battery" "battery:A" {sku: "A", mass_kg: mass} }
  expect out(GeneralProductInformation.batteryMass) == mass * 1 kg
"""


def test_a_job_can_be_asked_for_by_the_id_that_was_given(site: Site) -> None:
    """BPC-047: its status and its error; another tenant's is not there."""
    battery = site.another("API-JOB", active=False)
    accepted = site.api("POST", f"/passports/{battery.passport_id}/compile", json=site.inputs())
    job_id = accepted.json()["job_id"]
    wait_for(site.world.services, job_id, 60)

    assert accepted.status_code == 202
    assert site.api("GET", f"/jobs/{job_id}").json()["status"] == "SUCCEEDED"
    assert site.api("GET", f"/jobs/{site.product_id}").status_code == 404
    headers = {"Authorization": f"Bearer {site.stranger_key()}"}
    assert httpx.get(f"{site.url}/api/v1/jobs/{job_id}", headers=headers).status_code == 404


def test_a_version_is_activated_and_revoked_by_the_api(site: Site) -> None:
    """BPC-047: along the arrows, and with the reason."""
    battery = site.another("API-ACT", active=False)
    address = f"/versions/{battery.version_id}"

    assert site.api("POST", f"{address}/activate").json() == {
        "id": battery.version_id,
        "status": "ACTIVE",
        "superseded": None,
    }
    assert site.api("POST", f"{address}/activate").status_code == 409
    assert site.api("POST", f"{address}/revoke", json={"reason": ""}).status_code == 422
    assert site.api("POST", f"{address}/revoke", json={"reason": "recall"}).json()["status"] == "REVOKED"
    assert site.api("GET", address).json()["status"] == "REVOKED"


def test_a_scanned_text_is_verified_by_the_api_without_a_key(site: Site) -> None:
    """BPC-033: with every check; a revoked version does not hold."""
    text = site.version["qr_payload"]
    good = httpx.post(f"{site.url}/api/v1/verify", json={"text": text}).json()
    bad = httpx.post(f"{site.url}/api/v1/verify", json={"text": text[:-1] + "="}).json()

    assert (good["ok"], good["passport_version_id"]) == (True, site.version["id"])
    assert {one["check"] for one in good["checks"]} >= {"signature", "payload hash", "fields", "status"}
    assert bad["ok"] is False


def test_a_battery_is_changed_by_the_api(site: Site) -> None:
    """BPC-020: status arrows hold here too."""
    battery = site.another("API-UNIT", active=False)
    address = f"/units/{battery.unit_id}"

    assert site.api("PATCH", address, json={"data": {"status": "Waste"}}).json()["status"] == "Waste"
    assert site.api("PATCH", address, json={"data": {"status": "Original"}}).status_code == 422
    made = site.api("POST", f"{address}/lives", json={"status": "re-used", "serial": "API-UNIT-2"})
    assert made.json()["predecessor_id"] == battery.unit_id
    again = site.api("POST", f"{address}/lives", json={"status": "Repurposed", "serial": "API-UNIT-3"})
    assert (again.status_code, "has become API-UNIT-2" in again.text) == (422, True)


def test_a_battery_of_another_model_gets_no_passport(site: Site) -> None:
    """BPC-046: and its page goes on working."""
    other = site.api("POST", "/products", json={"sku": "OTHER-MODEL"}).json()["id"]
    answer = site.api("POST", "/passports", json={"product_id": other, "unit_id": site.unit_id})

    assert answer.status_code == 422
    assert site.get(site.page).status_code == 200


def test_lists_have_pages(site: Site) -> None:
    """BPC-047: passports and batteries a page at a time, snapshots up to a limit."""
    for number in range(3):
        body = {"serial": f"PAGE-{number}"}
        assert site.api("POST", f"/products/{site.product_id}/units", json=body).status_code == 201

    for path in ("/passports", f"/products/{site.product_id}/units"):
        all_of_them = [one["id"] for one in site.api("GET", path, params={"limit": 500}).json()]
        pages = [
            one["id"]
            for offset in range(0, len(all_of_them), 2)
            for one in site.api("GET", path, params={"limit": 2, "offset": offset}).json()
        ]
        assert pages == all_of_them
        assert site.api("GET", path, params={"limit": 501}).status_code == 422
    assert len(site.api("GET", "/snapshots", params={"limit": 1}).json()) == 1


def test_a_document_that_waits_or_failed_is_in_the_inbox(site: Site) -> None:
    """BPC-044: before there is a version of it, and also if there never will be."""
    body = {"file_url": "s3://no-such-bucket-here/x.pdf", "name": "lost.pdf"}
    assert site.api("POST", "/documents/from-address", json={"file_url": "ftp://x/y"}).status_code == 422
    done = site.api("POST", "/documents/from-address", json=body).json()

    [row] = [one for one in site.api("GET", "/documents").json() if one["document_id"] == done["document_id"]]

    assert row["name"] == "lost.pdf"
    assert row["status"] in ("WAITING", "READING", "FAILED")


def test_rules_are_rewritten_as_drafts_and_put_away_later(site: Site) -> None:
    """BPC-035: a draft is written anew; a published version is deprecated, then retired, and compiles nothing."""
    body = {"rules_source": RULES, "tests_source": TESTS}
    rules = site.api("POST", "/rules", json=body).json()["id"]
    wrong = site.api(
        "PUT", f"/rules/{rules}", json={**body, "rules_source": RULES.replace("mass_kg\n", "kg\n")}
    )
    assert (wrong.status_code, wrong.json()["code"]) == (422, "rule_type_error")
    edited = {**body, "rules_source": RULES + "# edited\n"}
    assert site.api("PUT", f"/rules/{rules}", json=edited).status_code == 200
    assert site.api("GET", f"/rules/{rules}").json()["rules_source"].endswith("# edited\n")
    job = site.api("POST", f"/rules/{rules}/test", json={"seed": 1}).json()["job_id"]
    assert wait_for(site.world.services, job, 60).result == "PASSED"
    assert site.api("PUT", f"/rules/{rules}", json=body).status_code == 409
    assert site.api("POST", f"/rules/{rules}/retire").status_code == 409
    for step in ("publish", "deprecate", "retire"):
        assert site.api("POST", f"/rules/{rules}/{step}").status_code == 200
    assert site.api("GET", f"/rules/{rules}").json()["status"] == "RETIRED"


def test_endpoints_are_listed_disabled_and_get_new_secrets(site: Site) -> None:
    """BPC-039: what was given is never shown again."""
    added = site.api(
        "POST", "/webhooks", json={"url": "https://example.org/h", "event_types": ["QR_GENERATED"]}
    )
    endpoint = added.json()["id"]

    assert site.api("POST", f"/webhooks/{endpoint}/disable").json()["active"] is False
    [listed] = [one for one in site.api("GET", "/webhooks").json() if one["id"] == endpoint]
    assert (listed["active"], listed["event_types"]) == (False, ["QR_GENERATED"])
    assert "secret" not in listed
    rotated = site.api("POST", f"/webhooks/{endpoint}/secret").json()["secret"]
    assert rotated != added.json()["secret"]
    assert site.api("POST", f"/webhooks/{endpoint}/enable").json()["active"] is True


def test_keys_of_programs_are_for_admins_and_can_be_taken(site: Site) -> None:
    """BPC-047: a maker may not; a revoked key opens nothing."""
    assert site.api("GET", "/keys").status_code == 403
    admin = people.new_key(site.world.services, site.world.tenant, "root", "admin")
    headers = {"Authorization": f"Bearer {admin}"}
    made = httpx.post(f"{site.url}/api/v1/keys", headers=headers, json={"name": "robot", "role": "viewer"})
    robot = {"Authorization": f"Bearer {made.json()['key']}"}
    [listed] = [
        one for one in httpx.get(f"{site.url}/api/v1/keys", headers=headers).json() if one["name"] == "robot"
    ]

    before = httpx.get(f"{site.url}/api/v1/jobs", headers=robot).status_code
    taken = httpx.delete(f"{site.url}/api/v1/keys/{listed['id']}", headers=headers).status_code
    after = httpx.get(f"{site.url}/api/v1/jobs", headers=robot).status_code

    assert (before, taken, after) == (200, 204, 401)
    assert "digest" not in listed


def test_the_chains_are_checked_by_the_api(site: Site) -> None:
    """BPC-043: how many events, and what is wrong."""
    answer = site.api("GET", "/audit").json()
    assert (answer["ok"], answer["problems"]) == (True, [])
    assert answer["events"] > 10
