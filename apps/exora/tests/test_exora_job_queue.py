"""The table of the audit: columns, functions, lanes and rights in the database itself."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from test_exora_kinds import ALLOWED, MATRIX

from backstay import JobOptions
from backstay.errors import BackstayError, InvalidArguments
from backstay_exora.domain.kinds import JobType
from conftest import Practice

COLUMNS = {
    "id": "uuid",
    "job_type": "text",
    "job_lane": "text",
    "job_category": "text",
    "job_name": "text",
    "job_description": "text",
    "job_payload": "jsonb",
    "job_config": "jsonb",
    "status": "text",
    "scheduled_at": "timestamp with time zone",
    "started_at": "timestamp with time zone",
    "completed_at": "timestamp with time zone",
    "priority": "integer",
    "estimated_duration": "interval",
    "actual_duration": "interval",
    "memory_usage_mb": "integer",
    "cpu_usage_percent": "numeric(5,2)",
    "retry_count": "integer",
    "max_retries": "integer",
    "retry_delay": "interval",
    "last_error": "text",
    "error_details": "jsonb",
    "depends_on": "uuid[]",
    "blocks_jobs": "uuid[]",
    "job_group": "text",
    "worker_id": "text",
    "processing_node": "text",
    "lock_acquired_at": "timestamp with time zone",
    "lock_expires_at": "timestamp with time zone",
    "heartbeat_at": "timestamp with time zone",
    "dead_letter_at": "timestamp with time zone",
    "patient_id": "uuid",
    "shell_file_id": "uuid",
    "narrative_id": "uuid",
    "job_result": "jsonb",
    "output_files": "text[]",
    "created_at": "timestamp with time zone",
    "updated_at": "timestamp with time zone",
}
FAR = datetime(2030, 1, 1, tzinfo=UTC)


async def _enqueue(practice: Practice, job_type: str, payload: dict[str, Any], **options: Any) -> Any:
    names = {"category": "standard", "priority": 5, "at": FAR, "lane": None, **options}
    rows = await practice.rows(
        "SELECT * FROM exora.enqueue_job_v3($1, $2, $3::text::jsonb, $4, $5, $6, $7, $8::text::jsonb)",
        job_type,
        "A name",
        json.dumps(payload),
        names["category"],
        names["priority"],
        names["at"],
        names["lane"],
        json.dumps(names.get("config", {})),
    )
    return rows[0]


async def _document(practice: Practice) -> dict[str, str]:
    """The payload of a job about a document that is stored and not read."""
    document = uuid4()
    await practice.rows(
        "INSERT INTO exora.shell_files (id, practice_id, patient_id, filename, storage_path, mime, size_bytes, sha256,"
        " processing_session_id, uploaded_by) VALUES ($1, $2, $3, 'a.png', 'x', 'image/png', 1, $4, $1, 'r')",
        document,
        practice.name,
        practice.patients[0],
        document.hex,
    )
    return {
        "shell_file_id": str(document),
        "patient_id": str(practice.patients[0]),
        "processing_session_id": str(uuid4()),
        "correlation_id": "c-1",
    }


async def test_the_view_has_the_38_columns_with_their_types(practice: Practice) -> None:
    """EXO-006"""
    rows = await practice.rows(
        "SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute"
        " WHERE attrelid = 'exora.job_queue'::regclass AND attnum > 0 ORDER BY attnum"
    )

    assert {row["attname"]: row["type"] for row in rows} == COLUMNS
    assert len(COLUMNS) == 38


async def test_the_statuses_are_the_seven_words(practice: Practice) -> None:
    """EXO-007"""
    words = await practice.rows(
        "SELECT DISTINCT exora.status_word(state, attempt::smallint) AS word"
        " FROM unnest(ARRAY['available', 'scheduled', 'held', 'running', 'completed', 'dead', 'resolved', 'cancelled'])"
        " AS state, generate_series(0, 1) AS attempt"
    )

    assert {row["word"] for row in words} == {
        "pending",
        "processing",
        "completed",
        "failed",
        "cancelled",
        "retrying",
        "deferred",
    }


@pytest.mark.parametrize(("job_type", "lane"), MATRIX)
async def test_the_database_holds_the_matrix_of_types_and_lanes(
    practice: Practice, job_type: str, lane: str | None
) -> None:
    """EXO-002: by the engine's own insert path, around every check of ours."""
    payload: dict[str, Any] = {"job_lane": lane} if lane else {}
    arguments = {**_arguments(practice, job_type, (await _document(practice))["shell_file_id"]), **payload}
    insert = "SELECT backstay.enqueue($1, $2::text::jsonb, $3::text::jsonb)"
    options = {"delay_seconds": 10_000_000, **({"queue": lane} if lane else {})}

    if (job_type, lane) in ALLOWED:
        await practice.rows(insert, job_type, json.dumps(arguments), json.dumps(options))
    else:
        with pytest.raises(asyncpg.PostgresError) as caught:
            await practice.rows(insert, job_type, json.dumps(arguments), json.dumps(options))
        assert caught.value.sqlstate == "22023"


