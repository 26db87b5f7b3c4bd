"""A program that works jobs through the audit's functions, in a database where nobody else takes them."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from secrets import token_hex
from typing import Any

import asyncpg
import pytest

from backstay_exora.domain.failures import RULES
from backstay_exora.store.connections import Connection, read_json
from conftest import Stage

# What is not taken again after this long is given up; the engine waits as long after the start of a database.
QUICK = {"BACKSTAY_LEASE": "2s", "BACKSTAY_RENEW_EVERY": "500ms", "BACKSTAY_TICK": "500ms"}
# Types that no schedule enqueues, one for each test: the tests share the database.
PAYLOADS: dict[str, dict[str, object]] = {
    "data_migration": {"batch_size": 100},
    "report_generation": {"practice_id": "p", "patient_id": "PATIENT"},
    "provider_verification": {"number": "8003610000000000"},
    "consent_verification": {"patient_id": "PATIENT", "purpose": "sharing"},
    "notification_delivery": {
        "notification_id": "00000000-0000-0000-0000-000000000001",
        "recipient": "a@example.org",
        "subject": "s",
        "text": "t",
    },
}


@pytest.fixture(scope="module")
def aside(stage: Stage) -> Iterator[str]:
    """A database of its own; its worker takes no jobs, decides what follows failures and takes back what was left."""
    name = f"sql_{token_hex(4)}"
    url = stage.url.replace("/exora", f"/{name}")
    environment = {**stage.environment, **QUICK, "BACKSTAY_URL": url}
    asyncio.run(_create(stage.url, name))
    migrate = [sys.executable, "-m", "backstay_exora", "migrate"]
    subprocess.run(migrate, env=environment, check=True, capture_output=True)
    command = [sys.executable, "-m", "backstay", "worker", "backstay_exora.jobs:app", "--queues", "nothing"]
    guard = [sys.executable, "-m", "backstay_parts.servers.guard", *command]
    with stage.log.open("ab") as log:
        worker = subprocess.Popen(guard, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment)
    try:
        yield url
    finally:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait(60)


async def _create(url: str, name: str) -> None:
    admin = await asyncpg.connect(url)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()


@pytest.fixture
async def database(aside: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(aside)
    await read_json(connection)
    try:
        await _until(connection, "SELECT count(*) >= 11 FROM backstay.kinds")
        yield connection
    finally:
        await connection.close()


async def _until(connection: Connection, sql: str, *values: object) -> None:
    async with asyncio.timeout(60):
        while not await connection.fetchval(sql, *values):
            await asyncio.sleep(0.05)


async def _patient(connection: Connection) -> str:
    await connection.execute(
        "INSERT INTO exora.practices (id, name) VALUES ('p', 'P') ON CONFLICT DO NOTHING"
    )
    found = await connection.fetchval(
        "INSERT INTO exora.user_profiles (practice_id, given_names, family_name, date_of_birth)"
        " VALUES ('p', 'A', 'B', '1970-01-01') RETURNING id"
    )
    return str(found)


async def _enqueue(
    connection: Connection, job_type: str, *, priority: int = 5, later: str = "0 s", **config: object
) -> Any:
    payload = dict(PAYLOADS[job_type])
    if "patient_id" in payload:
        payload["patient_id"] = await _patient(connection)
    return await connection.fetchval(
        "SELECT job_id FROM exora.enqueue_job_v3($1, 'A name', $2, 'standard', $3, now() + $4::text::interval,"
        " NULL, $5)",
        job_type,
        payload,
        priority,
        later,
        config,
    )


async def _claim(connection: Connection, job_type: str, worker: str = "render-a") -> Any:
    return await connection.fetchrow("SELECT * FROM exora.claim_next_job_v3($1, $2)", worker, [job_type])


async def _claim_when_due(connection: Connection, job_type: str, worker: str = "render-a") -> Any:
    async with asyncio.timeout(60):
        while (claimed := await _claim(connection, job_type, worker)) is None:
            await asyncio.sleep(0.05)
    return claimed


async def _job(connection: Connection, job: Any) -> Any:
    return await connection.fetchrow("SELECT * FROM exora.job_queue WHERE id = $1", job)


async def _decided(connection: Connection, job: Any) -> Any:
    """The row as soon as the engine has decided what follows."""
    await _until(connection, "SELECT status <> 'processing' FROM exora.job_queue WHERE id = $1", job)
    return await _job(connection, job)


async def _fail(connection: Connection, job: Any, *, worker: str = "render-a", **told: Any) -> Any:
    return await connection.fetchval(
        "SELECT exora.fail_job($1, $2, $3, $4, $5, $6::text::interval)",
        job,
        worker,
        told.get("message", "it went wrong"),
        told.get("code"),
        told.get("details"),
        told.get("retry_in"),
    )


async def test_each_job_goes_to_one_worker_and_the_first_priority_goes_first(database: Connection) -> None:
    """EXO-011, EXO-005"""
    usual = await _enqueue(database, "data_migration")
    urgent = await _enqueue(database, "data_migration", priority=1)
    await _enqueue(database, "data_migration", later="1 day")

    first = await _claim(database, "data_migration", "render-a")
    second = await _claim(database, "data_migration", "render-b")

    assert (first["job_id"], second["job_id"]) == (urgent, usual)
    assert (first["job_payload"]["batch_size"], first["retry_count"]) == (100, 0)
    assert await _claim(database, "data_migration") is None
    held = await _job(database, urgent)
    assert (held["status"], held["worker_id"], held["lock_acquired_at"]) == ("processing", "render-a", None)


@pytest.mark.parametrize("worker", ["", "undefined", "None", "render-${RENDER_SERVICE_ID}"])
async def test_a_worker_without_a_name_gets_nothing(database: Connection, worker: str) -> None:
    """EXO-011, EXO-018"""
    with pytest.raises(asyncpg.InvalidParameterValueError, match="p_worker_id"):
        await _claim(database, "data_migration", worker)


async def test_only_the_holder_beats_and_completes_and_nobody_beats_afterwards(database: Connection) -> None:
    """EXO-012, EXO-013, EXO-019, EXO-020"""
    job = await _enqueue(database, "provider_verification")
    await _claim(database, "provider_verification")
    beat = "SELECT exora.update_job_heartbeat($1, $2)"
    complete = "SELECT exora.complete_job($1, $2, '{\"verified\": true}')"
    claimed = (await _job(database, job))["heartbeat_at"]

    assert await database.fetchval(beat, job, "render-a") is True
    renewed = (await _job(database, job))["heartbeat_at"]
    assert renewed > claimed
    assert await database.fetchval(beat, job, "render-b") is False
    assert (await _job(database, job))["heartbeat_at"] == renewed
    assert await database.fetchval(complete, job, "render-b") is False
    assert await database.fetchval(complete, job, "render-a") is True

    assert await database.fetchval(beat, job, "render-a") is False
    row = await _job(database, job)
    assert (row["status"], row["job_result"], row["heartbeat_at"]) == ("completed", {"verified": True}, None)
    assert row["actual_duration"] == row["completed_at"] - row["started_at"]


async def test_a_failure_is_tried_again_by_the_rule_and_ends_in_the_dead_letters(
    database: Connection,
) -> None:
    """EXO-014, EXO-020, EXO-023, EXO-025"""
    job = await _enqueue(database, "report_generation", max_retries=1, retry_delay_seconds=0.2)
    await _claim(database, "report_generation")

    assert await _fail(database, job, worker="render-b") is False
    assert await _fail(database, job, code="AI_EMPTY", message="nothing came back") is True

    again = await _decided(database, job)
    assert (again["retry_count"], again["dead_letter_at"], again["heartbeat_at"]) == (1, None, None)
    assert (await _claim_when_due(database, "report_generation"))["retry_count"] == 1
    assert await _fail(database, job, code="AI_EMPTY", message="nothing again") is True
    row = await _decided(database, job)
    assert (row["status"], row["retry_count"], row["max_retries"]) == ("failed", 1, 1)
    assert row["dead_letter_at"] is not None
    assert (row["heartbeat_at"], row["job_result"]) == (None, None)
    assert row["actual_duration"] == row["completed_at"] - row["started_at"]
    assert row["updated_at"] >= row["completed_at"]
    told = row["error_details"]
    assert (told["code"], told["error_message"], told["worker_id"]) == (
        "AI_EMPTY",
        "nothing again",
        "render-a",
    )
    assert told["dead_letter_reason"] == "exhausted"
    assert await _fail(database, job) is False


async def test_a_job_that_waits_for_its_retry_says_so_wherever_it_waits(database: Connection) -> None:
    """EXO-014: also once its time has come and nobody has taken it yet."""
    job = await _enqueue(database, "report_generation", retry_delay_seconds=3600)
    await _claim(database, "report_generation")
    await _fail(database, job)
    waiting = await _decided(database, job)

    await database.execute(
        "UPDATE backstay.jobs SET state = 'available', run_at = now(), turn = now() WHERE id = $1", job
    )
    due = await _job(database, job)
    taken = await _claim(database, "report_generation")
    running = await _job(database, job)
    await database.fetchval("SELECT exora.complete_job($1, 'render-a')", job)

    assert [row["retry_count"] for row in (waiting, due, running)] == [1, 1, 1]
    assert (waiting["status"], due["status"], taken["retry_count"]) == ("retrying", "pending", 1)


async def test_the_service_role_works_jobs_through_the_functions_and_touches_no_table_of_the_engine(
    database: Connection, aside: str
) -> None:
    """EXO-010, EXO-011, EXO-012, EXO-013, EXO-014, EXO-016, EXO-017"""
    service = await asyncpg.connect(aside)
    try:
        await read_json(service)
        await service.execute("SET ROLE service_role")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute("SELECT 1 FROM backstay.jobs")
        config: dict[str, object] = {"max_retries": 0}
        enqueue = (
            "SELECT job_id FROM exora.enqueue_job_v3('data_migration', 'n', '{\"batch_size\": 7}', priority => 1,"
            " p_job_config => $1)"
        )
        done, failed = await service.fetchval(enqueue, config), await service.fetchval(enqueue, config)
        claimed = [(await _claim(service, "data_migration", "render-s"))["job_id"] for _ in range(2)]

        assert sorted(claimed) == sorted([done, failed])
        assert await service.fetchval("SELECT exora.update_job_heartbeat($1, 'render-s')", done) is True
        assert await service.fetchval("SELECT exora.reschedule_job($1, 0, 'busy', false)", done) is True
        again = await _claim_when_due(service, "data_migration", "render-s")
        assert again["job_id"] == done
        assert await service.fetchval("SELECT exora.complete_job($1, 'render-s')", done) is True
        assert await _fail(service, failed, worker="render-s") is True
    finally:
        await service.close()
    assert (await _decided(database, failed))["status"] == "failed"


@pytest.mark.parametrize("role", ["authenticated", "anon"])
async def test_nobody_but_the_service_calls_the_functions(aside: str, role: str) -> None:
    """EXO-017"""
    connection = await asyncpg.connect(aside)
    try:
        await connection.execute(f"SET ROLE {role}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT * FROM exora.claim_next_job_v3('render-a')")
    finally:
        await connection.close()


async def test_a_hopeless_code_is_not_tried_again_and_an_unknown_one_is_refused(database: Connection) -> None:
    """EXO-014, EXO-036"""
    job = await _enqueue(database, "report_generation")
    await _claim(database, "report_generation")

    with pytest.raises(asyncpg.InvalidParameterValueError, match="AI_TIRED"):
        await _fail(database, job, code="AI_TIRED")
    with pytest.raises(asyncpg.InvalidParameterValueError, match="p_error_message"):
        await _fail(database, job, message="")
    assert await _fail(database, job, code="FILE_MISSING") is True

    row = await _decided(database, job)
    assert (row["status"], row["retry_count"], row["error_details"]["code"]) == ("failed", 0, "FILE_MISSING")


async def test_the_database_knows_the_codes_of_the_table(database: Connection) -> None:
    """EXO-036"""
    for code, rule in RULES.items():
        known = await database.fetchval("SELECT exora.error_class_of($1)", code)
        assert known == ("exora_passing" if rule.is_retried else "exora_final"), code


@pytest.mark.parametrize(
    "message", ["x. Details: {", 'x. Details: {"a": }', "x. Details: {}", "Details: {}}"]
)
async def test_no_message_spoils_the_view(database: Connection, message: str) -> None:
    """EXO-014"""
    error = {"message": message, "type": "Error", "error_class": "unknown"}

    told = await database.fetchval(
        "SELECT exora.error_details($1::text::json, now(), 'render-a', NULL)", json.dumps(error)
    )

    assert told["error_message"] == message


async def test_a_job_that_is_worked_on_can_be_put_off(database: Connection) -> None:
    """EXO-016"""
    job = await _enqueue(database, "consent_verification")
    put_off = "SELECT exora.reschedule_job($1, $2, $3, $4)"
    assert await database.fetchval(put_off, job, 60, "nobody holds it", False) is False
    await _claim(database, "consent_verification")
    with pytest.raises(asyncpg.InvalidParameterValueError, match="p_reason"):
        await database.fetchval(put_off, job, 60, "", False)
    with pytest.raises(asyncpg.InvalidParameterValueError, match="p_delay_seconds"):
        await database.fetchval(put_off, job, -1, "x", False)

    assert await database.fetchval(put_off, job, 600, "the provider is busy", True) is True

    row = await _decided(database, job)
    waits = (row["scheduled_at"] - row["updated_at"]).total_seconds()
    assert (row["status"], row["retry_count"], row["heartbeat_at"]) == ("pending", 0, None)
    assert 599 < waits < 721
    noted = await database.fetchrow(
        "SELECT actor, action, reason FROM exora.audit_log WHERE subject = $1::uuid::text", job
    )
    assert tuple(noted) == ("render-a", "job.rescheduled", "the provider is busy")


async def test_what_nobody_beats_for_is_taken_back_and_given_up_in_the_end(database: Connection) -> None:
    """EXO-011, EXO-036: HEARTBEAT_LOST"""
    job = await _enqueue(database, "notification_delivery")
    await _claim(database, "notification_delivery")
    complete = "SELECT exora.complete_job($1, 'render-a')"

    taken_back = await _claim_when_due(database, "notification_delivery", "render-b")

    assert (taken_back["job_id"], taken_back["retry_count"]) == (job, 1)
    assert await database.fetchval(complete, job) is False
    lost = 1
    while (await _decided(database, job))["status"] != "failed":
        assert (await _claim_when_due(database, "notification_delivery", f"render-{lost}"))["job_id"] == job
        lost += 1
        assert lost < 8, "it must end"
    row = await _job(database, job)
    assert (row["error_details"]["code"], row["heartbeat_at"]) == ("HEARTBEAT_LOST", None)
    assert row["dead_letter_at"] is not None
    assert await _claim(database, "notification_delivery") is None
