"""Pages and API over a real socket, with the rights of each role."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
from oblicore_browsing import logged_in, program, token_of

from backstay_oblicore.demo.permit_maker import make_consent
from backstay_parts.sheets import read_sheets, write_xlsx


async def test_a_permit_goes_from_upload_to_register_over_http(world: Any, address: str) -> None:
    """OBL-026"""
    made = make_consent(1002, issued=date(2026, 1, 5))
    async with program(world, address, world.staff, "STAFF") as client:
        upload = await client.post(
            "/api/v1/documents",
            files={"file": ("consent.pdf", made.content, "application/pdf")},
            data={
                "site_id": str(world.site),
                "title": "=cmd|' /C calc'!A0",
                "document_type": "TRADE_EFFLUENT_CONSENT",
            },
        )
        assert upload.status_code == 201, upload.text
        document = upload.json()["document_id"]
        asked = await client.post(f"/api/v1/documents/{document}/extract")
        assert asked.status_code == 202
        await world.backstay.drain()
        found = (await client.get(f"/api/v1/documents/{document}/obligations")).json()
        coverage = (await client.get(f"/api/v1/documents/{document}/coverage")).json()
        sheet = await client.get("/register.xlsx")
        calendar = await client.get("/register.ics")
        events = await client.get(f"/api/v1/jobs/{asked.json()['job_id']}/events")

    assert len(found) == len(made.conditions)
    assert coverage["is_complete"] is True
    assert coverage["accounted"] == coverage["total"] > 0
    [table] = read_sheets(sheet.content)
    assert len(table.rows) == len(found) + 1
    assert "=cmd" in str(table.rows[1][4])
    assert calendar.text.startswith("BEGIN:VCALENDAR")
    assert "event: job_status" in events.text
    assert '"COMPLETED"' in events.text


async def test_nobody_sees_or_changes_what_is_another_companys(
    world: Any, other_company: Any, address: str
) -> None:
    """OBL-085"""
    document = await world.document(permit_number="EPR/1")
    duty = await world.obligation(document)
    pack = uuid4()
    paths = [
        ("GET", f"/api/v1/documents/{document}"),
        ("GET", f"/api/v1/obligations/{duty}"),
        ("POST", f"/api/v1/obligations/{duty}/complete"),
        ("POST", f"/api/v1/documents/{document}/extract"),
        ("GET", f"/api/v1/audit-packs/{pack}/download"),
        ("GET", f"/documents/{document}"),
        ("GET", f"/obligations/{duty}"),
    ]
    async with program(world, address, other_company.owner, "OWNER", "ADMIN") as client:
        for method, path in paths:
            assert (await client.request(method, path)).status_code == 404, path
        assert (await client.get("/api/v1/obligations")).json() == []
        generated = await client.post(
            "/api/v1/audit-packs/generate",
            json={
                "pack_type": "BOARD_MULTI_SITE_RISK",
                "company_id": str(world.company),
                "date_range_start": "2026-01-01",
                "date_range_end": "2026-12-31",
            },
        )
        assert generated.status_code == 404
    async with httpx.AsyncClient(base_url=address) as stranger:
        for method, path in paths:
            assert (await stranger.request(method, path)).status_code in (303, 401, 403), path
    assert await world.value("SELECT status FROM oblicore.obligations WHERE id = $1", duty) == "PENDING"


async def test_viewers_read_and_do_not_write(world: Any, address: str) -> None:
    """OBL-093"""
    viewer = await world.insert("users", email="viewer@brindle.example", full_name="Vera Viewer")
    await world.execute("INSERT INTO oblicore.user_roles VALUES ($1, $2, 'VIEWER')", viewer, world.company)
    await world.execute("INSERT INTO oblicore.user_site_assignments VALUES ($1, $2)", viewer, world.site)
    duty = await world.obligation(await world.document())

    async with program(world, address, viewer, "VIEWER") as client:
        assert len((await client.get("/api/v1/obligations")).json()) == 1
        assert (await client.post(f"/api/v1/obligations/{duty}/complete")).status_code == 403
    async with program(world, address, viewer, "STAFF") as forged:
        # A token may claim a role; the tables know better.
        assert (await forged.post(f"/api/v1/obligations/{duty}/complete")).status_code == 404


async def test_a_register_is_previewed_and_confirmed_in_the_pages(world: Any, address: str) -> None:
    """OBL-041"""
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
    content = write_xlsx(
        {
            "R": [
                head,
                ["EPR/1", "<script>alert(1)</script>", "monthly", date(2026, 5, 1), None],
                ["", "B", "x", "y", None],
            ]
        }
    )
    async with logged_in(world, address, world.manager) as browser:
        form = await browser.get("/imports/new")
        preview = await browser.post(
            "/imports/new",
            data={
                "csrf_token": token_of(form),
                "site_id": str(world.site),
                "create_missing_permits": "yes",
                "skip_duplicates": "yes",
            },
            files={"file": ("register.xlsx", content)},
        )
        assert preview.status_code == 200, preview.text[:500]
        await world.backstay.drain()
        shown = await browser.get(preview.url)
        assert "Missing permit_number" in shown.text
        assert "<script>alert" not in shown.text
        confirmed = await browser.post(
            str(shown.url).replace("/preview", "/confirm"), data={"csrf_token": token_of(shown)}
        )
        assert confirmed.status_code == 200
        await world.backstay.drain()
        register = await browser.get("/obligations")
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in register.text
        for path in ("/", "/documents", "/review-queue", "/calendar", "/evidence", "/sampling", "/generators", "/aer",
                     "/packs", "/imports", "/inbox", "/ledger", "/documents/new"):  # fmt: skip
            assert (await browser.get(path)).status_code == 200, path
        duty = await world.value("SELECT id FROM oblicore.obligations")
        assert "Why this date" in (await browser.get(f"/obligations/{duty}")).text
        assert (await browser.get("/operations")).status_code == 403


async def test_a_generator_and_a_parameter_show_what_was_measured(
    world: Any, other_company: Any, address: str
) -> None:
    known = {"company_id": world.company}
    place = {**known, "document_id": await world.document(), "site_id": world.site}
    generator = await world.insert(
        "generators",
        **place,
        generator_identifier="GEN-3",
        annual_run_hour_limit=500,
        anniversary_date=date(2026, 4, 1),
    )
    await world.insert(
        "run_hour_records",
        **known,
        generator_id=generator,
        recording_date=date(2026, 5, 2),
        hours_recorded=Decimal("10.5"),
    )
    parameter = await world.insert(
        "parameters", **place, parameter_type="pH", limit_kind="RANGE", range_minimum=6, limit_value=9
    )
    await world.insert(
        "lab_results",
        **known,
        site_id=world.site,
        parameter_id=parameter,
        sample_date=date(2026, 5, 3),
        recorded_value=Decimal("9.7"),
        standing="EXCEEDED",
    )
    paths = {
        f"/generators/{generator}": ("10.50", "of 500 allowed"),
        f"/sampling/{parameter}": ("9.7", "6 to 9"),
    }

    async with program(world, address, world.manager, "ADMIN") as client:
        for path, expected in paths.items():
            shown = await client.get(path)
            assert shown.status_code == 200, path
            assert all(text in shown.text for text in expected), path
    async with program(world, address, other_company.owner, "OWNER") as stranger:
        assert [(await stranger.get(path)).status_code for path in paths] == [404, 404]


async def test_health_says_how_the_job_system_is(world: Any, address: str) -> None:
    async with httpx.AsyncClient(base_url=address) as client:
        answer = await client.get("/api/v1/health/jobs")

    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    assert set(answer.json()["details"]) == {"stale_jobs", "unresolved_dlq", "recent_failures", "timestamp"}


async def test_a_text_is_read_without_being_stored(world: Any, address: str) -> None:
    """OBL-094"""
    text = "\n".join(f"1.1.{n} The operator shall keep log {n} daily." for n in range(1, 6))
    async with program(world, address, world.staff, "STAFF") as client:
        answer = await client.post(
            "/api/v1/ai/extract",
            json={
                "document_text": text,
                "extraction_parameters": {"max_obligations": 3, "confidence_threshold": 0.5},
            },
        )

    found = answer.json()
    assert len(found["obligations"]) == 3
    assert found["obligations"][0]["frequency"] == "DAILY"
    assert "first 3 of 5" in found["warnings"][0]
    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 0


async def test_a_text_is_read_by_the_rules_of_its_document(
    world: Any, other_company: Any, address: str
) -> None:
    """OBL-094"""
    own = await world.document(module="MODULE_3")
    foreign = await other_company.document(module="MODULE_3")
    async with program(world, address, world.staff, "STAFF") as client:

        async def ask(**values: str) -> httpx.Response:
            text = "1.1 The operator shall keep a log."
            return await client.post("/api/v1/ai/extract", json={"document_text": text, **values})

        by_type = await ask(document_type="TRADE_EFFLUENT_CONSENT")
        by_document = await ask(document_id=str(own))
        refused = await ask(document_id=str(foreign))
        unknown = await ask(document_type="RECIPE")

    assert by_type.json()["module_code"] == "MODULE_2"
    assert by_document.json()["module_code"] == "MODULE_3"
    assert (refused.status_code, unknown.status_code) == (404, 422)


async def test_progress_arrives_on_the_channel_while_a_job_runs(world: Any, address: str) -> None:
    """OBL-097"""
    document = await world.document()
    for n in range(30):
        await world.insert(
            "parameters",
            document_id=document,
            company_id=world.company,
            site_id=world.site,
            parameter_type=f"P{n}",
        )
    job = (
        await world.services.handlers["SAMPLING_SCHEDULE"]
        .options(tenant=str(world.company), created_by=str(world.owner))
        .enqueue(company_id=world.company)
    )
    seen: list[dict[str, Any]] = []
    async with (
        program(world, address, world.owner, "OWNER") as client,
        client.stream("GET", f"/api/v1/jobs/{job.id}/events") as stream,
    ):
        running = None
        async for line in stream.aiter_lines():
            if not line.startswith("data: {"):
                continue
            seen.append(json.loads(line.removeprefix("data: ")))
            # The stream is open before the job begins, so that nothing of it can be history.
            running = running or asyncio.create_task(world.backstay.drain())
        await running

    assert (seen[0]["status"], seen[0]["progress"]) == ("PENDING", None)
    assert {one["channel"] for one in seen} == {f"job:{job.id}"}
    lines = [one["progress"] for one in seen if one["progress"]]
    counts = [int(found) for line in lines for found in re.findall(r"^Processed (\d+)/30 parameters$", line)]
    assert len(counts) == len(lines)
    assert counts == sorted(counts)
    assert (seen[-1]["status"], counts[-1]) == ("COMPLETED", 30)
