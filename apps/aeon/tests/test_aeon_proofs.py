"""Long proofs: a large import killed again and again, figures after many jobs, and how quick the service is."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import time
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import httpx
import pytest
from aeon_fleet import Fleet
from aeon_world import World

from backstay_aeon.actions import imports, submit, watch
from backstay_aeon.demo.generate import CUSTOMERS, messy
from backstay_aeon.domain.imports.columns import read_dataset
from backstay_aeon.store import imports as store
from backstay_aeon.store import people
from backstay_aeon.web.prometheus import exposition
from backstay_aeon.web.server import web_app
from backstay_parts.servers import ServerProcess, free_port
from backstay_parts.servers.process import answers_http

ROWS = int(os.environ.get("AEON_PROOF_ROWS", "200000"))
KILLS = 20
MOST_MEGABYTES = 512
pytestmark = pytest.mark.prove


def told(line: str) -> None:
    """A figure for whoever runs this with -rP."""
    sys.stdout.write(f"{line}\n")


@pytest.mark.timeout(1800)
async def test_a_large_import_killed_twenty_times_is_exactly_its_file(fleet: Fleet) -> None:
    """AEO-025, AEO-014: rows and rejects equal the generator's truth; no attempt needed 512 MB."""
    content, truth = await asyncio.to_thread(messy, ROWS, seed=11, prefix="N")
    async with fleet.database.connection() as connection:
        await store.save_dataset(connection, fleet.team, read_dataset("customers", CUSTOMERS))
    made = await imports.begin(
        fleet.services, fleet.team, None, name="kunden.csv", content=content, dataset="customers"
    )
    job = UUID(await imports.start(fleet.services, fleet.team, None, made))
    chance = random.Random(23)
    worker = await fleet.start("data-import", "worker-0")
    killed = 0
    for share in sorted(chance.uniform(0.01, 0.95) for _ in range(KILLS)):
        if await reached(fleet, made, job, int(share * ROWS)):
            await asyncio.to_thread(worker.kill)
            killed += 1
            worker = await fleet.start("data-import", f"worker-{killed}")
    await ended(fleet, job)

    shown = await imports.show(fleet.services, fleet.team, made)
    assert shown["status"] == "completed", (shown["notes"], (await fleet.job(job))["error_details"])
    assert killed == KILLS
    assert shown["counts"]["inserted"] == truth.good
    assert shown["counts"]["refused"] == sum(truth.refused.values())
    assert shown["reasons"] == truth.refused
    keys = await fleet.database.row(
        "SELECT count(*) AS records, count(DISTINCT row_number) AS numbers FROM aeon.imported_records"
        " WHERE import_id = $1",
        made,
    )
    assert keys == {"records": truth.good, "numbers": truth.good}
    peak = await fleet.database.value(
        "SELECT max(memory_used_mb) FROM public.job_executions WHERE job_id = $1", job
    )
    told(f"{killed} kills, {len(shown['notes'])} resumptions, peak {peak} MB")
    assert 0 < peak < MOST_MEGABYTES


async def reached(fleet: Fleet, made: UUID, job: UUID, row: int) -> bool:
    """Wait until the import has written so many rows; False if it ended before."""
    while True:
        if (await fleet.job(job))["status"] in ("completed", "dead_letter"):
            return False
        done = await fleet.database.value(
            "SELECT max(last_row) FROM aeon.import_batches WHERE import_id = $1", made
        )
        if (done or 0) >= row:
            return True
        await asyncio.sleep(0.02)


async def ended(fleet: Fleet, job: UUID) -> None:
    while (await fleet.job(job))["status"] not in ("completed", "dead_letter"):
        await asyncio.sleep(0.1)


@pytest.mark.timeout(900)
async def test_an_import_of_the_whole_file_stays_below_its_memory(fleet: Fleet) -> None:
    """AEO-025: the process of the import, as the engine measured it."""
    content, truth = await asyncio.to_thread(messy, ROWS, seed=12, prefix="M")
    made = await imports.begin(
        fleet.services, fleet.team, None, name="k.csv", content=content, dataset="fresh"
    )
    job = UUID(await imports.start(fleet.services, fleet.team, None, made))
    await fleet.start("data-import")
    await ended(fleet, job)

    run = await fleet.database.row(
        "SELECT memory_used_mb, cpu_time_ms, duration_ms FROM public.job_executions WHERE job_id = $1", job
    )
    told(f"{ROWS} rows: {run}")
    assert run is not None
    assert 0 < run["memory_used_mb"] < MOST_MEGABYTES
    assert truth.rows == ROWS


