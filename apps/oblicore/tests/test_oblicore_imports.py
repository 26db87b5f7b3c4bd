"""EXCEL_IMPORT_PROCESSING: check, preview, confirm; each row once."""

from __future__ import annotations

import io
from datetime import date
from typing import Any
from uuid import UUID

import pytest
import xlwt

from backstay import State
from backstay_oblicore.domain.errors import ImportMissing
from backstay_parts.sheets import write_csv, write_xlsx

HEAD = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
ROWS = [
    ["EPR/1", "Send the return", "quarterly", date(2026, 4, 28), None],
    ["EPR/1", "Check the bund", "Monthly", date(2026, 5, 1), "Brindle Factory"],
    ["EPR/1", "Renew the plan", "one-time", date(2026, 9, 30), None],
    ["EPR/1", "", "monthly", date(2026, 5, 1), None],
    ["EPR/1", "Bad", "hourly", "someday", "Nowhere"],
]


def xls(rows: list[list[Any]]) -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Register")
    style = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            if cell is not None:
                sheet.write(y, x, cell, style if isinstance(cell, date) else xlwt.Style.default_style)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


async def start(world: Any, content: bytes, *, extension: str = "xlsx", **options: Any) -> UUID:
    found: UUID = await world.insert(
        "excel_imports",
        company_id=world.company,
        site_id=world.site,
        user_id=world.manager,
        file_name=f"register.{extension}",
        options=options,
        file_path="",
    )
    path = f"imports/{world.company}/{world.site}/{found}/original.{extension}"
    await world.execute("UPDATE oblicore.excel_imports SET file_path = $2 WHERE id = $1", found, path)
    await world.services.storage.put(path, content)
    return found


async def validate(world: Any, found: UUID) -> Any:
    return await world.run("EXCEL_IMPORT_PROCESSING", import_id=found, user_id=world.manager)


async def confirm(world: Any, found: UUID) -> Any:
    return await world.run("EXCEL_IMPORT_PROCESSING", import_id=found, user_id=world.manager, phase="CREATE")


@pytest.mark.parametrize("extension", ["xlsx", "xls", "csv", "cp1252", "semicolon"])
async def test_every_format_gives_the_same_preview(world: Any, extension: str) -> None:
    """OBL-035 OBL-036 OBL-039 OBL-040"""
    table = [HEAD, *ROWS]
    content = {
        "xlsx": lambda: write_xlsx({"Register": table}),
        "xls": lambda: xls(table),
        "csv": lambda: write_csv(table),
        "cp1252": lambda: write_csv(table).decode("utf-8-sig").replace("plan", "plän").encode("cp1252"),
        "semicolon": lambda: write_csv(table, delimiter=";"),
    }[extension]()
    found = await start(world, content, extension=extension if extension in ("xlsx", "xls") else "csv")

    await validate(world, found)

    [row] = await world.rows("SELECT * FROM oblicore.excel_imports")
    assert (row["status"], row["row_count"], row["valid_count"], row["error_count"]) == (
        "PENDING_REVIEW",
        5,
        3,
        2,
    )
    assert [one["row_number"] for one in row["valid_rows"]] == [2, 3, 4]
    assert row["valid_rows"][0]["data"]["deadline_date"] == "2026-04-28"
    assert row["error_rows"] == [
        {"row_number": 5, "errors": ["Missing obligation_title"]},
        {"row_number": 6, "errors": ["Invalid date format", "Invalid frequency value", "Site not found"]},
    ]
    note = (await world.rows("SELECT * FROM oblicore.notifications WHERE channel = 'EMAIL'"))[0]
    assert note["title"] == "Excel import ready for review"
    assert note["message"] == "Your Excel import is ready. 3 valid rows, 2 errors."
    assert note["action_url"] == f"/obligations/import/{found}/preview"


async def test_a_confirmed_register_becomes_obligations_once(world: Any) -> None:
    """OBL-041 OBL-042"""
    permit = await world.document(permit_number="EPR/1")
    found = await start(world, write_xlsx({"Register": [HEAD, *ROWS]}))
    await validate(world, found)

    result = await confirm(world, found)

    assert result["success_count"] == 3
    rows = await world.rows("SELECT * FROM oblicore.obligations ORDER BY import_row")
    assert [row["obligation_title"] for row in rows] == [
        "Send the return",
        "Check the bund",
        "Renew the plan",
    ]
    assert {row["document_id"] for row in rows} == {permit}
    assert [row["frequency"] for row in rows] == ["QUARTERLY", "MONTHLY", "ONE_TIME"]
    assert all((row["import_source"], row["excel_import_id"]) == ("excel_import", found) for row in rows)
    assert (
        await world.value("SELECT count(*) FROM oblicore.deadlines WHERE company_id = $1", world.company) == 3
    )
    [one] = await world.rows("SELECT * FROM oblicore.excel_imports")
    assert (one["status"], one["success_count"]) == ("COMPLETED", 3)
    title = await world.value("SELECT message FROM oblicore.notifications WHERE severity = 'SUCCESS' LIMIT 1")
    assert title == "3 obligations imported successfully."
    with pytest.raises(ImportMissing):
        await confirm(world, found)
    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 3
    await world.run("MONITORING_SCHEDULE", at=date(2026, 4, 1))
    dues = await world.rows(
        "SELECT due_date FROM oblicore.deadlines WHERE obligation_id = $1 ORDER BY due_date LIMIT 2",
        rows[0]["id"],
    )
    assert [row["due_date"] for row in dues] == [date(2026, 4, 28), date(2026, 7, 28)]


