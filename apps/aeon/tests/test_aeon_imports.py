"""Imports: every format, every fault, corrected, undone, receipted."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import openpyxl
import pytest
import xlsxwriter
from aeon_world import World

from backstay_aeon.actions import imports, uploads
from backstay_aeon.domain.errors import BadSettings
from backstay_aeon.domain.imports.columns import read_dataset
from backstay_aeon.domain.imports.reading import sniff
from backstay_aeon.store import imports as store

CUSTOMERS = {
    "key": "customer_no",
    "columns": [
        {"name": "customer_no", "required": True, "aliases": ["Kundennummer"]},
        {"name": "name", "required": True},
        {"name": "since", "type": "date", "aliases": ["Kunde seit"]},
        {"name": "credit", "type": "decimal", "aliases": ["Guthaben"]},
    ],
}
HEAD = ["Kundennummer", "Name", "Kunde seit", "Guthaben"]
ROWS = [["K1", "Ärmel & Söhne", "2026-03-29", "12.50"], ["K2", "=cmd()", "2025-01-02", "-3"]]


TAKEN = {
    "K1": {"customer_no": "K1", "name": "Ärmel & Söhne", "since": "2026-03-29", "credit": "12.5"},
    "K2": {"customer_no": "K2", "name": "=cmd()", "since": "2025-01-02", "credit": "-3"},
}


async def define(world: World) -> None:
    async with world.database.connection() as connection:
        await store.save_dataset(connection, world.team, read_dataset("customers", CUSTOMERS))


def text(delimiter: str, rows: list[list[str]]) -> str:
    return "\r\n".join(delimiter.join(row) for row in [HEAD, *rows]) + "\r\n"


def workbook(rows: list[list[str]]) -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"strings_to_formulas": False}) as book:
        sheet = book.add_worksheet()
        for line, row in enumerate([HEAD, *rows]):
            for place, cell in enumerate(row):
                sheet.write_string(line, place, cell)
    return buffer.getvalue()


async def test_six_forms_of_one_table_give_the_same_rows(world: World) -> None:
    """AEO-025: CSV with a mark, UTF-16, cp1252 with semicolons, a workbook and JSON lines are one table."""
    lines = "\n".join(json.dumps(dict(zip(HEAD, row, strict=True))) for row in ROWS)
    forms = {
        "mark.csv": text(",", ROWS).encode("utf-8-sig"),
        "wide.csv": text(",", ROWS).encode("utf-16"),
        "office.csv": text(";", ROWS).encode("cp1252"),
        "table.tsv": text("\t", ROWS).encode(),
        "table.xlsx": workbook(ROWS),
        "table.jsonl": lines.encode(),
    }
    for number, (name, content) in enumerate(forms.items()):
        dataset = f"customers_{number}"
        async with world.database.connection() as connection:
            await store.save_dataset(connection, world.team, read_dataset(dataset, CUSTOMERS))
        made = await world.import_file(name, content, dataset)
        shown = await imports.show(world.services, world.team, made)
        assert (shown["status"], shown["counts"]["inserted"]) == ("completed", 2), (name, shown["notes"])
        assert await world.records(dataset) == TAKEN, name


BAD = [
    ["K1", "Good", "2026-01-01", "1"],
    ["K2", "Bad day", "31.02.2026", "1"],
    ["", "No key", "2026-01-01", "1"],
    ["K1", "Again", "2026-01-01", "1"],
    ["K5", "Bad number", "2026-01-01", "=HYPERLINK(1)"],
]


async def test_a_dry_run_counts_and_writes_nothing(world: World) -> None:
    """AEO-025: new, changed and refused before anything is written."""
    await define(world)
    made = await imports.begin(
        world.services,
        world.team,
        world.user,
        name="a.csv",
        content=text(",", BAD).encode(),
        dataset="customers",
    )
    await imports.start(world.services, world.team, world.user, made, dry_run=True)
    await world.backstay.drain()
    figures = (await imports.show(world.services, world.team, made))["dry_run"]
    assert (figures["new"], figures["changed"], figures["refused"]) == (1, 0, 4)
    assert figures["reasons"] == {"date": 1, "missing": 1, "duplicate": 1, "number": 1}
    assert await world.records("customers") == {}


async def test_rejects_come_back_corrected_into_the_same_import(world: World) -> None:
    """AEO-025: the workbook marks the bad cell, names the reason, and goes back as it is."""
    await define(world)
    made = await world.import_file("a.csv", text(",", BAD).encode(), "customers")
    content = await imports.rejects(world.services, world.team, made)
    book = openpyxl.load_workbook(io.BytesIO(content))
    sheet = book["rejects"]
    assert [cell.value for cell in sheet[1]] == [*HEAD, "_row", "_column", "_reason"]
    assert sheet.cell(2, 3).fill.fgColor.rgb == "FFF8C9C4"
    assert sheet.cell(5, 4).value == "=HYPERLINK(1)"
    assert sheet.cell(5, 4).data_type == "s"
    sheet.cell(2, 3).value = "2026-02-28"
    sheet.cell(3, 1).value = "K3"
    sheet.cell(4, 1).value = "K4"
    sheet.cell(5, 4).value = "7"
    corrected = io.BytesIO()
    book.save(corrected)

    await imports.resubmit(world.services, world.team, world.user, made, "fixed.xlsx", corrected.getvalue())
    await world.backstay.drain()

    shown = await imports.show(world.services, world.team, made)
    assert shown["counts"]["refused"] == 0
    assert shown["counts"]["inserted"] == 5
    assert sorted(await world.records("customers")) == ["K1", "K2", "K3", "K4", "K5"]


RAGGED = "Kundennummer;Name;Kunde seit;Guthaben\nK1;Ada;2026-01-01;1\nK2;Ben;2026-01-01\nK3;Cem;2026-01-01;1;surplus\n"


async def rejects_of(world: World, made: UUID) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(await imports.rejects(world.services, world.team, made)))


async def send_back(world: World, made: UUID, book: openpyxl.Workbook) -> dict[str, Any]:
    content = io.BytesIO()
    book.save(content)
    await imports.resubmit(world.services, world.team, world.user, made, "fixed.xlsx", content.getvalue())
    await world.backstay.drain()
    return await imports.show(world.services, world.team, made)


async def test_rows_of_a_wrong_length_stay_refused_until_their_cells_are_mended(world: World) -> None:
    """AEO-025: a row that is too long or too short, sent back untouched, loses no cell and is not taken."""
    await define(world)
    made = await world.import_file("a.csv", RAGGED.encode(), "customers")

    book = await rejects_of(world, made)
    shown = await send_back(world, made, book)
    assert (shown["counts"]["refused"], shown["reasons"]) == (2, {"ragged": 2})
    assert sorted(await world.records("customers")) == ["K1"]

    sheet = (book := await rejects_of(world, made))["rejects"]
    assert [cell.value for cell in sheet[1]] == [*HEAD, "_row", "_column", "_reason", "_surplus 1"]
    assert [sheet.cell(2, 4).value, sheet.cell(3, 8).value] == ["(missing)", "surplus"]
    assert sheet.cell(2, 4).fill.fgColor.rgb == sheet.cell(3, 8).fill.fgColor.rgb == "FFF8C9C4"
    sheet.cell(2, 4).value = None
    sheet.cell(3, 8).value = None
    assert (await send_back(world, made, book))["counts"]["refused"] == 0
    assert (await world.records("customers"))["K3"]["credit"] == "1"
    assert "credit" not in (await world.records("customers"))["K2"]


async def test_undo_restores_what_was_there_and_names_what_others_changed(world: World) -> None:
    """AEO-025: before-images come back; a record that a later import changed is refused by name."""
    await define(world)
    first = await world.import_file("1.csv", text(",", ROWS).encode(), "customers")
    changed = [
        ["K1", "New name", "2026-03-29", "1"],
        ["K2", "Also new", "2025-01-02", "1"],
        ["K9", "x", "", ""],
    ]
    second = await world.import_file("2.csv", text(",", changed).encode(), "customers")
    await world.import_file("3.csv", text(",", [["K2", "Third", "2025-01-02", "1"]]).encode(), "customers")

    job = await imports.undo(world.services, world.team, world.user, second)
    await world.backstay.drain()

    result = (await world.services.app.jobs.get(job)).result
    assert (result["removed"], result["restored"], result["refused"]) == (1, 1, 1)
    assert result["refused_records"][0]["key"] == "K2"
    records = await world.records("customers")
    assert records["K1"]["name"] == "Ärmel & Söhne"
    assert records["K2"]["name"] == "Third"
    assert "K9" not in records
    assert (await imports.show(world.services, world.team, first))["status"] == "completed"


async def test_a_receipt_holds_until_something_is_altered(world: World) -> None:
    """AEO-025: file, mapping, counts and rows are in the receipt, and it can be verified."""
    await define(world)
    made = await world.import_file("1.csv", text(",", ROWS).encode(), "customers")
    receipt = await imports.receipt(world.services, world.team, made)
    assert await imports.verify(world.services, receipt) == []

    forged = json.loads(json.dumps(receipt))
    forged["receipt"]["counts"]["inserted"] = 99
    assert len(await imports.verify(world.services, forged)) == 2
    await world.database.execute("UPDATE aeon.import_batches SET sha256 = repeat('0', 64)")
    assert "rows_sha256" in (await imports.verify(world.services, receipt))[0]


async def test_a_receipt_is_about_the_records_themselves(world: World) -> None:
    """AEO-025: a later import may change them, for what it found is kept; whoever alters them by hand is seen."""
    await define(world)
    made = await world.import_file("1.csv", text(",", ROWS).encode(), "customers")
    receipt = await imports.receipt(world.services, world.team, made)
    assert receipt["receipt"]["records"] == 2
    later = await world.import_file("2.csv", text(",", [["K1", "New", "", ""]]).encode(), "customers")
    assert await imports.verify(world.services, receipt) == []
    await imports.undo(world.services, world.team, world.user, later)
    await world.backstay.drain()
    assert await imports.verify(world.services, receipt) == []

    alter = "UPDATE aeon.imported_records SET data = data || $1 WHERE external_key = 'K2'"
    await world.database.execute(alter, {"credit": "1000000"})
    assert "records_sha256" in (await imports.verify(world.services, receipt))[0]
    await world.database.execute("DELETE FROM aeon.imported_records WHERE external_key = 'K2'")
    assert any("records is 1 now" in one for one in await imports.verify(world.services, receipt))


async def test_without_a_secret_that_is_kept_no_receipt_is_given(world: World) -> None:
    """AEO-025: nobody but this process could verify it."""
    await define(world)
    made = await world.import_file("1.csv", text(",", ROWS).encode(), "customers")
    forgetful = replace(world.services, settings=replace(world.services.settings, is_secret_kept=False))
    with pytest.raises(BadSettings, match="AEON_SECRET"):
        await imports.receipt(forgetful, world.team, made)


STRANGE = "Reference;Who;Start;Amount\nK1;Ada;2026-01-01;1\nK2;Ben;2026-01-02;2\n"
RIGHT = {"Reference": "customer_no", "Who": "name", "Start": "since", "Amount": "credit"}


async def test_a_mapping_that_was_not_guessed_is_corrected(world: World, api: httpx.AsyncClient) -> None:
    """AEO-025: the dry run fails with the columns, the mapping is sent, and the same import goes on."""
    await define(world)
    sent = await api.post(
        "/api/imports",
        files={"file": ("a.csv", STRANGE.encode())},
        data={"dataset": "customers", "dry_run": "true"},
    )
    path = f"/api/imports/{sent.json()['import_id']}"
    await world.backstay.drain()
    one = (await api.get(path)).json()
    assert one["status"] == "failed"
    assert "say which one it is in the mapping" in one["notes"][0]
    assert one["form"]["headers"] == list(RIGHT)

    for wrong, said in (
        ({"Nothing": "name"}, "no column 'Nothing'"),
        ({"Who": "nothing"}, "no column 'nothing'"),
        ({"Who": "name"}, "customer_no"),
        ({"Who": "name", "Reference": "name"}, "same column"),
        ({"Who": 7}, "mapping"),
    ):
        refused = await api.put(f"{path}/mapping", json=wrong)
        assert (refused.status_code, said in refused.text) == (400, True), refused.text
    assert (await api.put(f"{path}/mapping", json=RIGHT)).json()["mapping"] == RIGHT
    await api.post(f"{path}/start?dry_run=true")
    await world.backstay.drain()
    assert (await api.get(path)).json()["dry_run"]["new"] == 2
    await api.post(f"{path}/start")
    await world.backstay.drain()
    assert (await world.records("customers"))["K2"]["credit"] == "2"
    late = await api.put(f"{path}/mapping", json=RIGHT)
    assert late.status_code == 409


async def test_a_mapping_and_rules_are_sent_with_the_file(world: World, api: httpx.AsyncClient) -> None:
    """AEO-025: mapping, on_error and batch_size count from the beginning, and are checked."""
    await define(world)
    body = {"dataset": "customers", "mapping": json.dumps(RIGHT), "on_error": "fail", "batch_size": "1"}
    files = {"file": ("a.csv", (STRANGE + "K3;Cem;2026-31-31;3\n").encode())}
    made = (await api.post("/api/imports", files=files, data=body)).json()
    await world.backstay.drain()
    failed = (await api.get(f"/api/imports/{made['import_id']}")).json()
    assert (failed["status"], failed["mapping"]) == ("failed", RIGHT)
    assert await world.records("customers") == {}

    made = (await api.post("/api/imports", files=files, data={**body, "on_error": "skip"})).json()
    await world.backstay.drain()
    batches = "SELECT count(*) FROM aeon.import_batches WHERE import_id = $1::text::uuid"
    assert await world.database.value(batches, made["import_id"]) == 3
    for wrong in ({"mapping": "[1]"}, {"mapping": "{"}, {"on_error": "ask"}, {"batch_size": "0"}):
        refused = await api.post("/api/imports", files=files, data={**body, **wrong})
        assert refused.status_code in (400, 422), refused.text


async def test_a_failed_import_is_started_again_and_again(world: World, api: httpx.AsyncClient) -> None:
    """AEO-025: each start is a job of its own, also after the second failure."""
    await define(world)
    body = {"dataset": "customers", "mapping": json.dumps(RIGHT), "on_error": "fail"}
    files = {"file": ("a.csv", (STRANGE + "K3;Cem;2026-31-31;3\n").encode())}
    made = (await api.post("/api/imports", files=files, data=body)).json()
    jobs = {made["job_id"]}
    for _ in range(2):
        await world.backstay.drain()
        again = await api.post(f"/api/imports/{made['import_id']}/start")
        assert again.status_code == 202, again.text
        jobs.add(again.json()["job_id"])
    assert len(jobs) == 3


async def test_a_format_that_is_said_must_be_that_of_the_file(world: World, api: httpx.AsyncClient) -> None:
    """AEO-025: JSON lines called CSV are refused instead of read as something else."""
    await define(world)
    kept = await uploads.keep(
        world.services, world.team, world.user, "a.txt", b'{"Kundennummer": "K1", "Name": "A"}\n'
    )
    for form, status in (("csv", "failed"), ("jsonl", "completed")):
        payload = {"source": str(kept["id"]), "dataset": "customers", "format": form}
        made = await api.post("/api/jobs/create", json={"job_type": "data_import", "payload": payload})
        await world.backstay.drain()
        found = (await api.get(f"/api/imports/{made.json()['job_id']}")).json()
        assert found["status"] == status, found["notes"]


async def test_an_import_killed_after_any_batch_goes_on_at_the_next_row(world: World) -> None:
    """AEO-025, AEO-014: a lost worker costs nothing that is written, and nothing is written twice."""
    await define(world)
    rows = [
        [f"K{number}", f"N{number}", "2026-01-01", "x" if number % 10 == 0 else "1"]
        for number in range(1, 51)
    ]
    made = await imports.begin(
        world.services,
        world.team,
        world.user,
        name="a.csv",
        content=text(",", rows).encode(),
        dataset="customers",
        batch_size=7,
    )
    await imports.start(world.services, world.team, world.user, made)
    await world.backstay.crash_worker(world.services.handlers["data_import"], when="after")
    await world.database.execute("DELETE FROM aeon.import_batches WHERE first_row > 20")
    await world.database.execute("DELETE FROM aeon.imported_records WHERE row_number > 21")
    await world.database.execute("DELETE FROM aeon.import_rejects WHERE row_number > 21")
    await world.backstay.travel("2m")
    await world.backstay.drain()

    shown = await imports.show(world.services, world.team, made)
    assert shown["counts"] == {"inserted": 45, "updated": 0, "unchanged": 0, "refused": 5, "rows_read": 50}
    assert len(await world.records("customers")) == 45
    assert "went on at row 22" in shown["notes"][0]


def test_ragged_lines_do_not_let_the_commas_of_decimals_win(tmp_path: Path) -> None:
    """AEO-025: each line has one decimal comma, and some have a cell too many: the semicolon still divides them."""
    lines = ["Nummer;Firma;Guthaben"]
    lines += [
        f"{number};Müller & Söhne;{number},50{';zuviel' if number % 9 == 0 else ''}" for number in range(90)
    ]
    table = tmp_path / "a.csv"
    table.write_bytes("\r\n".join(lines).encode("cp1252"))

    form = sniff(table)

    assert (form.delimiter, form.headers) == (";", ("Nummer", "Firma", "Guthaben"))