@pytest.mark.parametrize(("job_type", "lane"), MATRIX)
async def test_a_job_that_is_stored_from_python_takes_its_lanes_and_no_other(
    practice: Practice, job_type: str, lane: str | None
) -> None:
    """EXO-002"""
    from backstay_exora.app import app

    arguments = _arguments(practice, job_type, (await _document(practice))["shell_file_id"])
    options = JobOptions(run_at=FAR, queue=lane)
    named = {"job_lane": lane} if lane else {}

    if (job_type, lane) in ALLOWED:
        job = await app.jobs.enqueue_by_name(job_type, {**arguments, **named}, options)
        shown = await practice.value("SELECT job_lane FROM exora.job_queue WHERE id = $1", job.id)
        assert shown == lane
    else:
        with pytest.raises(BackstayError, match="lane"):
            await app.jobs.enqueue_by_name(job_type, {**arguments, **named}, options)


async def test_a_job_that_is_stored_from_python_takes_one_of_the_five_categories(practice: Practice) -> None:
    """EXO-003: the category of the audit's own sample is refused."""
    from backstay_exora.app import app

    named = {"job_category": "document_processing"}

    with pytest.raises(InvalidArguments, match="job_category"):
        await app.jobs.enqueue_by_name("audit_cleanup", named, JobOptions(run_at=FAR))


async def test_a_type_without_a_lane_does_not_wait_in_one(practice: Practice) -> None:
    """EXO-002: not by its queue, either."""
    for lane in ("fast_queue", "standard_queue", "ai_queue_simple", "ai_queue_complex"):
        with pytest.raises(asyncpg.PostgresError) as caught:
            await practice.rows(
                "SELECT backstay.enqueue('audit_cleanup', '{}'::jsonb, $1::text::jsonb)",
                json.dumps({"queue": lane, "delay_seconds": 10_000_000}),
            )
        assert caught.value.sqlstate == "22023"


def _arguments(practice: Practice, job_type: str, document: str) -> dict[str, Any]:
    patient, some = str(practice.patients[0]), str(uuid4())
    match job_type:
        case "notification_delivery":
            return {"notification_id": some, "recipient": "a@example.org", "subject": "s", "text": "t"}
        case "report_generation":
            return {"practice_id": practice.name, "patient_id": patient}
        case "consent_verification":
            return {"patient_id": patient, "purpose": "x"}
        case "provider_verification":
            return {"number": "8003610000000000"}
        case "semantic_processing":
            return {"shell_file_id": document}
        case "shell_file_processing" | "ai_processing":
            return {"shell_file_id": document, "patient_id": patient, "processing_session_id": some}
        case _:
            return {}


async def test_enqueue_promotes_what_is_in_the_payload(practice: Practice) -> None:
    """EXO-008, EXO-010"""
    payload = await _document(practice)

    job = await _enqueue(practice, "ai_processing", payload, priority=3)

    row = (await practice.rows("SELECT * FROM exora.job_queue WHERE id = $1", job["job_id"]))[0]
    assert str(row["patient_id"]) == payload["patient_id"]
    assert str(row["shell_file_id"]) == payload["shell_file_id"]
    assert (row["job_lane"], row["job_category"], row["priority"]) == ("ai_queue_simple", "standard", 3)
    assert (row["job_name"], row["job_group"], row["status"]) == ("A name", "c-1", "pending")
    assert abs(job["scheduled_at"] - FAR) < timedelta(seconds=1)


@pytest.mark.parametrize(
    ("job_type", "tokens", "lane"),
    [
        ("ai_processing", 8000, "ai_queue_simple"),
        ("ai_processing", 8001, "ai_queue_complex"),
        ("shell_file_processing", 9000, "standard_queue"),
    ],
)
async def test_a_missing_lane_is_chosen_by_the_size(
    practice: Practice, job_type: str, tokens: int, lane: str
) -> None:
    """EXO-004, EXO-010"""
    payload = {**await _document(practice), "estimated_tokens": tokens}

    job = await _enqueue(practice, job_type, payload)

    assert await practice.value("SELECT job_lane FROM exora.job_queue WHERE id = $1", job["job_id"]) == lane


