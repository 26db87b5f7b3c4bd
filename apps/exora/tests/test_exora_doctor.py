"""The doctor names each finding of the audit as held or broken, on a live system."""

import os
import subprocess
import sys
from collections import Counter

import asyncpg
import pytest

from conftest import Practice, Stage

NOBODY = "00000000-0000-0000-0000-000000000009"
BREAK = {
    1: "UPDATE backstay.jobs SET worker = 'render-${RENDER_SERVICE_ID}', settled_by = 'render-${RENDER_SERVICE_ID}'",
    2: "UPDATE backstay.jobs SET heartbeat_at = now()",
    3: "UPDATE backstay.jobs SET finished_at = NULL WHERE state = 'completed'",
    4: "UPDATE backstay.promoted_exora SET patient_id = NULL",
    5: "UPDATE backstay.promoted_exora SET shell_file_id = NULL",
    7: "UPDATE backstay.jobs SET result = 'null'::json WHERE state = 'completed'",
    8: "DO $$ BEGIN EXECUTE 'CREATE OR REPLACE VIEW exora.job_queue AS ' || replace("
    "pg_get_viewdef('exora.job_queue'), 'NULL::timestamp with time zone AS lock_acquired_at',"
    " 'now() AS lock_acquired_at'); END $$",
    9: "UPDATE backstay.jobs SET priority = 0",
    10: "UPDATE backstay.jobs SET finished_at = now(), updated_at = now() - interval '30 seconds'",
    11: "UPDATE exora.shell_files SET status = 'needs_review'",
    12: "UPDATE exora.audit_log SET actor = 'somebody else'",
    6: "UPDATE backstay.jobs SET state = 'dead', reason = 'x', result = NULL",
}


def _doctor(url: str, stage: Stage) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "backstay_exora", "doctor"]
    environment = {**stage.environment, "BACKSTAY_URL": url}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


async def test_the_doctor_finds_each_planted_violation(practice: Practice, stage: Stage) -> None:
    """EXO-039"""
    from backstay_exora.doctor import examine

    document, _ = await practice.send_clean(seed=601)
    await practice.status(document)
    await practice.wait_for(
        "SELECT 1 WHERE NOT EXISTS (SELECT FROM exora.job_queue WHERE status IN ('processing', 'retrying'))"
    )
    healthy = _doctor(stage.url, stage)
    assert healthy.returncode == 0, healthy.stdout
    assert healthy.stdout.count("held") == 12
    for report in ("promoted columns", "retry patterns", "worker ids", "timestamps"):
        assert report in healthy.stdout

    url = _copy(stage.url, f"doctor-{os.getpid()}")
    connection = await asyncpg.connect(url)
    try:
        # Without the engine's own rules, which would not let any of it happen.
        await connection.execute("ALTER TABLE backstay.jobs DROP CONSTRAINT IF EXISTS fields_fit_state")
        await connection.execute("SET session_replication_role = replica")
        for number, statement in BREAK.items():
            before = {item.number: item.is_held for item in await examine(url)}
            await connection.execute(statement)
            after = {item.number: item.is_held for item in await examine(url)}
            assert (before[number], after[number]) == (True, False), number
        broken = _doctor(url, stage)
        assert broken.returncode == 1
        found = [item.number for item in await examine(url) if not item.is_held]
        assert [f"{number:>2} BROKEN" in broken.stdout for number in found] == [True] * len(found)
    finally:
        await connection.close()


async def test_the_four_reports_say_what_became_of_each_job(practice: Practice, stage: Stage) -> None:
    """EXO-039"""
    from backstay_exora.doctor import verification

    practice.stage.model.fail([{"refusal": "no"}])
    refused, _ = await practice.send_clean(seed=602)
    await practice.status(refused)
    document, _ = await practice.send_clean(seed=603)
    await practice.status(document)
    # A copy, in which nothing moves on.
    url = _copy(stage.url, f"reports-{os.getpid()}")
    connection = await asyncpg.connect(url)
    jobs = await connection.fetch("SELECT * FROM exora.job_queue ORDER BY created_at DESC")
    await connection.close()

    reports = await verification(url)

    promoted = reports["promoted columns"]
    assert len(promoted) == 5
    assert all(row["patient_id"] == row["payload_patient_id"] is not None for row in promoted)
    assert all(row["shell_file_id"] == row["payload_shell_file_id"] is not None for row in promoted)
    names = ("status", "retry_count", "max_retries", "is_dead_lettered")
    patterns = {tuple(row[name] for name in names): row["job_count"] for row in reports["retry patterns"]}
    assert patterns == Counter(
        (job["status"], job["retry_count"], job["max_retries"], job["dead_letter_at"] is not None)
        for job in jobs
    )
    assert patterns["failed", 0, 3, True] >= 1
    workers = {row["worker_id"]: row["job_count"] for row in reports["worker ids"]}
    assert workers == Counter(job["worker_id"] for job in jobs if job["worker_id"] is not None)
    ended = [job for job in jobs if job["status"] in {"completed", "failed"}][:10]
    assert {row["id"]: row["processing_seconds"] for row in reports["timestamps"]} == {
        str(job["id"]): pytest.approx((job["completed_at"] - job["started_at"]).total_seconds())
        for job in ended
    }


def _copy(source: str, name: str) -> str:
    """The address of a new database with everything that is in this one."""
    target = source.rsplit("/", 1)[0] + f"/{name}"
    subprocess.run(["psql", "-q", source, "-c", f'CREATE DATABASE "{name}"'], check=True, capture_output=True)
    dump = subprocess.run(["pg_dump", source], check=True, capture_output=True).stdout
    subprocess.run(["psql", "-q", target], input=dump, check=True, capture_output=True)
    return target


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        (["upload", "nothing.txt", "--patient", NOBODY, "--practice", "p"], 2, "nothing.txt"),
        (["facts", "x", "--practice", "p"], 2, "x"),
        (["facts", NOBODY, "--practice", "p"], 1, "no such patient"),
        (["document", NOBODY, "--practice", "p"], 1, "no such document"),
        (["export", NOBODY, "--practice", "p"], 1, "no such patient"),
        (["decide", NOBODY, "approve", "--practice", "p", "--reason", "x"], 1, "no such review"),
        (["undo", NOBODY, "--practice", "p", "--reason", "x"], 1, "no such review"),
        (["retract", NOBODY, "--practice", "p", "--reason", "x"], 1, "no such document"),
        (["patients", "add", "A", "B", "1.2.1970", "--practice", "p"], 2, "1.2.1970"),
        (["patients", "add", "A", "B", "1970-02-01", "--practice", "nowhere"], 1, "practices add"),
        (["users", "add", "a", "a long password", "--practice", "p", "--role", "king"], 2, "king"),
    ],
)
def test_a_wrong_call_is_a_sentence_and_not_a_traceback(
    stage: Stage,
    command: list[str],
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """EXO-036"""
    from backstay_exora.cli import main

    monkeypatch.setattr(sys, "argv", ["backstay-exora", *command])

    with pytest.raises(SystemExit) as ended:
        main()

    told = capsys.readouterr()
    assert ended.value.code == code
    assert says in told.err + told.out


def test_a_missing_setting_is_named() -> None:
    """EXO-018"""
    environment = {name: value for name, value in os.environ.items() if name != "BACKSTAY_URL"}
    done = subprocess.run(
        [sys.executable, "-m", "backstay_exora", "doctor"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "BACKSTAY_URL is not set" in done.stderr
