"""Operation × role × company: every route and every table, and nothing foreign is seen or changed."""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from fastapi.routing import APIRoute
from oblicore_browsing import logged_in, program, token_of

from backstay_oblicore.store import people
from backstay_oblicore.web.access import Access
from backstay_oblicore.web.api import api_router
from backstay_oblicore.web.app import TEMPLATES
from backstay_oblicore.web.pages import web_router

ROLES = ("OWNER", "ADMIN", "STAFF", "VIEWER", "CONSULTANT")
WRITERS = {"OWNER", "ADMIN", "STAFF"}
PDF = ("a.pdf", b"%PDF-1.4 nothing", "application/pdf")
RANGE = {"date_range_start": "2026-01-01", "date_range_end": "2026-12-31"}
TABLES = """
    SELECT table_name FROM information_schema.columns AS one
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'oblicore' AND column_name = 'company_id' AND table_type = 'BASE TABLE' ORDER BY 1
"""
# Routes that belong to nobody: login, the frame, what is public by its token, what is about oneself.
NOBODYS = re.compile(
    r"/(_theme|login|logout|share/.*|verify|calendars/.*|preferences|preferences/token|inbox/read|operations.*"
    r"|modules/activate/.*)?"
    r"|/api/v1/(openapi.json|health/jobs|preferences|notifications|packs/verify|ai/extract)"
)


class Company:
    """A company with a row of everything, all of it marked with one word."""

    def __init__(self, world: Any, word: str) -> None:
        self.world, self.word = world, word
        self.ids: dict[str, Any] = {}

    async def furnish(self) -> Company:
        world, word = self.world, self.word
        place = {"company_id": world.company, "site_id": world.site}
        paper = await world.document(
            title=f"{word} permit", extraction_status="REVIEW_REQUIRED", page_count=1
        )
        duty = await world.obligation(paper, summary=f"{word} duty", base_date=date(2026, 6, 1))
        await world.run("MONITORING_SCHEDULE", company_id=world.company, at=date(2026, 5, 25))
        about = {**place, "document_id": paper}
        meter = await world.insert("parameters", **about, parameter_type=f"{word} COD", limit_value=400)
        await world.insert(
            "lab_results", **place, parameter_id=meter, sample_date=date(2026, 5, 1), recorded_value=10
        )
        engine = await world.insert(
            "generators", **about, generator_identifier=f"{word} GEN", anniversary_date=date(2026, 1, 1)
        )
        await world.insert(
            "run_hour_records",
            company_id=world.company,
            generator_id=engine,
            recording_date=date(2026, 5, 1),
            hours_recorded=1,
        )
        proof = await world.insert(
            "evidence_items",
            **place,
            file_name=f"{word}.pdf",
            file_type="pdf",
            mime_type="application/pdf",
            file_size_bytes=1,
            file_hash="x",
            storage_path=f"evidence/{word}.pdf",
        )
        await world.services.storage.put(f"evidence/{word}.pdf", b"x", content_type="application/pdf")
        question = await world.insert(
            "review_queue_items",
            **about,
            obligation_id=duty,
            review_type="LOW_CONFIDENCE",
            original_data={"text": f"{word} words"},
            dedupe_key="q",
        )
        sheet = await world.insert(
            "excel_imports",
            **place,
            user_id=world.owner,
            status="PENDING_REVIEW",
            file_name=f"{word}.xlsx",
            file_path="x",
        )
        self.ids = {
            "document_id": paper,
            "site_id": world.site,
            "obligation_id": duty,
            "parameter_id": meter,
            "generator_id": engine,
            "evidence_id": proof,
            "item_id": question,
            "import_id": sheet,
            "pack_id": await self._pack(about),
            "aer_id": await self._report(about),
            "job_id": (
                await world.services.handlers["MONITORING_SCHEDULE"]
                .options(tenant=str(world.company), created_by=str(world.owner))
                .enqueue(company_id=world.company)
            ).id,
        }
        return self

    async def _pack(self, about: dict[str, Any]) -> UUID:
        content = {
            "metadata": {
                "company_name": self.word,
                "site_name": "",
                "document_title": "",
                "generated_by": "",
            },
            "integrity_report": {"errors": []},
        }
        counts = ("total_obligations", "complete_count", "pending_count", "overdue_count", "evidence_count",
                  "integrity_errors_count", "generation_time_ms")  # fmt: skip
        path = f"audit-packs/{self.word}.pdf"
        await self.world.services.storage.put(path, b"x", content_type="application/pdf")
        found: UUID = await self.world.insert(
            "audit_packs",
            **about,
            pack_type="AUDIT_PACK",
            date_range_start=date(2026, 1, 1),
            date_range_end=date(2026, 12, 31),
            storage_path=path,
            content=content,
            manifest={},
            file_sha256="x",
            **dict.fromkeys(counts, 0),
        )
        return found

    async def _report(self, about: dict[str, Any]) -> UUID:
        folder = f"aer/{self.word}/"
        await self.world.services.storage.put(f"{folder}aer-2025.pdf", b"x", content_type="application/pdf")
        parts = ("generator_data", "fuel_consumption_data", "emissions_data", "incidents_data", "report")
        data: dict[str, Any] = {name: {} for name in (*parts, "validation_errors")}
        await self.world.services.storage.put(f"{folder}aer-2025-data.csv", b"x", content_type="text/csv")
        found: UUID = await self.world.insert(
            "aer_documents",
            **about,
            reporting_period_start=date(2025, 1, 1),
            reporting_period_end=date(2025, 12, 31),
            submission_deadline=date(2026, 3, 31),
            total_run_hours=1,
            is_validated=True,
            generated_file_path=folder,
            **data,
        )
        return found

    async def snapshot(self) -> dict[str, str]:
        """Hash everything that the company has."""
        found = {}
        for row in await self.world.rows(TABLES):
            name = row["table_name"]
            found[name] = await self.world.value(
                f"SELECT count(*) || coalesce(md5(string_agg(one::text, ',' ORDER BY one::text)), '')"
                f" FROM oblicore.{name} AS one WHERE company_id = $1",
                self.world.company,
            )
        return found


