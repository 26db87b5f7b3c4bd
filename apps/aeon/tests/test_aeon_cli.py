"""The command line as a person and a program use it, in processes of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import openpyxl
from aeon_fleet import Fleet

from backstay_aeon.domain.imports.columns import read_dataset
from backstay_aeon.store import imports as store
from backstay_aeon.web.server import web_app

TABLE = "number,name,since\n1,Ada,2020-01-01\n2,Ben,2020-31-31\n3,Cem,2021-05-06\n4,Dag,2021-05-07\n"


def command(fleet: Fleet, *words: str) -> tuple[int, str, str]:
    environment = {**os.environ, **fleet.environment}
    done = subprocess.run(
        [sys.executable, "-m", "backstay_aeon", *words], capture_output=True, text=True, env=environment
    )
    return done.returncode, done.stdout, done.stderr


async def told(fleet: Fleet, *words: str) -> Any:
    """What a command prints with --json."""
    code, output, error = await asyncio.to_thread(command, fleet, *words, "--json")
    assert code == 0, (words, output, error)
    return json.loads(output)


async def test_a_table_goes_in_is_corrected_and_taken_back_by_commands(fleet: Fleet, tmp_path: Path) -> None:
    """AEO-025: import, rejects, resubmit, receipt, undo, rows and datasets, each with --json."""
    table, refused = tmp_path / "people.csv", tmp_path / "rejects.xlsx"
    table.write_text(TABLE)
    team = str(fleet.team)
    await fleet.start("general")
    # A dry run of a new dataset guesses its columns, and writes no record.
    tried = await told(fleet, "import", str(table), "--dataset", "people", "--team", team, "--dry-run")
    await fleet.until_ended(1)
    assert await fleet.database.value("SELECT count(*) FROM aeon.imported_records") == 0
    figures = (await told(fleet, "job", tried["job_id"]))["result"]
    made = await told(fleet, "import", str(table), "--dataset", "people", "--team", team)
    await fleet.until_ended(2)
    rows = await told(fleet, "rows", "people", "--team", team)
    assert len(rows) == json.loads(figures)["new"] if isinstance(figures, str) else figures["new"]
    assert (await told(fleet, "datasets", "--team", team))[0]["records"] == len(rows)

    kept = await told(fleet, "rejects", made["import_id"], "-o", str(refused))
    assert kept["bytes"] == refused.stat().st_size
    assert "_row" in [cell.value for cell in openpyxl.load_workbook(refused).worksheets[0][1]]
    await told(fleet, "resubmit", made["import_id"], str(refused))
    await fleet.until_ended(3)

    code, receipt, _ = await asyncio.to_thread(command, fleet, "receipt", "show", made["import_id"])
    assert code == 0
    (tmp_path / "receipt.json").write_text(receipt)
    assert (await told(fleet, "receipt", "verify", str(tmp_path / "receipt.json")))["holds"]
    (tmp_path / "forged.json").write_text(receipt.replace('"dataset": "people"', '"dataset": "peoples"'))
    assert (await asyncio.to_thread(command, fleet, "receipt", "verify", str(tmp_path / "forged.json")))[
        0
    ] == 1

    await told(fleet, "undo", made["import_id"])
    await fleet.until_ended(4)
    assert await told(fleet, "rows", "people", "--team", team) == []


async def test_jobs_reports_promises_and_scaling_are_told(fleet: Fleet) -> None:
    """AEO-034, AEO-035, AEO-037: submit, jobs, job, reports, slo, scale, check and rebuild with --json."""
    team = str(fleet.team)
    assert {row["name"] for row in await told(fleet, "teams")} == {"Nord"}
    assert (await told(fleet, "keys", "create", "--team", team))["key"].startswith("aeon")
    payload = json.dumps({"report": "job_summary", "format": "csv"})
    made = await told(fleet, "submit", "report_gen", payload, "--team", team)
    waiting = await told(fleet, "job", made["job_id"])
    assert waiting["why"]
    assert (await told(fleet, "rebuild"))["waiting"] == 1
    await fleet.start("general")
    await fleet.until_ended(1)
    assert [row["status"] for row in await told(fleet, "jobs", "--team", team)] == ["completed"]
    assert [row["format"] for row in await told(fleet, "reports", "--team", team)] == ["csv"]
    assert len(await told(fleet, "slo")) == 6
    assert (await told(fleet, "scale"))["desired"] >= 1

    async def all_hold() -> bool:
        code, _, _ = await asyncio.to_thread(command, fleet, "check", "--json")
        return code == 0

    await fleet.until(all_hold)


async def test_a_mapping_is_given_and_a_key_is_revoked_by_commands(fleet: Fleet, tmp_path: Path) -> None:
    """AEO-025, AEO-008: columns by --mapping, and a key that opens nothing any more."""
    table, team = tmp_path / "people.csv", str(fleet.team)
    table.write_text("Reference;Who\nR1;Ada\nR2;Ben\n")
    await fleet.start("data-import")
    columns = [{"name": "number"}, {"name": "name"}]
    async with fleet.database.connection() as connection:
        await store.save_dataset(
            connection, fleet.team, read_dataset("people", {"key": "number", "columns": columns})
        )
    mapping = json.dumps({"Reference": "number", "Who": "name"})
    await told(fleet, "import", str(table), "--dataset", "people", "--team", team, "--mapping", mapping)
    await fleet.until_ended(1)
    rows = await told(fleet, "rows", "people", "--team", team)
    assert [row["data"]["name"] for row in rows] == ["Ada", "Ben"]

    key = (await told(fleet, "keys", "create", "--team", team))["key"]
    transport = httpx.ASGITransport(web_app(fleet.services))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        client.headers["Authorization"] = f"Bearer {key}"
        assert (await client.get("/api/jobs")).status_code == 200
        prefix = (await told(fleet, "keys", "list", "--team", team))[0]["prefix"]
        await told(fleet, "keys", "revoke", prefix)
        assert (await client.get("/api/jobs")).status_code == 401
    assert (await told(fleet, "keys", "list", "--team", team))[0]["revoked_at"]


async def test_a_worker_that_is_switched_off_does_not_start(fleet: Fleet) -> None:
    """AEO-012: WORKER_ENABLED=false ends at once and in order."""
    fleet.environment["WORKER_ENABLED"] = "false"
    code, output, _ = await asyncio.to_thread(command, fleet, "worker")
    assert (code, "WORKER_ENABLED=false" in output) == (0, True)


async def test_what_is_wrong_is_said_in_one_line(fleet: Fleet) -> None:
    """AEO-006: a wrong payload, an unknown team and a short password end with 1 and what to do."""
    for words, expected in (
        (("submit", "nothing", "{}", "--team", str(fleet.team)), "there is no job type 'nothing'"),
        (("submit", "quick", "{broken", "--team", str(fleet.team)), "the payload is not JSON"),
        (("submit", "quick", "[1]", "--team", str(fleet.team)), "the payload is not a JSON object"),
        (("jobs", "--team", "Süd"), "add it with: backstay-aeon teams add"),
        (("password", "a@b.example", "--team", str(fleet.team), "--password", "short"), "at least 10"),
        (("rejects", "0190163d-8694-739b-aea5-966c26f8ad91", "-o", "/tmp/none"), "there is no import"),
    ):
        code, _, error = await asyncio.to_thread(command, fleet, *words)
        assert code == 1
        assert expected in error
        assert len(error.strip().splitlines()) == 1
