"""What files and reports come to, and what one job hands to the next."""

from __future__ import annotations

import asyncio
import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import openpyxl
import pytest
from aeon_world import World, bomb
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from backstay_aeon.actions import submit, uploads
from backstay_aeon.store import metrics
from backstay_parts.pdf import open_pdf

TABLE = b"number,name\n1,Ada\n2,Ben\n3,\n"
FORMATS = ("csv", "xlsx", "pdf")
TODAY = datetime.now(UTC)
# Jobs live by the clock that the test holds, imports by that of the database.
PERIOD = {"from": (TODAY - timedelta(days=1)).isoformat(), "to": (TODAY + timedelta(days=1)).isoformat()}


def pdf_of(text: str) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    canvas.drawString(72, 720, text)
    canvas.save()
    return buffer.getvalue()


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "white").save(buffer, "PNG")
    return buffer.getvalue()


async def processed(world: World, name: str, content: bytes) -> dict[str, Any]:
    """The job that looked into a file."""
    kept = await uploads.keep(world.services, world.team, world.user, name, content)
    made = await submit.create(
        world.services,
        world.team,
        world.user,
        {"job_type": "file_processing", "payload": {"file_id": str(kept["id"])}},
    )
    await world.backstay.drain()
    row = await world.database.row("SELECT * FROM public.jobs WHERE id = $1", UUID(made["job_id"]))
    facts = await world.database.value("SELECT facts FROM aeon.files WHERE id = $1", kept["id"])
    return {**(row or {}), "facts": facts, "sha256": kept["sha256"]}


async def test_a_pdf_and_a_picture_are_told_by_their_bytes(world: World) -> None:
    """AEO-026: type by content and not by name, checksum, pages, text, width and height."""
    paper = await processed(world, "picture.png", pdf_of("Invoice 4711"))
    assert paper["status"] == "completed"
    assert paper["facts"]["mime"] == "application/pdf"
    assert paper["facts"]["sha256"] == paper["sha256"]
    assert (paper["facts"]["pages"], "Invoice 4711" in paper["facts"]["text"]) == (1, True)

    picture = await processed(world, "paper.pdf", png())
    assert picture["facts"]["mime"] == "image/png"
    assert (picture["facts"]["width"], picture["facts"]["height"]) == (40, 30)


@pytest.mark.parametrize("content", [b"%PDF-1.7 and then nothing", png()[:60]], ids=["pdf", "png"])
async def test_a_damaged_file_is_a_dead_letter_at_once(world: World, content: bytes) -> None:
    """AEO-026: what can never be read is not tried again."""
    job = await processed(world, "broken", content)
    assert job["status"] == "dead_letter"
    letter = await world.database.row(
        "SELECT failure_reason, total_attempts FROM public.dead_letter_jobs WHERE original_job_id = $1",
        job["id"],
    )
    assert letter == {"failure_reason": "validation_error", "total_attempts": 1}


async def rows_of(
    world: World, api: httpx.AsyncClient, report: str, form: str
) -> tuple[list[list[str]], str]:
    """The rows that a report shows, and its text where it has no cells."""
    body = {"report": report, "format": form, "period": PERIOD}
    made = (await api.post("/api/reports", json=body)).json()
    await world.backstay.drain()
    answer = await api.get(f"/api/reports/{made['job_id']}/file")
    assert answer.status_code == 200
    assert form in answer.headers["content-disposition"]
    if form == "csv":
        return list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))), ""
    if form == "xlsx":
        sheet = openpyxl.load_workbook(io.BytesIO(answer.content)).worksheets[0]
        return [
            ["" if cell is None else str(cell) for cell in row] for row in sheet.iter_rows(values_only=True)
        ], ""
    with open_pdf(answer.content) as pdf:
        return [], " ".join(pdf.page(number).text for number in range(1, pdf.page_count + 1))


@pytest.mark.parametrize("form", FORMATS)
async def test_the_numbers_of_a_report_are_those_of_sql(
    world: World, api: httpx.AsyncClient, form: str
) -> None:
    """AEO-027: quality of imports, activity and jobs of a team, in each format."""
    made = await world.import_file("people.csv", TABLE, "people")
    counts = await world.database.row(
        "SELECT sum(inserted)::int AS inserted, sum(refused)::int AS refused FROM aeon.import_batches"
        " WHERE import_id = $1",
        made,
    )
    assert counts is not None
    rows, text = await rows_of(world, api, "import_quality", form)
    if form == "pdf":
        assert "people" in text
        assert str(counts["inserted"]) in text.split()
    else:
        table = dict(zip(rows[0], rows[1], strict=True))
        assert (table["inserted"], table["refused"]) == (str(counts["inserted"]), str(counts["refused"]))

    rows, text = await rows_of(world, api, "team_activity", form)
    jobs = await world.database.value(
        "SELECT count(*) FROM public.jobs WHERE team_id = $1 AND created_by = $2", world.team, world.user
    )
    # The report is a job of the team itself, made when the others had ended.
    assert str(jobs) in (text.split() if form == "pdf" else [row[2] for row in rows[1:]])