async def test_unknown_permits_and_sites_are_made_only_if_allowed(world: Any) -> None:
    """OBL-041"""
    rows = [["EPR/9", "A", "daily", date(2026, 5, 1), "South Yard"]]
    refused = await start(world, write_xlsx({"R": [HEAD, ["EPR/9", "A", "daily", date(2026, 5, 1), None]]}))
    await validate(world, refused)
    assert (await confirm(world, refused))["success_count"] == 0
    row = await world.value("SELECT error_rows FROM oblicore.excel_imports WHERE id = $1", refused)
    assert row == [{"row_number": 2, "errors": ["Permit not found"]}]

    allowed = await start(
        world, write_xlsx({"R": [HEAD, *rows]}), create_missing_sites=True, create_missing_permits=True
    )
    await validate(world, allowed)
    assert (await confirm(world, allowed))["success_count"] == 1
    assert await world.value("SELECT count(*) FROM oblicore.sites WHERE name = 'South Yard'") == 1


async def test_a_permit_or_site_of_another_company_is_none(world: Any, other_company: Any) -> None:
    """OBL-041"""
    await other_company.document(permit_number="EPR/1")
    rows = [
        ["EPR/1", "A", "daily", date(2026, 5, 1), str(other_company.site)],
        ["EPR/1", "B", "daily", date(2026, 5, 1), None],
    ]
    found = await start(world, write_xlsx({"R": [HEAD, *rows]}), create_missing_sites=True)

    await validate(world, found)
    result = await confirm(world, found)

    assert result["success_count"] == 0
    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 0


async def test_duplicates_are_skipped(world: Any) -> None:
    """OBL-041"""
    permit = await world.document(permit_number="EPR/1")
    await world.obligation(permit, obligation_title="Send the return")
    found = await start(world, write_xlsx({"R": [HEAD, *ROWS[:2]]}))
    await validate(world, found)

    assert (await confirm(world, found))["success_count"] == 1
    assert await world.value("SELECT warning_rows FROM oblicore.excel_imports")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"PK\x03\x04 but no workbook", "cannot be read"),
        (write_csv([["a", "b"], [1, 2]]), "Missing required column: permit_number"),
        (write_csv([HEAD, *([["P", "T", "daily", "2026-05-01", ""]] * 10_001)]), "more than 10,000 rows"),
        (b"x," * 5_000_001, "at most 10,000,000"),
        (None, "File not found"),
    ],
)
async def test_what_cannot_work_is_tried_once(world: Any, content: bytes | None, error: str) -> None:
    """OBL-037 OBL-038 OBL-042 OBL-043"""
    found = await start(world, content or b"x", extension="csv")
    if content is None:
        await world.services.storage.delete(f"imports/{world.company}/{world.site}/{found}/original.csv")
    job = await world.services.handlers["EXCEL_IMPORT_PROCESSING"].enqueue(
        import_id=found, user_id=world.manager
    )

    await world.backstay.drain(with_scheduled=True)

    stored = await job.get()
    assert (stored.state, stored.attempt) == (State.DEAD, 1)
    [row] = await world.rows("SELECT status, error_message FROM oblicore.excel_imports")
    assert row["status"] == "FAILED"
    assert error in row["error_message"]
    message = await world.value("SELECT message FROM oblicore.notifications WHERE channel = 'IN_APP'")
    assert message.startswith("Excel import failed - ")


async def test_options_have_their_defaults(world: Any) -> None:
    """OBL-035"""
    there = await world.document(permit_number="EPR/1")
    await world.obligation(there, obligation_title="Send the return")
    skipped = await start(world, write_xlsx({"R": [HEAD, ROWS[0]]}))
    await validate(world, skipped)
    assert (await confirm(world, skipped))["success_count"] == 0
    found = await start(world, write_xlsx({"R": [HEAD, ROWS[0]]}), **{"skip_duplicates": False})
    await validate(world, found)
    assert (await confirm(world, found))["success_count"] == 1
