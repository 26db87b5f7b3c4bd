"""Ways in: what an upload says of a document, how a register's columns are named, a token for a program."""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from uuid import UUID

import httpx
import pytest
from oblicore_browsing import logged_in, send, token_of

from backstay_oblicore import intake
from backstay_oblicore.demo.permit_maker import make_consent
from backstay_parts.sheets import write_xlsx

PDF = make_consent(1002, issued=date(2026, 1, 5)).content


async def register_sent(
    browser: httpx.AsyncClient, world: Any, head: list[str], row: list[Any], **fields: Any
) -> Any:
    sheet = write_xlsx({"R": [head, row]})
    token = token_of(await browser.get("/imports/new"))
    return await browser.post(
        "/imports/new",
        data={"csrf_token": token, "site_id": str(world.site), "create_missing_permits": "yes", **fields},
        files={"file": ("register.xlsx", sheet)},
    )


async def test_an_upload_says_number_expiry_and_what_it_varies(world: Any, address: str) -> None:
    """OBL-061"""
    async with logged_in(world, address, world.staff) as browser:

        async def upload(**fields: str) -> UUID:
            token = token_of(await browser.get("/documents/new"))
            answer = await browser.post(
                "/documents/new",
                data={"csrf_token": token, "site_id": str(world.site), "title": "Consent", **fields},
                files={"file": ("consent.pdf", PDF, "application/pdf")},
            )
            return UUID(answer.url.path.rpartition("/")[2])

        first = await upload(permit_number="TE/1", expiry_date="2030-12-31")
        second = await upload(permit_number="TE/1", parent_document_id=str(first))

    [old] = await world.rows("SELECT permit_number, expiry_date FROM oblicore.documents WHERE id = $1", first)
    assert (old["permit_number"], old["expiry_date"]) == ("TE/1", date(2030, 12, 31))
    assert (
        await world.value("SELECT parent_document_id FROM oblicore.documents WHERE id = $1", second) == first
    )


async def test_a_register_with_other_column_names_is_understood_and_handed_out(
    world: Any, address: str
) -> None:
    """OBL-038 OBL-039"""
    head = ["Lic", "What", "Rhythm", "When", "Where", "Who"]
    row = ["EPR/1", "Check the bund", "monthly", date(2027, 1, 1), None, "staff@brindle.example"]
    names = ("permit_number", "obligation_title", "frequency", "deadline_date", "site_id", "assigned_to")
    columns = "\n".join(f"{field} = {name}" for field, name in zip(names, head, strict=True))
    async with logged_in(world, address, world.staff) as browser:
        preview = await register_sent(browser, world, head, row, columns=columns)
        await world.backstay.drain()
        place = preview.url.path
        checked = await browser.get(place)
        await browser.post(place.replace("preview", "confirm"), data={"csrf_token": token_of(checked)})
        await world.backstay.drain()

    [duty] = await world.rows("SELECT summary, assigned_to FROM oblicore.obligations")
    assert (duty["summary"], duty["assigned_to"]) == ("Check the bund", world.staff)


async def test_somebody_unknown_is_a_warning_and_no_error(world: Any) -> None:
    """OBL-039"""
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site", "Assigned To"]
    row = ["EPR/1", "Check the bund", "monthly", date(2027, 1, 1), None, "Nobody Inparticular"]
    found, _ = await intake.add_import(
        world.services,
        write_xlsx({"R": [head, row]}),
        user=world.staff,
        site=world.site,
        file_name="r.xlsx",
        options={"create_missing_permits": True},
    )

    await world.backstay.drain()

    [checked] = await world.rows("SELECT * FROM oblicore.excel_imports WHERE id = $1", found)
    assert (checked["valid_count"], checked["error_count"]) == (1, 0)
    assert checked["valid_rows"][0]["warnings"] == ["Nobody of this name works here"]


async def test_an_import_is_given_up_in_its_preview(world: Any, address: str) -> None:
    head = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
    async with logged_in(world, address, world.staff) as browser:
        preview = await register_sent(browser, world, head, ["EPR/1", "X", "monthly", date(2027, 1, 1), None])
        await world.backstay.drain()
        place = preview.url.path

        given_up = await browser.post(
            place.replace("preview", "cancel"), data={"csrf_token": token_of(await browser.get(place))}
        )

    assert given_up.url.path == "/imports"
    assert await world.value("SELECT status FROM oblicore.excel_imports") == "CANCELLED"


@pytest.mark.parametrize(
    ("columns", "said"), [("permit", "field=name"), ("colour = Hue", "there is no field")]
)
async def test_columns_that_mean_nothing_are_refused_in_the_form(
    world: Any, address: str, columns: str, said: str
) -> None:
    async with logged_in(world, address, world.staff) as browser:
        answer = await register_sent(browser, world, ["A"], ["b"], columns=columns)

    assert answer.status_code == 422
    assert said in answer.text
    assert columns in answer.text


async def test_a_token_is_made_in_the_page_and_opens_the_api(world: Any, address: str) -> None:
    """OBL-093"""
    async with logged_in(world, address, world.staff) as browser:
        page = await send(browser, "/preferences", "/preferences/token", days="2")
    [token] = re.findall(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", page.text)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, headers=headers) as client:
        answer = await client.get("/api/v1/obligations")
        refused = await client.get("/ledger")

    assert answer.status_code == 200
    assert refused.status_code in (401, 403)
