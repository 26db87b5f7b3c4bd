"""Pass 2 is killed at each of its statements: every fact once, nothing twice, nothing lost."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from backstay_exora.demo.letters import Letter, draw_letter
from backstay_exora.demo.people import draw_practice
from conftest import Stage

PROGRAM = Path(__file__).parent / "killed_worker.py"
SCRIPT = """
import asyncio, sys
from datetime import date
from pathlib import Path
from uuid import UUID, uuid4
from backstay_exora.jobs import app
from backstay_exora.app import settings
from backstay_exora.store.connections import connect
from backstay_exora.store.patients import add_patient, add_practice
from backstay_exora.documents import upload
from backstay_exora.demo.letters import draw_letter
from backstay_exora.demo.people import draw_practice
from backstay_exora.handlers.ai_processing import enqueue_pass
from backstay_exora.handlers.outcome import PassCall

async def main() -> None:
    if sys.argv[1] == "begin":
        await app.migrate()
        person = draw_practice(5)[0]
        async with connect(settings.database_url) as connection:
            await add_practice(connection, "p", "P")
            patient = await add_patient(connection, "p", given_names=person.given_names, family_name=person.family_name,
                date_of_birth=person.date_of_birth, gender=person.gender, address=person.address,
                record_number=person.record_number, ihi=person.ihi)
        print((await upload("p", patient, "a.pdf", draw_letter(person, 501).content, by="r")).id)
    else:
        document = UUID(sys.argv[2])
        async with connect(settings.database_url) as connection:
            row = await connection.fetchrow("SELECT * FROM exora.shell_files WHERE id = $1", document)
        session = row["processing_session_id"]
        call = PassCall(2, document, row["patient_id"], session, str(session), "ai_queue_simple")
        await enqueue_pass(None, call, priority=5, filename="a.pdf", practice="p")
    await app.close()

asyncio.run(main())
"""


class Bench:
    """A database of its own, so that no other worker takes the job that is to be killed."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.url = stage.url.rsplit("/", 1)[0] + f"/{name}"
        self._environment = {**stage.environment, "BACKSTAY_URL": self.url, "EXORA_PASSES_RUN_IN": "loop"}

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def said(self, *command: str) -> str:
        done = self.run(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

    async def rows(self, sql: str, *values: object) -> list[Any]:
        connection = await asyncpg.connect(self.url)
        try:
            return list(await connection.fetch(sql, *values))
        finally:
            await connection.close()


async def _begin(stage: Stage, name: str) -> tuple[Bench, UUID, Letter, int]:
    """A document that is read, and the number of statements that one Pass 2 and what follows it send."""
    connection = await asyncpg.connect(stage.url)
    await connection.execute(f'CREATE DATABASE "{name}"')
    await connection.close()
    bench = Bench(stage, name)
    document = UUID(await asyncio.to_thread(bench.said, "-c", SCRIPT, "begin"))
    await asyncio.to_thread(bench.said, str(PROGRAM))
    await asyncio.to_thread(bench.said, "-c", SCRIPT, "again", str(document))
    count = int(await asyncio.to_thread(bench.said, str(PROGRAM)))
    return bench, document, draw_letter(draw_practice(5)[0], 501), count


async def _killed_at(bench: Bench, document: UUID, letter: Letter, number: int) -> None:
    await asyncio.to_thread(bench.said, "-c", SCRIPT, "again", str(document))

    killed = await asyncio.to_thread(bench.run, str(PROGRAM), str(number))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for _ in range(30):
        await asyncio.to_thread(bench.said, str(PROGRAM))
        open_jobs = await bench.rows(
            # What the schedules have enqueued meanwhile is not for this worker.
            "SELECT 1 FROM exora.job_queue WHERE job_type IN ('ai_processing', 'shell_file_processing')"
            " AND status NOT IN ('completed', 'failed', 'cancelled')"
        )
        if not open_jobs:
            break
        await asyncio.sleep(0.5)

    stored = await bench.rows(
        "SELECT name, dose FROM exora.patient_medications WHERE shell_file_id = $1", document
    )
    found = sorted((row["name"].lower(), row["dose"]) for row in stored)
    assert found == sorted((name.lower(), dose) for name, dose in letter.truth.medications), (
        f"statement {number}"
    )
    narratives = await bench.rows(
        "SELECT text FROM exora.clinical_narratives WHERE shell_file_id = $1", document
    )
    assert len(narratives) == 1
    assert narratives[0]["text"]
    assert await bench.rows("SELECT status FROM exora.shell_files WHERE status <> 'done'") == []


@pytest.mark.timeout(300)
async def test_a_pass_killed_at_a_statement_stores_each_fact_once(stage: Stage) -> None:
    """EXO-031: the statement in the middle, where the facts are stored; `make prove-exora` takes all of them."""
    bench, document, letter, count = await _begin(stage, f"kill-{os.getpid()}")

    assert count > 15
    await _killed_at(bench, document, letter, count // 2)


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("half", [1, 2])
async def test_a_pass_killed_at_every_statement_stores_each_fact_once(stage: Stage, half: int) -> None:
    """EXO-031: the odd statements and the even ones, each in a database of their own."""
    bench, document, letter, count = await _begin(stage, f"kill-{half}-{os.getpid()}")

    for number in range(half, count + 1, 2):
        await _killed_at(bench, document, letter, number)
