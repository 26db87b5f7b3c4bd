"""What a site has and is measured at comes in by page, API and shell, and reaches the annual report."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import httpx
import pdfplumber
import pytest
from oblicore_browsing import logged_in, program, token_of
from pydantic import ValidationError

from backstay_oblicore import records
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.records import NewFuel, NewGenerator, NewIncident, NewParameter, NewStackTest

NOW = datetime(2026, 1, 15, 8, tzinfo=UTC)
DAY = date(2025, 5, 1)


async def registration(world: Any) -> Any:
    return await world.document(
        module="MODULE_3", document_type="MCPD_REGISTRATION", title="Generators", permit_number="MCP/7"
    )


async def furnished(world: Any, document: Any) -> Any:
    """Register a generator with everything that a year's report counts."""
    new = NewGenerator(
        generator_identifier="GEN-1", anniversary_date=date(2025, 1, 1), annual_run_hour_limit=500
    )
    generator = await records.add_generator(world.services, document, new, user=world.staff)
    about = {"user": world.staff, "now": NOW}
    test = NewStackTest(test_date=DAY, nox_rate="1.115", compliance_status="PASS")
    await records.add_stack_test(world.services, generator, test, **about)
    await records.add_fuel(world.services, generator, NewFuel(recording_date=DAY, quantity="120.5"), **about)
    incident = NewIncident(incident_date=DAY, description="Coolant lost")
    await records.add_incident(world.services, generator, incident, **about)
    await world.insert(
        "run_hour_records",
        generator_id=generator,
        company_id=world.company,
        recording_date=DAY,
        hours_recorded=Decimal(10),
    )
    return generator


async def test_what_people_register_is_what_the_annual_report_says(world: Any, address: str) -> None:
    """OBL-055 OBL-056"""
    document = await registration(world)
    await furnished(world, document)
    async with logged_in(world, address, world.staff) as browser:
        sent = await browser.post(
            "/aer/new",
            data={
                "csrf_token": token_of(await browser.get("/aer/new")),
                "document_id": str(document),
                "reporting_period_start": "2025-01-01",
                "reporting_period_end": "2025-12-31",
                "output_format": "BOTH",
            },
        )
        place = sent.url.path
        waiting = await browser.get(place)
        await world.backstay.drain()
        page = await browser.get(place)
        paper = await browser.get(f"{place}/download?form=pdf")
        table = await browser.get(f"{place}/download?form=csv")
        figures = (await browser.get(f"{place}/download?form=json")).json()

    assert "is being made" in waiting.text
    assert "11.15" in page.text
    assert "Coolant lost" in page.text
    [generator] = figures["generators"]
    assert (generator["fuel_consumption"], generator["emissions"]["nox"]) == (120.5, 11.15)
    with pdfplumber.open(io.BytesIO(paper.content)) as pdf:
        printed = " ".join(one.extract_text() for one in pdf.pages)
    for text in (printed, table.content.decode("utf-8-sig")):
        assert "11.15" in text
        assert "120.5" in text


@pytest.mark.parametrize(("asked", "has"), [("PDF", ["pdf", "json"]), ("CSV", ["csv", "json"])])
async def test_only_forms_that_exist_are_offered(
    world: Any, address: str, asked: str, has: list[str]
) -> None:
    """OBL-054"""
    document = await registration(world)
    async with program(world, address, world.staff, "STAFF") as client:
        answer = await client.post(
            "/api/v1/module-3/aer/generate",
            json={
                "document_id": str(document),
                "company_id": str(world.company),
                "reporting_period_start": "2025-01-01",
                "reporting_period_end": "2025-12-31",
                "output_format": asked,
            },
        )
        await world.backstay.drain()
        place = f"/api/v1/module-3/aer/{answer.json()['job_id']}"
        found = [
            form
            for form in ("pdf", "csv", "json")
            if (await client.get(place, params={"form": form})).is_success
        ]

    assert found == has
    async with logged_in(world, address, world.staff) as browser:
        linked = await world.value("SELECT action_url FROM oblicore.notifications WHERE channel = 'IN_APP'")
        assert (await browser.get(linked)).status_code == 200


