"""kill -9 at statements of the last transactions: each row once, whatever falls over."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import signal
import sys
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from backstay import State
from backstay_oblicore import packing
from backstay_oblicore.demo.permit_maker import make_consent
from backstay_parts.sheets import write_xlsx

PROGRAM = Path(__file__).parent / "killed_worker.py"
HEAD = ["Permit Number", "Obligation Title", "Frequency", "Deadline Date", "Site"]
ROWS = 4
LEAST_STATEMENTS = 12


def drawn(total: int, count: int) -> list[int]:
    """Draw statements by the source's hash, so that another version looks at others."""
    sources = sorted((PROGRAM.parents[1] / "src").rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).digest()
    return sorted({1 + digest[index] % total for index in range(count)})


async def worker(world: Any, number: int, kind: str, job: Any) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROGRAM),
        str(number),
        kind,
        str(job.id),
        env={**os.environ, **world.services.settings.environment()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await asyncio.wait_for(process.communicate(), 110)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()[-2000:]
    return process.returncode, out.decode()


async def import_checked(world: Any, number: int) -> Any:
    """Prepare an import that waits for its confirmation."""
    rows = [["EPR/1", f"Duty {number} {n}", "annually", date(2027, 1, n + 1), None] for n in range(ROWS)]
    path = f"imports/{world.company}/{world.site}/x{number}/original.xlsx"
    found = await world.insert(
        "excel_imports", company_id=world.company, site_id=world.site, user_id=world.manager, file_path=path
    )
    await world.services.storage.put(path, write_xlsx({"R": [HEAD, *rows]}))
    await world.run("EXCEL_IMPORT_PROCESSING", import_id=found, user_id=world.manager)
    return found


async def confirmed_killed_at(world: Any, number: int) -> bool:
    """Confirm an import whose worker dies at a statement, and let another go on; return whether it died."""
    found = await import_checked(world, number)
    await world.execute("DELETE FROM oblicore.notifications")
    job = await world.services.handlers["EXCEL_IMPORT_PROCESSING"].enqueue(
        import_id=found, user_id=world.manager, phase="CREATE"
    )
    killed, _ = await worker(world, number, "EXCEL_IMPORT_PROCESSING", job)
    if killed:
        await worker(world, 0, "EXCEL_IMPORT_PROCESSING", job)
    rows = await world.rows(
        "SELECT import_row, (SELECT count(*) FROM oblicore.deadlines WHERE obligation_id = duty.id) AS deadlines"
        " FROM oblicore.obligations AS duty WHERE excel_import_id = $1 ORDER BY 1",
        found,
    )
    assert [(row["import_row"], row["deadlines"]) for row in rows] == [(n + 2, 1) for n in range(ROWS)], (
        number
    )
    [sheet] = await world.rows(
        "SELECT status, success_count FROM oblicore.excel_imports WHERE id = $1", found
    )
    assert (sheet["status"], sheet["success_count"]) == ("COMPLETED", ROWS)
    told = await world.rows("SELECT title FROM oblicore.notifications WHERE channel = 'EMAIL'")
    assert [row["title"] for row in told] == ["Excel import completed"], number
    return bool(killed)


@pytest.mark.timeout(600)
async def test_an_import_killed_at_a_statement_creates_each_row_once(world: Any) -> None:
    """OBL-041"""
    await world.document(permit_number="EPR/1")
    for number in drawn(LEAST_STATEMENTS, 2):
        assert await confirmed_killed_at(world, number), f"statement {number} was never reached"


@pytest.mark.prove
@pytest.mark.timeout(1800)
async def test_an_import_killed_at_every_statement_creates_each_row_once(world: Any) -> None:
    """OBL-041"""
    await world.document(permit_number="EPR/1")
    number = 1
    while await confirmed_killed_at(world, number):
        number += 1

    assert number > LEAST_STATEMENTS


async def read_killed_at(world: Any, number: int) -> tuple[bool, UUID]:
    """Let a worker die at a statement of the reading's last transaction, and another go on."""
    made = make_consent(1002, issued=date(2026, 1, 5))
    document = await world.document(issue_date=date(2026, 1, 5))
    path = f"documents/{world.company}/{world.site}/{document}/original.pdf"
    await world.services.storage.put(path, made.content, content_type="application/pdf")
    job = await world.services.handlers["DOCUMENT_PROCESSING"].enqueue(
        document_id=document, requested_by=world.staff
    )
    killed, _ = await worker(world, number, "DOCUMENT_PROCESSING", job)
    if killed:
        await worker(world, 0, "DOCUMENT_PROCESSING", job)
    counts = [
        await world.value(f"SELECT count(*) FROM oblicore.{table} WHERE {column} = $1", document)
        for table, column in (
            ("obligations", "document_id"),
            ("extraction_logs", "document_id"),
            ("notifications", "entity_id"),
        )
    ]
    assert counts == [len(made.conditions), 1, 1], number
    return bool(killed), document


@pytest.mark.timeout(600)
async def test_a_reading_killed_in_its_last_transaction_writes_each_duty_once(world: Any) -> None:
    """OBL-032"""
    killed, _ = await read_killed_at(world, drawn(12, 1)[0])

    assert killed


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_a_reading_killed_at_every_statement_writes_each_duty_once(world: Any) -> None:
    """OBL-032"""
    number = 0
    while True:
        number += 1
        killed, _ = await read_killed_at(world, number)
        if not killed:
            break

    assert number > 20


async def killed_at_random(world: Any, is_busy: Any, chance: random.Random, *, kills: int) -> int:
    """Let workers die at a moment of their own after they have begun; return how many did."""
    died = 0
    for _ in range(kills):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "backstay",
            "worker",
            "backstay_oblicore.service:app",
            "--concurrency",
            "4",
            env={**os.environ, **world.services.settings.environment()},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(120):
            while not await is_busy():
                await asyncio.sleep(0.05)
        # The moment is the experiment: any will do, and none is waited for.
        await asyncio.sleep(chance.uniform(0.0, 1.5))
        process.kill()
        died += await process.wait() == -signal.SIGKILL
    return died


@pytest.mark.prove
@pytest.mark.timeout(1800)
async def test_an_import_of_three_thousand_rows_survives_random_kills(world: Any) -> None:
    """OBL-041"""
    chance = random.Random(f"{drawn(1000, 3)}")
    await world.document(permit_number="EPR/1")
    rows = [["EPR/1", f"Duty {n}", "annually", date(2027, 1, 1 + n % 28), None] for n in range(3000)]
    path = f"imports/{world.company}/{world.site}/large/original.xlsx"
    found = await world.insert(
        "excel_imports", company_id=world.company, site_id=world.site, user_id=world.manager, file_path=path
    )
    await world.services.storage.put(path, write_xlsx({"R": [HEAD, *rows]}))
    await world.run("EXCEL_IMPORT_PROCESSING", import_id=found, user_id=world.manager)
    job = await world.services.handlers["EXCEL_IMPORT_PROCESSING"].enqueue(
        import_id=found, user_id=world.manager, phase="CREATE"
    )

    async def is_busy() -> bool:
        return (await job.get()).state is State.RUNNING

    died = await killed_at_random(world, is_busy, chance, kills=2)
    await worker(world, 0, "EXCEL_IMPORT_PROCESSING", job)

    assert died == 2
    assert await world.value("SELECT count(*) FROM oblicore.obligations") == 3000
    assert await world.value("SELECT count(DISTINCT import_row) FROM oblicore.obligations") == 3000


@pytest.mark.prove
@pytest.mark.timeout(1800)
async def test_a_mailing_to_twelve_survives_random_kills(world: Any, mail_server: Any) -> None:
    """OBL-082"""
    chance = random.Random(f"mail {drawn(1000, 3)}")
    document = await world.document(permit_number="EPR/1")
    await world.obligation(document)
    made = await world.run(
        "AUDIT_PACK_GENERATION",
        pack_type="AUDIT_PACK",
        company_id=world.company,
        site_id=world.site,
        document_id=document,
        date_range_start=date(2026, 1, 1),
        date_range_end=date(2026, 12, 31),
        requested_by=world.manager,
    )
    people = [f"person{n}@agency.example" for n in range(12)]
    await packing.distribute(
        world.services,
        UUID(made["pack_id"]),
        user=world.manager,
        method="EMAIL",
        recipients=[{"email": one} for one in people],
    )

    async def is_busy() -> bool:
        # A quick worker may have sent all of them before it dies.
        return not before[0] < len(people) or len(mail_server.mails()) > before[0]

    before = [0]
    for _ in range(2):
        before[0] = len(mail_server.mails())
        await killed_at_random(world, is_busy, chance, kills=1)
    async with world.services.app.working(concurrency=4):
        async with asyncio.timeout(600):
            while (
                await world.value("SELECT count(*) FROM oblicore.pack_distributions WHERE status = 'SENT'")
                < 12
            ):
                await asyncio.sleep(0.2)

    # A worker that dies between the server's answer and its own note sends again, under the same id.
    ids = {one: {mail.message["Message-ID"] for mail in mail_server.mails(to=one)} for one in people}
    assert {len(found) for found in ids.values()} == {1}
