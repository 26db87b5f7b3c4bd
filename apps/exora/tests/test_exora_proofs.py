"""The long proofs: many jobs under kills, a million rows, a worker's id in every surrounding."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from random import Random
from secrets import token_hex
from typing import Any

import asyncpg
import psutil
import pytest

from backstay_exora.store.connections import Connection, read_json
from conftest import Stage

JOBS = 500
ROWS = 1_000_000
# The rules of the audit, for every job that has ended.
BROKEN = """
    SELECT count(*) FROM exora.job_queue WHERE status IN ('completed', 'failed') AND (
        heartbeat_at IS NOT NULL
        OR actual_duration IS NULL
        OR abs(EXTRACT(EPOCH FROM actual_duration - (completed_at - started_at))) > 0.001
        OR updated_at < completed_at
        OR scheduled_at > started_at
        OR worker_id !~ '^render-srv-proof-[0-9a-f]+$'
        OR (status = 'failed') <> (dead_letter_at IS NOT NULL)
        OR (status = 'failed' AND job_result IS NOT NULL)
        OR (status = 'completed' AND error_details IS NOT NULL)
    )
"""


class Workers:
    """Worker processes of one database, which can be killed."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = {
            **environment,
            "RENDER_SERVICE_ID": "srv-proof",
            "BACKSTAY_WORKER_ID": "render-${RENDER_SERVICE_ID}",
        }
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "backstay",
            "worker",
            "backstay_exora.jobs:app",
            "--concurrency",
            "4",
        ]
        guard = [sys.executable, "-m", "backstay_parts.servers.guard", *command]
        self._running.append(
            subprocess.Popen(
                guard,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
            )
        )

    def kill(self, number: int) -> None:
        """kill -9 of the worker and of everything it has started, without a word to anybody."""
        victim = self._running.pop(number % len(self._running))
        for process in (*psutil.Process(victim.pid).children(recursive=True), psutil.Process(victim.pid)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        victim.wait(120)
        assert victim.stdin is not None
        victim.stdin.close()

    def stop(self) -> None:
        for worker in self._running:
            assert worker.stdin is not None
            worker.stdin.close()
        for worker in self._running:
            worker.wait(60)


@pytest.fixture
def place(stage: Stage) -> dict[str, str]:
    """The environment of a database of its own, migrated."""
    name = f"proof_{token_hex(4)}"
    url = stage.url.replace("/exora", f"/{name}")
    environment = {**stage.environment, "BACKSTAY_URL": url, "BACKSTAY_TICK": "1s"}
    asyncio.run(_create(stage.url, name))
    migrate = [sys.executable, "-m", "backstay_exora", "migrate"]
    subprocess.run(migrate, env=environment, check=True, capture_output=True)
    return environment


async def _create(url: str, name: str) -> None:
    admin = await asyncpg.connect(url)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()


@contextlib.asynccontextmanager
async def _connected(environment: dict[str, str]) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(environment["BACKSTAY_URL"])
    await read_json(connection)
    try:
        yield connection
    finally:
        await connection.close()


async def _until(connection: Connection, sql: str, *, seconds: float) -> Any:
    async with asyncio.timeout(seconds):
        while not (found := await connection.fetchval(sql)):
            await asyncio.sleep(0.2)
    return found


@pytest.mark.prove
@pytest.mark.timeout(900)
async def test_five_hundred_jobs_under_three_workers_and_kills_have_columns_that_agree(
    place: dict[str, str],
) -> None:
    """EXO-018, EXO-019, EXO-020, EXO-022, EXO-025"""
    workers, chance = Workers(place), Random(20)
    async with _connected(place) as connection:
        for _ in range(3):
            workers.start()
        try:
            await _until(connection, "SELECT count(*) >= 11 FROM backstay.kinds", seconds=120)
            for number in range(JOBS):
                # Half of them can only fail: at once, or after all attempts.
                good = number % 2 == 0
                kind, payload = (
                    ("audit_cleanup", {"keep_days": 400 if good else 30})
                    if number % 4 < 2
                    else ("system_maintenance", {"task": "staged_files" if good else "explode"})
                )
                await connection.execute(
                    "SELECT exora.enqueue_job_v3($1, 'A name', $2, 'maintenance')", kind, payload
                )
            for share in (0.2, 0.4, 0.6, 0.8):
                await _until(
                    connection,
                    "SELECT count(*) >= " + str(int(JOBS * share)) + " FROM exora.job_queue"
                    " WHERE status IN ('completed', 'failed')",
                    seconds=200,
                )
                workers.kill(chance.randrange(3))
                workers.start()
            await _until(
                connection,
                "SELECT count(*) = 0 FROM exora.job_queue WHERE status NOT IN ('completed', 'failed')"
                " AND job_name = 'A name'",
                seconds=300,
            )
            counts = dict(
                await connection.fetch(
                    "SELECT status, count(*) FROM exora.job_queue WHERE job_name = 'A name' GROUP BY 1"
                )
            )
            assert counts == {"completed": JOBS // 2, "failed": JOBS // 2}
            assert await connection.fetchval(BROKEN) == 0
        finally:
            workers.stop()


@pytest.mark.prove
@pytest.mark.timeout(1800)
async def test_among_a_million_jobs_those_of_a_document_and_a_patient_are_found_by_an_index(
    place: dict[str, str],
) -> None:
    """EXO-026"""
    workers = Workers(place)
    workers.start()
    async with _connected(place) as connection:
        try:
            await _until(connection, "SELECT count(*) >= 11 FROM backstay.kinds", seconds=120)
        finally:
            workers.stop()
        await connection.execute("SET synchronous_commit = off")
        await _fill(connection)
        for column in ("shell_file_id", "patient_id"):
            value = await connection.fetchval(f"SELECT {column} FROM backstay.promoted_exora LIMIT 1")
            plan = await connection.fetch(
                f"EXPLAIN SELECT id FROM exora.job_queue WHERE {column} = $1 ORDER BY created_at", value
            )
            text = "\n".join(row[0] for row in plan)
            assert f"promoted_exora_{column}" in text
            assert "Seq Scan" not in text, text


async def _fill(connection: Connection) -> None:
    """A practice with 20,000 patients of five documents each, and ten jobs a document, in the engine's own tables."""
    await connection.execute("INSERT INTO exora.practices (id, name) VALUES ('p', 'P')")
    await connection.execute(
        "INSERT INTO exora.user_profiles (practice_id, given_names, family_name, date_of_birth)"
        " SELECT 'p', 'A', 'B' || n, '1970-01-01' FROM generate_series(1, 20000) AS n"
    )
    await connection.execute(
        "INSERT INTO exora.shell_files (id, practice_id, patient_id, filename, storage_path, mime, size_bytes,"
        " sha256, processing_session_id, uploaded_by) SELECT gen_random_uuid(), 'p', p.id, 'a.png', 'x',"
        " 'image/png', 1, p.id::text || n, p.id, 'r' FROM exora.user_profiles AS p, generate_series(1, 5) AS n"
    )
    await connection.execute("SET session_replication_role = replica")
    for _ in range(ROWS // 100_000):
        await connection.execute(
            "WITH made AS (INSERT INTO backstay.jobs (id, kind, queue, args, state, run_at, turn, priority, created_at,"
            " updated_at, finished_at, started_at, attempt, run, lease_epoch)"
            " SELECT gen_random_uuid(), 'ai_processing', 'ai_queue_simple', json_build_object('shell_file_id', s.id,"
            " 'patient_id', s.patient_id, 'job_lane', 'ai_queue_simple'), 'completed', now(), now(), 5, now(), now(),"
            " now(), now(), 1, 1, 2 FROM exora.shell_files AS s RETURNING id, args)"
            " INSERT INTO backstay.promoted_exora (job_id, shell_file_id, patient_id, job_lane)"
            " SELECT id, (args ->> 'shell_file_id')::uuid, (args ->> 'patient_id')::uuid, 'ai_queue_simple' FROM made"
        )
    await connection.execute("SET session_replication_role = DEFAULT")
    for table in ("backstay.jobs", "backstay.promoted_exora", "exora.shell_files"):
        await connection.execute(f"ANALYZE {table}")
    assert await connection.fetchval("SELECT count(*) FROM backstay.promoted_exora") == ROWS


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        (
            {"RENDER_SERVICE_ID": "srv-9", "BACKSTAY_WORKER_ID": "render-${RENDER_SERVICE_ID}"},
            "render-srv-9-",
        ),
        ({"BACKSTAY_WORKER_ID": "render-local-dev"}, "render-local-dev-"),
        ({"BACKSTAY_WORKER_ID": ""}, None),
        ({"RENDER_SERVICE_ID": "", "BACKSTAY_WORKER_ID": "render-${RENDER_SERVICE_ID:-local-dev}"}, None),
        ({"BACKSTAY_WORKER_ID": "render-${RENDER_SERVICE_ID}"}, None),
    ],
)
def test_a_workers_id_is_filled_in_or_the_worker_does_not_start(
    stage: Stage, given: dict[str, str], begins: str | None
) -> None:
    """EXO-018: set, missing and empty; two processes are two names."""
    environment = {
        name: value
        for name, value in {**os.environ, **stage.environment}.items()
        if name not in {"RENDER_SERVICE_ID", "BACKSTAY_WORKER_ID"}
    }
    program = "from backstay_exora.jobs import app; print(app.worker().id)"
    tries = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, **given},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        for _ in range(2 if begins else 1)
    ]
    names = [done.stdout.strip() for done in tries if done.returncode == 0]

    if not names:
        assert begins is None, tries[0].stderr
        assert "RENDER_SERVICE_ID" in tries[0].stderr
        return
    assert len(set(names)) == len(tries)
    for name in names:
        assert name.startswith(begins or "")
        assert not any(wrong in name for wrong in ("$", "{", "undefined", "None"))