async def test_a_generator_is_registered_and_its_records_are_added_in_the_pages(
    world: Any, address: str
) -> None:
    """OBL-049"""
    document = await registration(world)
    async with logged_in(world, address, world.staff) as browser:
        token = token_of(await browser.get("/generators/new"))
        added = await browser.post(
            "/generators/new",
            data={
                "csrf_token": token,
                "document_id": str(document),
                "generator_identifier": "GEN-9",
                "anniversary_date": "2026-01-01",
                "annual_run_hour_limit": "500",
            },
        )
        place = added.url.path
        forms: dict[str, dict[str, str]] = {
            "stack-tests": {"test_date": "2026-01-02", "nox_rate": "0.5", "compliance_status": "PASS"},
            "fuel": {"recording_date": "2026-01-03", "quantity": "77"},
            "incidents": {"incident_date": "2026-01-04", "description": "Exhaust leak"},
        }
        for kind, data in forms.items():
            answer = await browser.post(f"{place}/{kind}/new", data={"csrf_token": token, **data})
            assert answer.url.path == place
        late = await browser.post(
            f"{place}/fuel/new", data={"csrf_token": token, "recording_date": "2999-01-01", "quantity": "1"}
        )
        page = await browser.get(place)

    assert late.status_code == 422
    assert "has not come yet" in late.text
    for words in ("GEN-9", "0.5", "77", "Exhaust leak"):
        assert words in page.text


async def test_a_parameter_is_added_in_the_page_and_sampled(world: Any, address: str) -> None:
    """OBL-044"""
    document = await world.document(module="MODULE_2", document_type="TRADE_EFFLUENT_CONSENT")
    async with logged_in(world, address, world.staff) as browser:
        token = token_of(await browser.get("/sampling/new"))
        values = {
            "document_id": str(document),
            "parameter_type": "pH",
            "limit_kind": "RANGE",
            "limit_value": "9",
        }
        refused = await browser.post("/sampling/new", data={"csrf_token": token, **values})
        added = await browser.post(
            "/sampling/new", data={"csrf_token": token, **values, "range_minimum": "6"}
        )
        page = await browser.get(added.url.path)

    assert refused.status_code == 422
    assert "a lowest and a highest value" in refused.text
    assert "pH" in page.text
    result = await world.run("SAMPLING_SCHEDULE")
    assert result["parameters"] == 1


async def test_records_of_another_company_are_out_of_reach(world: Any, other_company: Any) -> None:
    """OBL-085"""
    document = await registration(world)
    generator = await furnished(world, document)
    new = NewGenerator(generator_identifier="X", anniversary_date=DAY)

    with pytest.raises(AccessDenied):
        await records.add_generator(world.services, document, new, user=other_company.owner)
    with pytest.raises(AccessDenied):
        await records.add_fuel(
            world.services, generator, NewFuel(recording_date=DAY, quantity="1"), user=other_company.owner
        )


async def test_records_are_of_the_past(world: Any) -> None:
    generator = await furnished(world, await registration(world))

    with pytest.raises(InvalidRequest):
        await records.add_fuel(
            world.services,
            generator,
            NewFuel(recording_date=date(2026, 1, 16), quantity="1"),
            user=world.staff,
            now=NOW,
        )


@pytest.mark.parametrize(
    "values",
    [
        {"parameter_type": ""},
        {"parameter_type": "pH", "limit_value": "NaN"},
        {"parameter_type": "pH", "sampling_frequency": "HOURLY"},
        {"parameter_type": "pH", "limit_kind": "RANGE", "limit_value": "1", "range_minimum": "2"},
    ],
)
def test_a_parameter_that_cannot_be_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        NewParameter(**values)


async def test_a_program_adds_what_a_page_adds(world: Any, address: str) -> None:
    """OBL-044 OBL-049"""
    document = await registration(world)
    async with program(world, address, world.staff, "STAFF") as client:

        async def add(path: str, **body: Any) -> httpx.Response:
            answer = await client.post(f"/api/v1{path}", json=body)
            assert answer.status_code == 201, answer.text
            return answer

        made = await add(
            f"/documents/{document}/generators", generator_identifier="G", anniversary_date="2026-01-01"
        )
        place = f"/generators/{made.json()['generator_id']}"
        await add(f"{place}/stack-tests", test_date="2026-01-02", nox_rate="0.5")
        await add(f"{place}/fuel", recording_date="2026-01-02", quantity="7")
        await add(f"{place}/incidents", incident_date="2026-01-02", description="Leak")
        await add(f"/documents/{document}/parameters", parameter_type="NOx", limit_value="95", unit="mg/m3")

    for table in ("stack_tests", "fuel_records", "incidents", "parameters"):
        assert await world.value(f"SELECT count(*) FROM oblicore.{table}") == 1
