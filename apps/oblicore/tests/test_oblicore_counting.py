"""What dates are counted from: the last completion, running hours, working days; and where notes lead to."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from oblicore_browsing import logged_in, send

import backstay_oblicore
from backstay_oblicore.domain.due_dates import Due, NoDate, Situation, next_due
from backstay_oblicore.domain.due_rules import EveryHours, rule_to_json
from backstay_oblicore.domain.permits.timing import read_timing
from backstay_oblicore.domain.run_hours import Purpose, Run, reached_on
from backstay_oblicore.store.database import to_json
from backstay_oblicore.web.access import Access
from backstay_oblicore.web.app import TEMPLATES
from backstay_oblicore.web.pages import web_router

BASE = date(2026, 1, 5)
HOURS = EveryHours(1500, or_months=60)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (
            "Tanks shall be tested within two years of the previous test.",
            "every 2 years, counted from the last",
        ),
        (
            "Pumps must be serviced every six months from the last service.",
            "every 6 months, counted from the last",
        ),
        (
            "The meter shall be calibrated at least 12 months after the last calibration.",
            "every 12 months, counted",
        ),
        ("Tanks shall be tested every two years.", "every 2 years, counted from the base date"),
        (
            "A report on the previous calendar year shall be sent by 31 January each year.",
            "on 31 January each year",
        ),
    ],
)
def test_words_of_the_last_time_make_a_date_roll(words: str, rule: str) -> None:
    """OBL-006"""
    assert str(read_timing(words).rule).startswith(rule)


def hours_due(**values: Any) -> date:
    found = next_due(HOURS, Situation(base=BASE, **values))
    assert isinstance(found, Due)
    return found.day


def test_hours_or_years_whichever_is_sooner() -> None:
    """OBL-006"""
    assert hours_due() == date(2031, 1, 5)
    assert hours_due(hours_reached_on=date(2028, 3, 1)) == date(2028, 3, 1)
    assert hours_due(hours_reached_on=date(2033, 3, 1)) == date(2031, 1, 5)
    assert hours_due(last_completed=date(2028, 3, 9)) == date(2033, 3, 9)
    assert isinstance(next_due(EveryHours(1500), Situation(base=BASE)), NoDate)


def test_hours_count_for_each_machine_by_itself_and_from_the_last_time() -> None:
    """OBL-049"""
    first = [Run(date(2026, 1, day), Decimal(10), Purpose.OTHER) for day in range(1, 11)]
    second = [Run(date(2026, 2, 1), Decimal(45), Purpose.OTHER)]

    assert reached_on([first, second], since=date(2025, 12, 31), hours=Decimal(50)) == date(2026, 1, 5)
    assert reached_on([first, second], since=date(2026, 1, 6), hours=Decimal(45)) == date(2026, 2, 1)
    assert reached_on([first, second], since=date(2026, 1, 6), hours=Decimal(46)) is None


async def dues(world: Any) -> list[date]:
    rows = await world.rows(
        "SELECT due_date FROM oblicore.deadlines WHERE status <> 'COMPLETED' ORDER BY due_date"
    )
    return [row["due_date"] for row in rows]


async def test_a_test_of_a_generator_comes_due_by_its_hours(world: Any) -> None:
    """OBL-049"""
    paper = await world.document(module="MODULE_3", issue_date=BASE)
    await world.obligation(paper, frequency="HOURS_BASED", due_rule=rule_to_json(EveryHours(100, 60)))
    generator = await world.insert(
        "generators",
        document_id=paper,
        company_id=world.company,
        site_id=world.site,
        generator_identifier="G",
        anniversary_date=BASE,
    )

    async def run(day: date, hours: int) -> None:
        about = {"generator_id": generator, "company_id": world.company}
        await world.insert("run_hour_records", **about, recording_date=day, hours_recorded=Decimal(hours))

    await run(date(2026, 3, 1), 60)
    await world.run("MONITORING_SCHEDULE", at=date(2026, 3, 2))
    assert await dues(world) == [date(2031, 1, 5)]

    await run(date(2026, 4, 1), 60)
    await world.run("MONITORING_SCHEDULE", at=date(2026, 4, 2))

    assert await dues(world) == [date(2026, 4, 1)]
    assert await world.value("SELECT status FROM oblicore.obligations") == "OVERDUE"


async def test_a_rolling_duty_moves_with_its_completion_and_leaves_nothing_behind(
    world: Any, address: str
) -> None:
    """OBL-006 OBL-009"""
    paper = await world.document(issue_date=BASE)
    duty = await world.obligation(paper, frequency="QUARTERLY")
    async with logged_in(world, address, world.staff) as browser:
        await send(
            browser,
            f"/obligations/{duty}",
            summary="Send the report",
            frequency="QUARTERLY",
            first_due="2027-01-05",
            is_rolling="true",
        )
    await world.run("MONITORING_SCHEDULE", at=date(2026, 12, 1))
    assert await dues(world) == [date(2027, 1, 5)]

    await world.execute("UPDATE oblicore.deadlines SET status = 'COMPLETED'")
    await world.execute("UPDATE oblicore.obligations SET last_completed_date = '2026-12-10'")
    await world.run("MONITORING_SCHEDULE", at=date(2026, 12, 11))

    assert await dues(world) == [date(2027, 3, 10)]


async def test_only_an_interval_can_roll(world: Any, address: str) -> None:
    paper = await world.document(issue_date=BASE)
    duty = await world.obligation(paper, frequency="CONTINUOUS")
    async with logged_in(world, address, world.staff) as browser:
        answer = await send(
            browser,
            f"/obligations/{duty}",
            summary="Send the report",
            frequency="CONTINUOUS",
            is_rolling="true",
        )

    assert answer.status_code == 422
    assert "only what comes round at an interval" in answer.text


async def test_a_site_lets_its_dates_fall_on_working_days(world: Any, address: str) -> None:
    """OBL-006"""
    saturday = date(2027, 6, 5)
    paper = await world.document(issue_date=BASE)
    await world.obligation(paper, frequency="ONE_TIME", base_date=saturday)
    await world.run("MONITORING_SCHEDULE", at=date(2026, 6, 1))
    assert await dues(world) == [saturday]

    async with logged_in(world, address, world.owner) as browser:
        await send(browser, f"/sites/{world.site}", regulator="EA", working_days_only="true")
    await world.backstay.drain()

    assert await dues(world) == [date(2027, 6, 4)]
    assert (
        await world.value("SELECT count(*) FROM oblicore.audit_logs WHERE action_type = 'SITE_CHANGED'") == 1
    )


async def test_only_owners_and_admins_of_a_site_change_it(
    world: Any, other_company: Any, address: str
) -> None:
    """OBL-085"""
    await world.execute(
        "INSERT INTO oblicore.user_roles (user_id, company_id, role) VALUES ($1, $2, 'STAFF')",
        world.owner,
        other_company.company,
    )
    await world.execute(
        "INSERT INTO oblicore.user_site_assignments (user_id, site_id) VALUES ($1, $2)",
        world.owner,
        other_company.site,
    )
    async with logged_in(world, address, world.owner) as browser:
        answer = await send(browser, f"/sites/{other_company.site}", regulator="EA", working_days_only="true")

    assert answer.status_code == 404
    assert await world.value("SELECT bool_or(adjust_for_business_days) FROM oblicore.sites") is False


async def test_an_owner_turns_a_suggested_module_on(world: Any, address: str) -> None:
    """OBL-067"""
    module = await world.value("SELECT id FROM oblicore.modules WHERE module_code = 'MODULE_3'")
    async with logged_in(world, address, world.owner) as browser:
        await send(browser, f"/modules/activate/{module}", company_id=str(world.company))
        page = await browser.get(f"/modules/activate/{module}")

    assert "It is on." in page.text
    assert await world.value("SELECT status FROM oblicore.module_activations") == "ACTIVE"


async def test_a_module_is_turned_on_for_ones_own_company_only(
    world: Any, other_company: Any, address: str
) -> None:
    """OBL-085"""
    module = await world.value("SELECT id FROM oblicore.modules WHERE module_code = 'MODULE_3'")
    async with logged_in(world, address, world.owner) as browser:
        answer = await send(browser, f"/modules/activate/{module}", company_id=str(other_company.company))

    assert answer.status_code == 404
    assert await world.value("SELECT count(*) FROM oblicore.module_activations") == 0


def test_every_note_leads_to_a_page(services: Any) -> None:
    """OBL-016 OBL-021 OBL-034 OBL-042 OBL-067"""
    source = Path(backstay_oblicore.__file__).parent
    code = "\n".join(file.read_text() for file in sorted((source / "handlers").glob("*.py")))
    links = set(re.findall(r'(?:action_url=|f)"(/[a-z][^"?]*)', code))
    routes = [
        one for one in web_router(services, Access(services, TEMPLATES)).routes if isinstance(one, APIRoute)
    ]
    pages = [route.path_regex for route in routes if "GET" in route.methods]

    assert len(links) >= 10
    for link in links:
        filled = re.sub(r"\{[^}]*\}", "0b7d1f4e-8f2f-4a3e-9a2f-6b1c2d3e4f50", link)
        assert any(page.match(filled) for page in pages), link


def test_a_rule_by_hours_is_stored_and_read_back() -> None:
    assert to_json(rule_to_json(HOURS)) == '{"kind": "EveryHours", "hours": 1500, "or_months": 60}'