async def test_the_category_of_every_type_is_shown(practice: Practice) -> None:
    """EXO-003"""
    job = await _enqueue(practice, "audit_cleanup", {"keep_days": 400}, category="maintenance")

    shown = await practice.value("SELECT job_category FROM exora.job_queue WHERE id = $1", job["job_id"])
    assert shown == "maintenance"


async def test_a_file_in_the_payload_is_staged_and_the_job_keeps_a_reference(practice: Practice) -> None:
    """EXO-008"""
    payload = await _document(practice)
    scan = b"\x89PNG" + b"x" * 60_000

    job = await _enqueue(
        practice,
        "shell_file_processing",
        {
            **payload,
            "raw_file": base64.b64encode(scan).decode(),
            "document_metadata": {"pages": 2},
            "ocr_spatial_data": [{"page": 1, "words": [["Dear", 10, 10, 60, 30, 0.96, 1]]}],
        },
    )

    kept = await practice.value("SELECT job_payload FROM exora.job_queue WHERE id = $1", job["job_id"])
    assert {"raw_file", "ocr_spatial_data"}.isdisjoint(kept)
    assert kept["document_metadata"] == {"pages": 2}
    words = await practice.value(
        "SELECT words FROM exora.ocr_words WHERE shell_file_id = $1::text::uuid", payload["shell_file_id"]
    )
    assert words[0][0] == "Dear"
    staged = await practice.value(
        "SELECT content FROM exora.staged_files WHERE shell_file_id = $1::text::uuid",
        payload["shell_file_id"],
    )
    assert staged == scan


@pytest.mark.parametrize(
    ("change", "options", "field"),
    [
        ({"patient_id": "not-a-uuid"}, {}, "patient_id"),
        ({"patient_id": "00000000-0000-0000-0000-000000000001"}, {}, "patient_id"),
        ({"shell_file_id": "00000000-0000-0000-0000-000000000001"}, {}, "shell_file_id"),
        ({}, {"category": "document_processing"}, "job_category"),
        ({}, {"lane": "fast_queue"}, "job_lane"),
        ({}, {"lane": "fast_queue"}, "LANE_INVALID"),
        ({}, {"priority": 11}, "priority"),
        ({}, {"config": {"tries": 3}}, "job_config"),
        ({}, {"config": {"max_retries": -1}}, "max_attempts"),
    ],
)
async def test_a_wrong_value_is_refused_with_its_field(
    practice: Practice, change: dict[str, Any], options: dict[str, Any], field: str
) -> None:
    """EXO-003, EXO-010"""
    payload = await _document(practice)

    with pytest.raises(asyncpg.PostgresError) as caught:
        await _enqueue(practice, "ai_processing", {**payload, **change}, **options)

    assert field in f"{caught.value} {getattr(caught.value, 'detail', '')}"


async def test_an_empty_payload_and_an_unknown_type_are_refused(practice: Practice) -> None:
    """EXO-001, EXO-010"""
    with pytest.raises(asyncpg.PostgresError, match="must not be empty"):
        await _enqueue(practice, "audit_cleanup", {})
    with pytest.raises(asyncpg.PostgresError, match="eleven types") as caught:
        await _enqueue(practice, "image_resizing", {"a": 1})
    assert caught.value.as_dict()["detail"] == "TYPE_INVALID"


async def test_each_type_has_a_handler(practice: Practice) -> None:
    """EXO-001: what the running worker has declared is what there is."""
    declared = await practice.rows("SELECT kind FROM backstay.kinds")

    assert {row["kind"] for row in declared} == {kind.value for kind in JobType}


@pytest.mark.parametrize("role", ["authenticated", "anon"])
@pytest.mark.parametrize(
    "relation", ["exora.job_queue", "exora.patient_medications", "backstay.jobs", "backstay.promoted_exora"]
)
async def test_only_the_service_sees_jobs_and_facts(practice: Practice, role: str, relation: str) -> None:
    """EXO-017"""
    connection = await asyncpg.connect(practice.stage.url)
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL ROLE {role}")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT * FROM {relation} LIMIT 1")
    finally:
        await connection.close()


async def _as_role(practice: Practice, role: str, *statements: str) -> list[Any]:
    connection = await asyncpg.connect(practice.stage.url)
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL ROLE {role}")
            for statement in statements[:-1]:
                await connection.execute(statement)
            return list(await connection.fetch(statements[-1]))
    finally:
        await connection.close()