async def test_text_that_looks_like_a_formula_stays_text_in_every_file(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-027: whoever names a file =1+1 makes nobody's spreadsheet reckon."""
    await world.import_file("=HYPERLINK(evil).csv", TABLE, "people")
    rows, _ = await rows_of(world, api, "import_quality", "csv")
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)
    await world.import_file("=1+1.csv", TABLE, "people")
    made = (
        await api.post("/api/reports", json={"report": "import_quality", "format": "xlsx", "period": PERIOD})
    ).json()
    await world.backstay.drain()
    answer = await api.get(f"/api/reports/{made['job_id']}/file")
    sheet = openpyxl.load_workbook(io.BytesIO(answer.content)).worksheets[0]
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n", "inlineStr"}


async def test_another_teams_report_is_not_there(world: World, api: httpx.AsyncClient) -> None:
    """AEO-027, AEO-008: a report is read by its own team alone."""
    given = {"job_type": "report_gen", "payload": {"report": "job_summary", "format": "csv"}}
    made = await submit.create(world.services, world.other, None, given)
    await world.backstay.drain()
    assert (await api.get(f"/api/reports/{made['job_id']}/file")).status_code == 404


async def test_a_report_receives_the_id_of_the_import(world: World, api: httpx.AsyncClient) -> None:
    """AEO-029: data_import, then report_gen by a data dependency on it."""
    kept = await uploads.keep(world.services, world.team, world.user, "people.csv", TABLE)
    first = (
        await api.post(
            "/api/jobs/create",
            json={"job_type": "data_import", "payload": {"source": str(kept["id"]), "dataset": "people"}},
        )
    ).json()["job_id"]
    tie = {"job_id": first, "dependency_type": "data", "into": "input"}
    body = {"job_type": "report_gen", "payload": {"report": "import_quality"}, "depends_on": [tie]}
    second = (await api.post("/api/jobs/create", json=body)).json()["job_id"]
    for _ in range(3):
        await world.backstay.drain()
        await world.backstay.travel("10s")
    shown = (await api.get(f"/api/jobs/{second}")).json()
    assert shown["status"] == "completed"
    assert shown["result"]["input"]["import_id"] == first


HAPPENED = """
UPDATE backstay.jobs SET created_at = $2, run_at = $2, first_due_at = NULL, finished_at = $3, started_at = $4
WHERE id = $1
"""
STARTED = "UPDATE backstay.attempts SET started_at = $2, finished_at = $3 WHERE job_id = $1"


async def test_the_promises_are_reckoned_from_what_happened(world: World) -> None:
    """AEO-034: six figures of a month that was made up equal those reckoned by hand."""
    now = await world.database.value("SELECT date_trunc('minute', now())")
    await world.database.execute(
        "INSERT INTO aeon.submissions (at, took_ms)"
        " SELECT now() - make_interval(mins => n), n FROM generate_series(1, 100) AS n"
    )
    made = []
    for number in range(20):
        payload = {"as": "validation_error"} if number < 2 else {"number": number}
        given = {"job_type": "failing" if number < 2 else "quick", "payload": payload}
        made.append(UUID((await submit.create(world.services, world.team, None, given))["job_id"]))
    await world.database.execute("DELETE FROM aeon.submissions WHERE at > now() - interval '30 s'")
    await world.backstay.drain()
    # Ten days ago all were sent at once; job n started after n x 10 s and took a second.
    sent = now - timedelta(days=10)
    for number, job in enumerate(made):
        started = sent + timedelta(seconds=10 * number)
        await world.database.execute(HAPPENED, job, sent, started + timedelta(seconds=1), started)
        await world.database.execute(STARTED, job, started, started + timedelta(seconds=1))

    # Last, because an outage grows while the test goes on.
    await world.database.execute(
        "INSERT INTO aeon.worker_spans (worker_id, type, started_at, last_seen_at, ended) VALUES"
        " ('a', 'general', now() - interval '1000 s', now(), NULL),"
        " ('b', 'reports', now() - interval '1000 s', now() - interval '600 s', 'died')"
    )

    figures = await metrics.slo_figures(world.database, timedelta(days=30))

    assert figures["submission_p95_ms"] == pytest.approx(95.05)
    # Waits of 0, 10, ... 190 s: 95 % of the way through nineteen steps is 180.5 s.
    assert figures["start_p95_ms"] == pytest.approx(180_500)
    assert figures["completion_percent"] == pytest.approx(90.0)
    assert figures["dead_percent"] == pytest.approx(10.0)
    # Jobs waited all through the second and third minute; in each, six of the others completed.
    assert figures["per_minute"] == pytest.approx(6)
    # One died 600 s ago and nobody took its place: (1000 + 400) of (1000 + 400 + 600) seconds.
    assert figures["uptime_percent"] == pytest.approx(70, abs=0.1)
    assert (await metrics.slo_figures(world.database))["start_p95_ms"] is None


async def test_a_zip_bomb_is_refused_and_the_next_import_runs(world: World) -> None:
    """AEO-025, AEO-026: before anything of it is unpacked, with what to send instead; nobody dies of it."""
    content = await asyncio.to_thread(bomb)
    assert len(content) < 10_000_000
    refused = await world.import_file("people.xlsx", content, "people")
    notes = await world.database.value("SELECT notes FROM aeon.imports WHERE id = $1", refused)
    assert "would unpack to 2000 MB" in notes[0]
    looked = await processed(world, "people.xlsx", content)
    assert looked["status"] == "dead_letter"

    good = await world.import_file("people.csv", TABLE, "people")
    assert await world.database.value("SELECT status FROM aeon.imports WHERE id = $1", good) == "completed"
