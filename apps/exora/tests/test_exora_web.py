"""API and pages over a real socket, and the pages in a real browser."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from backstay_exora.demo.letters import draw_letter
from backstay_parts.browser import Visit, open_chromium
from backstay_parts.servers import ServerProcess, answers_http, free_port
from conftest import Practice, Stage

PASSWORD = "read every letter"
SCREENSHOTS = Path(os.environ["EXORA_SCREENSHOTS"]) if "EXORA_SCREENSHOTS" in os.environ else None


@pytest.fixture(scope="module")
def service(stage: Stage) -> Iterator[ServerProcess]:
    port = free_port()
    command = [sys.executable, "-m", "backstay_exora", "serve", "--no-work", "--port", str(port)]
    with ServerProcess(
        command, port=port, name="exora", env=stage.environment, is_ready=answers_http("/login")
    ) as running:
        yield running
        stage.logs["the log of the pages"] = running.output()


@pytest.fixture
async def api(practice: Practice, service: ServerProcess) -> AsyncIterator[httpx.AsyncClient]:
    key = await _key(practice, "admin")
    async with httpx.AsyncClient(
        base_url=service.url, headers={"Authorization": f"Bearer {key}"}, timeout=30
    ) as client:
        yield client


async def _key(practice: Practice, role: str) -> str:
    from backstay_exora.store.access import add_key
    from backstay_exora.store.connections import connect

    async with connect(practice.stage.url) as connection:
        return await add_key(connection, practice.name, "a program", role=role)


async def _send(
    api: httpx.AsyncClient, practice: Practice, content: bytes, name: str = "a.pdf"
) -> httpx.Response:
    return await api.post(
        "/api/documents", files={"file": (name, content)}, data={"patient_id": str(practice.patients[0])}
    )


async def test_a_document_goes_from_upload_to_export(api: httpx.AsyncClient, practice: Practice) -> None:
    """EXO-027, EXO-030"""
    from fhir.resources.R4B.bundle import Bundle

    letter = draw_letter(practice.people[0], 401)
    sent = await _send(api, practice, letter.content)
    assert sent.status_code == 201, sent.text
    document = sent.json()["id"]
    assert (await _send(api, practice, letter.content)).json() == {"id": document, "is_new": False}
    await practice.wait_for(
        "SELECT 1 FROM exora.shell_files WHERE id = $1::text::uuid AND status = 'done'", document
    )

    found = (await api.get(f"/api/documents/{document}")).json()
    bundle = (await api.get(f"/api/patients/{practice.patients[0]}/export")).json()

    assert found["status"] == "done"
    assert found["cost_dollars"] > 0
    Bundle.model_validate(bundle)
    kinds = [entry["resource"]["resourceType"] for entry in bundle["entry"]]
    facts = len(found["facts"])
    assert kinds.count("Provenance") == facts == len(kinds) - 2 - facts
    sources = {
        entry["resource"]["entity"][0]["what"]["reference"]
        for entry in bundle["entry"]
        if entry["resource"]["resourceType"] == "Provenance"
    }
    assert sources == {f"urn:uuid:{document}"}


async def test_a_reviewer_decides_and_retracts_over_the_api(
    api: httpx.AsyncClient, practice: Practice
) -> None:
    """EXO-029"""
    letter = draw_letter(practice.people[0], 402, plant="other gender")
    document = (await _send(api, practice, letter.content)).json()["id"]
    await practice.wait_for(
        "SELECT 1 FROM exora.shell_files WHERE id = $1::text::uuid AND status = 'needs_review'", document
    )
    (review,) = (await api.get("/api/reviews")).json()

    empty = await api.post(
        f"/api/reviews/{review['id']}/decision", json={"decision": "approve", "reason": ""}
    )
    done = await api.post(
        f"/api/reviews/{review['id']}/decision", json={"decision": "approve", "reason": "a slip"}
    )
    again = await api.post(
        f"/api/reviews/{review['id']}/decision", json={"decision": "reject", "reason": "x"}
    )
    await practice.wait_for(
        "SELECT 1 FROM exora.shell_files WHERE id = $1::text::uuid AND status = 'done'", document
    )
    retracted = await api.post(f"/api/documents/{document}/retract", json={"reason": "not ours"})

    assert (empty.status_code, done.status_code, again.status_code) == (409, 200, 409)
    assert retracted.json()["patient_medications"] == len(letter.truth.medications)


async def test_roles_and_practices_are_kept_apart(
    practice: Practice, service: ServerProcess, stage: Stage
) -> None:
    """EXO-017"""
    document, _ = await practice.send_clean(seed=403)
    reception = {"Authorization": f"Bearer {await _key(practice, 'reception')}"}
    stranger = Practice(stage, "other-practice", practice.people, practice.patients)
    await practice.rows(
        "INSERT INTO exora.practices (id, name) VALUES ('other-practice', 'x') ON CONFLICT DO NOTHING"
    )
    foreign = {"Authorization": f"Bearer {await _key(stranger, 'admin')}"}
    async with httpx.AsyncClient(base_url=service.url, timeout=30) as client:
        nobody = await client.get(f"/api/documents/{document}")
        allowed = await client.get(f"/api/documents/{document}", headers=reception)
        forbidden = await client.get("/api/reviews", headers=reception)
        unknown = await client.get(f"/api/documents/{document}", headers=foreign)

    statuses = [answer.status_code for answer in (nobody, allowed, forbidden, unknown)]
    assert statuses == [401, 200, 403, 404]


async def test_a_programs_hears_of_each_step_of_its_document(
    api: httpx.AsyncClient, practice: Practice
) -> None:
    """EXO-027"""
    letter = draw_letter(practice.people[0], 406)
    document = (await _send(api, practice, letter.content)).json()["id"]

    async with api.stream("GET", f"/api/documents/{document}/events") as answer:
        lines = [line async for line in answer.aiter_lines() if line.startswith("data:")]

    assert json.loads(lines[-1].removeprefix("data:")) == {"status": "done"}
    listed = (await api.get("/api/documents", params={"status": "done"})).json()
    assert [row["id"] for row in listed] == [document]
    assert len((await api.get("/api/patients")).json()) == len(practice.patients)
    assert (await api.get(f"/api/documents/{practice.patients[0]}/events")).status_code == 404


async def test_an_admin_sees_and_retries_only_jobs_of_the_practice(
    practice: Practice, service: ServerProcess, tmp_path: Path
) -> None:
    """EXO-017, EXO-025"""
    practice.stage.model.fail([{"refusal": "no"}])
    document, _ = await practice.send_clean(seed=407)
    assert await practice.status(document) == "failed"
    dead = await practice.value(
        "SELECT id FROM exora.job_queue WHERE shell_file_id = $1 AND dead_letter_at IS NOT NULL", document
    )
    stranger = Practice(practice.stage, f"{practice.name}-other", practice.people, practice.patients)
    await practice.rows("INSERT INTO exora.practices (id, name) VALUES ($1, 'x')", stranger.name)
    own, foreign = [], []
    async with open_chromium(screenshots=tmp_path) as visit:
        for who, seen in ((stranger, foreign), (practice, own)):
            page = await _enter(visit, who, service)
            await page.goto(f"{service.url}/jobs")
            seen += [await form.get_attribute("action") for form in await page.locator("form").all()]
            if who is stranger:
                answer = await page.evaluate(
                    "async (path) => (await fetch(path, {method: 'POST', headers: {'X-CSRF-Token':"
                    " document.querySelector('[name=csrf_token]')?.value ?? ''}})).status",
                    f"/jobs/{dead}/retry",
                )
                assert answer in {403, 404}
                await visit.page.context.clear_cookies()
            else:
                await page.locator(f"form[action='/jobs/{dead}/retry'] button").click()
                await page.wait_for_load_state()

    assert f"/jobs/{dead}/retry" not in foreign
    assert f"/jobs/{dead}/retry" in own
    assert await practice.status(document, ends=frozenset({"done"})) == "done"


async def test_a_file_that_is_none_is_refused_with_advice(api: httpx.AsyncClient, practice: Practice) -> None:
    """EXO-036"""
    answer = await _send(api, practice, b"hello", "x.txt")

    assert answer.status_code == 422
    assert answer.json()["code"] == "bad_file"
    assert "PDF" in answer.json()["detail"]


async def _enter(visit: Visit, practice: Practice, service: ServerProcess) -> Any:
    from backstay_exora.store.access import add_staff
    from backstay_exora.store.connections import connect

    name = f"rita-{practice.name}"
    async with connect(practice.stage.url) as connection:
        await add_staff(connection, practice.name, name, PASSWORD, role="admin")
    await visit.page.goto(f"{service.url}/login")
    await visit.page.fill("[name=username]", name)
    await visit.page.fill("[name=password]", PASSWORD)
    await visit.page.press("[name=password]", "Enter")
    await visit.page.wait_for_url("**/documents")
    return visit.page


async def test_a_fact_is_one_click_from_its_pixels(
    practice: Practice, service: ServerProcess, tmp_path: Path
) -> None:
    """EXO-026, EXO-030, EXO-033"""
    document, letter = await practice.send_clean(seed=404)
    await practice.status(document)
    name, dose = letter.truth.medications[0]
    async with open_chromium(screenshots=SCREENSHOTS or tmp_path) as visit:
        page = await _enter(visit, practice, service)
        await page.goto(f"{service.url}/patients/{practice.patients[0]}")
        await page.get_by_role("link", name=name).first.click()
        await page.wait_for_url("**/documents/*fact=*")
        shown = await page.inner_text("main")
        picture = await page.evaluate("document.querySelector('main image, main img') !== null")
        await visit.screenshot("document")
        for place in ("documents", "upload", "reviews", "patients", "jobs", "doctor"):
            await page.goto(f"{service.url}/{place}")
            assert await page.inner_text("h1")
            if place in {"documents", "reviews", "jobs", "doctor"}:
                listed = await page.inner_text("main")
                assert name not in listed
                assert practice.people[0].family_name not in listed

    assert f"{name} {dose}" in shown
    assert picture
    assert visit.complaints == []


async def test_ten_documents_are_reviewed_by_keyboard_alone(
    practice: Practice, service: ServerProcess, tmp_path: Path
) -> None:
    """EXO-029"""
    documents = [
        await practice.send(0, draw_letter(practice.people[0], 410 + number, plant="other address"))
        for number in range(10)
    ]
    for document in documents:
        assert await practice.status(document) == "needs_review"
    async with open_chromium(screenshots=SCREENSHOTS or tmp_path) as visit:
        page = await _enter(visit, practice, service)
        await page.goto(f"{service.url}/reviews")
        await visit.screenshot("reviews")
        await page.keyboard.press("n")
        for _ in documents:
            await page.wait_for_url("**/reviews/*-*")
            # The field has the focus already: nobody touches a mouse.
            assert await page.evaluate("document.activeElement.name") == "reason"
            await page.keyboard.type("moved house")
            async with page.expect_navigation():
                await page.keyboard.press("Enter")
        await page.wait_for_url("**/reviews")
        text = await page.inner_text("main")

    assert "Nothing waits" in text
    for document in documents:
        assert await practice.status(document, ends=frozenset({"done"})) == "done"
    assert visit.complaints == []


async def test_strangers_see_nothing_and_lists_no_clinical_words(
    practice: Practice, service: ServerProcess, api: httpx.AsyncClient
) -> None:
    """EXO-017, EXO-033"""
    document, letter = await practice.send_clean(seed=405)
    await practice.status(document)
    async with httpx.AsyncClient(base_url=service.url, timeout=30) as client:
        stranger = await client.get("/documents", headers={"Accept": "text/html"})
    lists = {place: await api.get(f"/{place}") for place in ("documents", "jobs", "doctor", "patients")}

    assert stranger.status_code in {302, 303}
    assert {place: page.status_code for place, page in lists.items()} == dict.fromkeys(lists, 200)
    assert letter.filename in lists["documents"].text, "the list is that of this practice"
    clinical = [name for name, _ in letter.truth.medications] + [*letter.truth.conditions]
    for place, page in lists.items():
        assert [word for word in clinical if word.lower() in page.text.lower()] == [], place
    for place in ("jobs", "doctor"):
        assert practice.people[0].family_name not in lists[place].text, place


async def test_an_admin_lists_the_jobs_about_a_patient(practice: Practice, api: httpx.AsyncClient) -> None:
    """EXO-026"""
    sent, _ = await practice.send_clean(seed=406)
    await practice.status(sent)

    hers = await api.get(f"/jobs?patient={practice.patients[0]}")
    others = await api.get(f"/jobs?patient={practice.patients[1]}")

    assert hers.text.count("shell_file_processing") == 1
    assert "ai_processing" in hers.text
    assert "ai_processing" not in others.text