class Tiles(HTMLParser):
    """The figures that a page shows, by the label beside each."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    def after(self, label: str) -> str:
        return self.texts[self.texts.index(label) + 1]


@pytest.mark.timeout(900)
async def test_four_ways_to_look_agree_after_two_thousand_jobs(world: World) -> None:
    """AEO-031: JSON, page, Prometheus and SQL, after jobs that completed, died, wait, and wait for a retry."""
    kinds: list[dict[str, Any]] = [
        {"job_type": "quick", "payload": {}},
        {"job_type": "failing", "payload": {"as": "validation_error"}},
        {"job_type": "failing", "payload": {"as": "transient_network"}},
    ]
    for number in range(2000):
        kind = kinds[0] if number % 10 else kinds[1 + number // 10 % 2]
        await submit.create(world.services, world.team, world.user, kind)
    await world.backstay.drain(most=5000)
    for _ in range(7):
        await submit.create(world.services, world.team, world.user, kinds[0])
    key = await people.add_key(world.database, world.team, world.user, "test")
    transport = httpx.ASGITransport(web_app(world.services))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        client.headers["Authorization"] = f"Bearer {key}"
        figures = (await client.get("/api/metrics")).json()
        text = (await client.get("/api/metrics/prometheus")).text
        page = Tiles()
        page.feed((await client.get("/")).text)
    sql = await world.database.row("SELECT * FROM get_job_statistics($1)", world.team)
    waiting = await world.database.value(
        "SELECT count(*) FROM public.jobs WHERE status = 'pending' AND retry_count > 0"
    )
    assert sql is not None

    depths = figures["queueDepths"]
    assert depths["pending"] == 7 == sql["pending_jobs"] - waiting
    assert depths["completed"] == figures["performance"]["successful"] == sql["completed_jobs"] == 1800
    assert depths["dlq"] == sql["dead_letter_jobs"] == figures["performance"]["failed"]
    assert figures["performance"]["total_jobs"] == sql["total_jobs"] == 2007
    assert depths["failed"] == waiting
    for name, value in depths.items():
        assert f'aeon_queue_depth{{queue="{name}"}} {value}' in text
    assert exposition(figures).splitlines()[:5] == text.splitlines()[:5]
    shown = {
        "Total jobs": figures["performance"]["total_jobs"],
        "Pending": depths["pending"],
        "Waiting for a retry": depths["failed"],
        "Dead letters": depths["dlq"],
    }
    for label, value in shown.items():
        assert any(
            re.sub(r"\D", "", page.texts[place + 1]) == str(value)
            for place, text_there in enumerate(page.texts[:-1])
            if text_there == label
        ), (label, value)


@pytest.mark.timeout(900)
async def test_submission_is_measured_over_a_thousand_calls(fleet: Fleet) -> None:
    """AEO-006, AEO-040: p95 of the whole answer of a real server, told beside what was promised."""
    key = await people.add_key(fleet.database, fleet.team, None, "test")
    port = free_port()
    command = [sys.executable, "-m", "backstay_aeon", "serve", "--port", str(port)]
    own = ServerProcess(
        command, port=port, name="service", env=fleet.environment, is_ready=answers_http("/login")
    )
    await asyncio.to_thread(fleet.stack.enter_context, own)
    took = []
    async with httpx.AsyncClient(base_url=own.url, headers={"Authorization": f"Bearer {key}"}) as client:
        for number in range(1000):
            began = time.perf_counter()
            answer = await client.post(
                "/api/jobs/create", json={"job_type": "quick", "payload": {"number": number}}
            )
            took.append((time.perf_counter() - began) * 1000)
            assert answer.status_code == 202, answer.text
    p95 = sorted(took)[949]
    told(
        f"submission p95 {p95:.1f} ms of 1,000 calls, promised < 100 ms: {'kept' if p95 < 100 else 'missed'}"
    )
    assert await fleet.database.value("SELECT count(*) FROM public.jobs") == 1000


@pytest.mark.timeout(900)
async def test_a_hundred_jobs_a_minute_and_starts_within_five_seconds(fleet: Fleet) -> None:
    """AEO-040, AEO-039: throughput and start p95 of real workers, against the promises."""
    await asyncio.gather(fleet.start("general", "worker-a"), fleet.start("reports", "worker-b"))
    began = time.perf_counter()
    for number in range(300):
        kind = {"report": "job_summary", "format": "csv"} if number % 5 == 0 else {"number": number}
        await fleet.submit("report_gen" if number % 5 == 0 else "quick", kind)
    await fleet.until_ended(300)
    a_minute = 300 / (time.perf_counter() - began) * 60
    slos = {one["name"]: one for one in await watch.slos(fleet.services)}
    told(f"{a_minute:.0f} jobs a minute; start p95 {slos['start p95']['value']:.0f} ms")
    assert a_minute > 100
    assert slos["start p95"]["verdict"] == "kept"
    assert slos["completion rate"]["verdict"] == "kept"