async def test_a_practices_people_see_their_documents_and_no_others(practice: Practice) -> None:
    """EXO-017"""
    document = await _document(practice)
    mine = f"SET LOCAL exora.practice = '{practice.name}'"
    listed = "SELECT id FROM exora.shell_files"

    own = await _as_role(practice, "authenticated", mine, listed)
    nobodys = await _as_role(practice, "authenticated", listed)
    others = await _as_role(practice, "authenticated", "SET LOCAL exora.practice = 'another'", listed)

    assert [str(row["id"]) for row in own] == [document["shell_file_id"]]
    assert (nobodys, others) == ([], [])
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await _as_role(practice, "authenticated", mine, "SELECT sha256 FROM exora.shell_files")


async def test_rows_stay_closed_where_a_grant_was_given_by_mistake(practice: Practice) -> None:
    """EXO-017"""
    await practice.send_clean(seed=203)
    connection = await asyncpg.connect(practice.stage.url)
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'exora'")
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute("GRANT USAGE ON SCHEMA exora TO anon")
        await connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA exora TO anon")
        await connection.execute("REVOKE SELECT ON exora.job_queue FROM anon")
        await connection.execute("SET LOCAL ROLE anon")
        for row in tables:
            assert await connection.fetch(f"SELECT * FROM exora.{row['tablename']}") == [], row["tablename"]
        await connection.execute("RESET ROLE")
        await connection.execute("SET LOCAL ROLE service_role")
        assert await connection.fetch("SELECT id FROM exora.shell_files LIMIT 1")
    finally:
        await transaction.rollback()
        await connection.close()


async def test_the_service_role_reads_the_view(practice: Practice) -> None:
    """EXO-017"""
    connection = await asyncpg.connect(practice.stage.url)
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE service_role")
            assert await connection.fetch("SELECT id FROM exora.job_queue LIMIT 1") is not None
    finally:
        await connection.close()


async def test_worker_ids_are_filled_in(practice: Practice) -> None:
    """EXO-018: the worker of this run was started with the literal of the audit in its environment."""
    await practice.status((await practice.send_clean(seed=201))[0])

    rows = await practice.rows("SELECT DISTINCT worker_id FROM exora.job_queue WHERE worker_id IS NOT NULL")

    assert all(row["worker_id"].startswith("render-srv-test-") for row in rows)
    assert rows


async def test_finished_jobs_have_consistent_columns(practice: Practice) -> None:
    """EXO-019, EXO-020, EXO-022"""
    await practice.status((await practice.send_clean(seed=202))[0])

    broken = await practice.value(
        "SELECT count(*) FROM exora.job_queue WHERE status IN ('completed', 'failed') AND (heartbeat_at IS NOT NULL"
        " OR actual_duration IS NULL OR updated_at < completed_at OR started_at > completed_at"
        " OR abs(EXTRACT(EPOCH FROM actual_duration - (completed_at - started_at))) > 0.001)"
    )

    assert broken == 0


async def test_jobs_of_a_document_are_found_through_an_index(practice: Practice) -> None:
    """EXO-026"""
    payload = await _document(practice)
    connection = await asyncpg.connect(practice.stage.url)
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL enable_seqscan = off")
            plan = await connection.fetch(
                "EXPLAIN SELECT id FROM exora.job_queue WHERE shell_file_id = $1::text::uuid ORDER BY created_at",
                payload["shell_file_id"],
            )
    finally:
        await connection.close()

    assert "promoted_exora_shell_file_id" in "\n".join(row[0] for row in plan)


async def test_a_job_can_be_pushed_back(practice: Practice) -> None:
    """EXO-016"""
    from backstay_exora.app import app

    job = await _enqueue(practice, "audit_cleanup", {"keep_days": 400})

    await app.jobs.reschedule(job["job_id"], run_at=FAR + timedelta(days=1))

    pushed = await practice.value("SELECT scheduled_at FROM exora.job_queue WHERE id = $1", job["job_id"])
    assert pushed == FAR + timedelta(days=1)


async def test_a_job_can_bring_its_own_numbers(practice: Practice) -> None:
    """EXO-015, EXO-037"""
    config = {"max_retries": 1, "retry_delay_seconds": 7, "timeout_seconds": 30}

    job = await _enqueue(practice, "audit_cleanup", {"keep_days": 400}, config=config)
    usual = await _enqueue(practice, "audit_cleanup", {"keep_days": 400})

    numbers = "SELECT max_retries, retry_delay, job_config FROM exora.job_queue WHERE id = $1"
    own = (await practice.rows(numbers, job["job_id"]))[0]
    assert (own["max_retries"], own["retry_delay"]) == (1, timedelta(seconds=7))
    assert own["job_config"] == config
    default = (await practice.rows(numbers, usual["job_id"]))[0]
    assert (default["max_retries"], default["retry_delay"]) == (3, timedelta(milliseconds=300))
    assert default["job_config"] == {}