def operations(world: Any) -> list[tuple[str, str]]:
    """Every route of the application that touches somebody's things."""
    access = Access(world.services, TEMPLATES)
    routers = (api_router(world.services, access), web_router(world.services, access))
    routes = [one for router in routers for one in router.routes if isinstance(one, APIRoute)]
    found = [(method, one.path) for one in routes for method in sorted(one.methods - {"HEAD"})]
    return [(method, path) for method, path in found if not NOBODYS.fullmatch(path)]


def bodies(company: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """What each writing route is sent: right in form, so that only rights can refuse it."""
    ids = {key: str(value) for key, value in company.ids.items()}
    site, firm = str(company.world.site), str(company.world.company)
    pack = {
        "pack_type": "AUDIT_PACK",
        "company_id": firm,
        "site_id": site,
        "document_id": ids["document_id"],
        **RANGE,
    }
    report = {"document_id": ids["document_id"], "company_id": firm, "reporting_period_start": "2025-01-01",
              "reporting_period_end": "2025-12-31"}  # fmt: skip
    file = {"files": {"file": PDF}}
    engine = {"generator_identifier": "G", "anniversary_date": "2026-01-01"}
    return {
        ("POST", "/api/v1/module-3/aer/generate"): {"json": report},
        ("POST", "/api/v1/parameters/{parameter_id}/results"): {
            "json": {"sample_date": "2026-05-02", "value": "1"}
        },
        ("POST", "/api/v1/generators/{generator_id}/run-hours"): {
            "json": {"recording_date": "2026-05-02", "hours": "1"}
        },
        ("POST", "/aer/new"): {"data": report},
        ("POST", "/api/v1/documents/{document_id}/generators"): {"json": engine},
        ("POST", "/api/v1/documents/{document_id}/parameters"): {"json": {"parameter_type": "pH"}},
        ("POST", "/api/v1/generators/{generator_id}/stack-tests"): {"json": {"test_date": "2026-05-02"}},
        ("POST", "/api/v1/generators/{generator_id}/fuel"): {
            "json": {"recording_date": "2026-05-02", "quantity": "1"}
        },
        ("POST", "/api/v1/generators/{generator_id}/incidents"): {
            "json": {"incident_date": "2026-05-02", "description": "x"}
        },
        ("POST", "/sites/{site_id}"): {"data": {"regulator": "SEPA", "working_days_only": "true"}},
        ("POST", "/preferences/token"): {"data": {"days": "1"}},
        ("POST", "/generators/new"): {"data": {**engine, "document_id": ids["document_id"]}},
        ("POST", "/sampling/new"): {"data": {"parameter_type": "pH", "document_id": ids["document_id"]}},
        ("POST", "/generators/{generator_id}/{kind}/new"): {
            "data": {"recording_date": "2026-05-02", "quantity": "1"}
        },
        ("POST", "/api/v1/documents"): {**file, "data": {"site_id": site, "title": "x"}},
        ("POST", "/api/v1/evidence"): {
            **file,
            "data": {"site_id": site, "obligation_ids": ids["obligation_id"]},
        },
        ("POST", "/api/v1/obligations/import/excel"): {
            "files": {"file": ("a.csv", b"a,b\n1,2\n")},
            "data": {"site_id": site},
        },
        ("POST", "/api/v1/audit-packs/generate"): {"json": pack},
        ("POST", "/api/v1/packs/{pack_id}/distribute"): {
            "json": {"distribution_method": "EMAIL", "recipients": [{"email": "a@b.example"}]}
        },
        ("POST", "/documents/new"): {**file, "data": {"site_id": site, "title": "x"}},
        ("POST", "/imports/new"): {"files": {"file": ("a.csv", b"a,b\n1,2\n")}, "data": {"site_id": site}},
        ("POST", "/packs/new"): {"data": {"pack_type": "AUDIT_PACK", "subject": ids["document_id"], **RANGE}},
        ("POST", "/packs/{pack_id}/distribute"): {"data": {"method": "EMAIL", "recipients": "a@b.example"}},
        ("POST", "/obligations/{obligation_id}"): {"data": {"summary": "stolen"}},
        ("POST", "/obligations/{obligation_id}/evidence"): file,
        ("POST", "/review-queue/{item_id}"): {"data": {"decision": "REJECTED", "reason": "x"}},
        ("POST", "/sampling/{parameter_id}/results"): {"data": {"day": "2026-05-02", "value": "1"}},
        ("POST", "/generators/{generator_id}/run-hours"): {"data": {"day": "2026-05-02", "hours": "1"}},
    }


async def act(
    client: httpx.AsyncClient, token: str, company: Company, method: str, path: str
) -> httpx.Response:
    given = dict(bodies(company).get((method, path), {}))
    if method == "POST" and not path.startswith("/api/"):
        given["data"] = {"csrf_token": token, **given.get("data", {})}
    place = path.format(**company.ids, form="csv", kind="fuel", page=1, sealed="x", token="x")
    return await client.request(method, place, **given)


async def somebody(world: Any, role: str) -> UUID:
    async with world.services.database.connection() as connection:
        user = await people.add_user(connection, f"{role.lower()}@role.example", role)
        sites = (world.site,) if role in ("STAFF", "VIEWER") else ()
        await people.grant(connection, user, world.company, role, sites=sites)
    return user


@pytest.mark.parametrize("role", ROLES)
async def test_no_route_shows_or_changes_anything_foreign(
    world: Any, other_company: Any, address: str, role: str
) -> None:
    """OBL-003 OBL-085 OBL-093"""
    own, foreign = Company(world, "OURS"), await Company(other_company, "THEIRS").furnish()
    await own.furnish()
    user = await somebody(world, role)
    before = await foreign.snapshot()
    async with (
        logged_in(world, address, user) as browser,
        program(world, address, user, role) as client,
    ):
        token = token_of(await browser.get("/preferences"))
        for method, path in operations(world):
            visitor = client if path.startswith("/api/") else browser
            answer = await act(visitor, token, foreign, method, path)
            names_something = "{" in path.replace("{form}", "").replace("{page}", "")
            if names_something:
                assert answer.status_code in (403, 404), (method, path, answer.status_code)
            elif method != "GET":
                assert answer.status_code in (403, 404, 422), (method, path, answer.status_code)
            assert "THEIRS" not in answer.text, (method, path)

    assert await foreign.snapshot() == before


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_reads_and_writes_at_home_what_it_may(world: Any, address: str, role: str) -> None:
    """OBL-085 OBL-093"""
    own = await Company(world, "OURS").furnish()
    user = await somebody(world, role)
    refused = []
    async with (
        logged_in(world, address, user) as browser,
        program(world, address, user, role) as client,
    ):
        token = token_of(await browser.get("/preferences"))
        for method, path in operations(world):
            visitor = client if path.startswith("/api/") else browser
            if method == "GET":
                if path.endswith(("/new", "/ledger", "/changes", "/events", ".png")):
                    continue
                if path == "/sites/{site_id}" and role not in ("OWNER", "ADMIN"):
                    continue
                answer = await act(visitor, token, own, method, path)
                assert answer.status_code == 200, (path, answer.status_code)
            elif role not in WRITERS:
                answer = await act(visitor, token, own, method, path)
                refused.append(answer.status_code)

    if role not in WRITERS:
        assert set(refused) == {403}
        assert len(refused) > 15


@pytest.mark.parametrize("role", ROLES)
async def test_no_statement_of_a_user_reaches_another_company(
    world: Any, other_company: Any, role: str
) -> None:
    """OBL-085"""
    foreign = await Company(other_company, "THEIRS").furnish()
    user = await somebody(world, role)
    before = await foreign.snapshot()
    for row in await world.rows(TABLES):
        table = row["table_name"]
        assert await reached(world, user, SEE.format(table), other_company.company) == 0, table
        assert await reached(world, user, DELETE.format(table), other_company.company) == 0, table
        assert await reached(world, user, MOVE.format(table), other_company.company) == 0, table

    assert await foreign.snapshot() == before


SEE = "SELECT count(*) FROM oblicore.{0} WHERE company_id = $1"
DELETE = "WITH gone AS (DELETE FROM oblicore.{0} WHERE company_id = $1 RETURNING 1) SELECT count(*) FROM gone"
MOVE = (
    "WITH moved AS (UPDATE oblicore.{0} SET company_id = company_id WHERE company_id = $1 RETURNING 1)"
    " SELECT count(*) FROM moved"
)


async def reached(world: Any, user: UUID, statement: str, company: UUID) -> int:
    """How many rows a statement of the user reaches; one that is not permitted at all reaches none."""
    try:
        async with world.services.database.as_user(user) as connection:
            found: int = await connection.fetchval(statement, company)
    except asyncpg.InsufficientPrivilegeError:
        return 0
    return found
