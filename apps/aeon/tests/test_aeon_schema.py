"""The document's tables and functions by plain SQL, as the role of applications."""

from __future__ import annotations

import asyncio
import subprocess
from datetime import UTC, datetime, timedelta
from importlib import resources
from uuid import UUID, uuid4

import asyncpg
import pytest
from aeon_world import World

from backstay.testing import PrivatePostgres
from backstay_aeon.actions import check, submit
from backstay_aeon.domain.equivalents import EQUIVALENTS
from backstay_aeon.jobs import build
from backstay_aeon.settings import Settings
from backstay_aeon.store.database import FIVE, SCRIPT

SCRIPT_FILE = resources.files("backstay_aeon.store") / "scripts" / SCRIPT
REPORT = {"report": "job_summary", "format": "csv"}


async def as_app(url: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(url)
    await connection.execute("SET ROLE aeon_app")
    return connection


NINE = (
    "users",
    "teams",
    "team_members",
    "roles",
    "user_roles",
    "subscriptions",
    "invitations",
    "audit_logs",
    "api_keys",
)
OF_THE_PRODUCT = """
CREATE TABLE users (id uuid PRIMARY KEY, email text UNIQUE, avatar bytea);
CREATE TABLE teams (id uuid PRIMARY KEY, name text, plan text, created_at timestamptz DEFAULT now());
CREATE TABLE team_members (
    team_id uuid REFERENCES teams, user_id uuid REFERENCES users, PRIMARY KEY (team_id, user_id)
);
CREATE TABLE roles (id int PRIMARY KEY, title text);
CREATE TABLE user_roles (user_id uuid, role_id int);
CREATE TABLE subscriptions (id int PRIMARY KEY, euros numeric);
CREATE TABLE invitations (id int PRIMARY KEY, code text);
CREATE TABLE audit_logs (id bigint PRIMARY KEY, what jsonb);
CREATE TABLE api_keys (id int PRIMARY KEY, secret text);
"""


def run_by_psql(url: str) -> str:
    """What the script prints when psql runs it, as an administrator would."""
    command = ["psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", "-f", str(SCRIPT_FILE), url]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def schema_of(url: str) -> list[str]:
    dump = subprocess.run(
        ["pg_dump", "--schema-only", url], check=True, capture_output=True, text=True
    ).stdout
    # Newer versions write a random word into each dump.
    return [line for line in dump.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]


@pytest.mark.parametrize("before", ["", OF_THE_PRODUCT], ids=["empty", "nine tables"])
async def test_the_migration_run_again_and_twice_at_once_changes_nothing(
    server: PrivatePostgres, before: str
) -> None:
    """AEO-004, AEO-003, AEO-002: three times, two of them together: the same schema, the closing row, five views."""
    name = "again_beside" if before else "again_empty"
    server.create_database(name)
    url = server.url(name)
    connection = await asyncpg.connect(url)
    await connection.execute(before or "SELECT 1")
    own = build(Settings(url, storage="folder:/tmp/aeon-tests"))
    await own.migrate()
    await own.close()
    once = await asyncio.to_thread(schema_of, url)

    told = await asyncio.to_thread(run_by_psql, url)
    await asyncio.gather(*(asyncio.to_thread(run_by_psql, url) for _ in range(2)))

    assert await asyncio.to_thread(schema_of, url) == once
    closing = told[told.index("Migration") :].splitlines()
    assert closing[0] == "Migration 001_gap006_job_tables completed successfully"
    assert closing[1:] == [f"{one}|view" for one in sorted(FIVE)]
    found = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert {row["tablename"] for row in found} == set(NINE)
    await connection.close()


async def test_it_works_beside_tables_that_exist(server: PrivatePostgres) -> None:
    """AEO-002, AEO-001: tables of the product with other columns are left alone, and jobs are made beside them."""
    server.create_database("beside")
    connection = await asyncpg.connect(server.url("beside"))
    await connection.execute(OF_THE_PRODUCT)
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    before = {tuple(row) for row in await connection.fetch(columns) if row["table_name"] in NINE}
    own = build(Settings(server.url("beside"), storage="folder:/tmp/aeon-tests", handlers=("aeon_waiting",)))
    await own.migrate()
    after = {tuple(row) for row in await connection.fetch(columns) if row["table_name"] in NINE}
    assert after == before
    team = uuid4()
    await connection.execute("INSERT INTO teams (id, name) VALUES ($1, 'Nord')", team)
    made = await submit.create(own, team, None, {"job_type": "quick"})
    assert made["is_new"]
    await own.close()
    await connection.close()


async def test_a_row_becomes_a_job_and_defaults_are_no_wishes(world: World, url: str) -> None:
    """AEO-003, AEO-018: INSERT as aeon_app; what was left out is not stored as a number of the job."""
    connection = await as_app(url)
    row = await connection.fetchrow(
        "INSERT INTO jobs (job_type, payload, team_id, created_by, priority) VALUES ($1, $2, $3, $4, 9) RETURNING *",
        "report_gen",
        '{"report": "job_summary", "format": "csv"}',
        world.team,
        world.user,
    )
    assert (row["status"], row["priority"], row["max_retries"], row["created_by"]) == (
        "pending",
        9,
        3,
        world.user,
    )
    job = await world.services.app.jobs.get(row["id"])
    assert (job.queue, job.policy) == ("reports.urgent", {})
    await connection.close()


async def test_plain_sql_cancels_pauses_and_refuses(world: World, url: str) -> None:
    """AEO-010: status and priority can be changed, everything else is refused with a sentence."""
    made = await submit.create(
        world.services, world.team, world.user, {"job_type": "report_gen", "payload": REPORT}
    )
    connection = await as_app(url)
    one = made["job_id"]
    await connection.execute("UPDATE jobs SET status = 'paused' WHERE id = $1", one)
    assert await connection.fetchval("SELECT status FROM jobs WHERE id = $1", one) == "paused"
    await connection.execute("UPDATE jobs SET status = 'pending', priority = 2 WHERE id = $1", one)
    await connection.execute("UPDATE jobs SET status = 'cancelled' WHERE id = $1", one)
    assert await connection.fetchval("SELECT status FROM jobs WHERE id = $1", one) == "cancelled"
    with pytest.raises(asyncpg.PostgresError, match="cannot be set"):
        await connection.execute("UPDATE jobs SET status = 'pending' WHERE id = $1", one)
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="new job"):
        await connection.execute("UPDATE jobs SET payload = '{}' WHERE id = $1", one)
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="cancel it"):
        await connection.execute("DELETE FROM jobs WHERE id = $1", one)
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="POST /api/dlq"):
        await connection.execute("INSERT INTO dead_letter_jobs (job_type) VALUES ('x')")
    await connection.close()


async def test_another_priority_by_plain_sql_changes_who_takes_the_job(world: World, url: str) -> None:
    """AEO-012, AEO-010: from 5 to 9 it is a priority worker's, and back again it is not."""
    given = {"job_type": "report_gen", "payload": REPORT}
    made = (await submit.create(world.services, world.team, world.user, given))["job_id"]
    connection = await as_app(url)
    for priority, queue in ((9, "reports.urgent"), (10, "reports.urgent"), (7, "reports")):
        await connection.execute("UPDATE jobs SET priority = $2 WHERE id = $1", made, priority)
        assert (await world.services.app.jobs.get(made)).queue == queue
    await connection.close()


async def test_a_circle_of_dependencies_is_refused_by_its_names(world: World, url: str) -> None:
    """AEO-023: A waits for B, B for C, and C may not wait for A."""
    made = [
        (
            await submit.create(
                world.services, world.team, world.user, {"job_type": "report_gen", "payload": REPORT}
            )
        )["job_id"]
        for _ in range(3)
    ]
    connection = await as_app(url)
    insert = "INSERT INTO job_dependencies (job_id, depends_on_job_id) VALUES ($1, $2)"
    await connection.execute(insert, made[0], made[1])
    await connection.execute(insert, made[1], made[2])
    with pytest.raises(asyncpg.CheckViolationError, match="wait for each other"):
        await connection.execute(insert, made[2], made[0])
    assert await connection.fetchval("SELECT check_dependencies_satisfied($1)", made[0]) is False
    assert await connection.fetchval("SELECT dependency_type FROM job_dependencies LIMIT 1") == "completion"
    await world.backstay.drain()
    await world.backstay.travel("10s")
    await world.backstay.drain()
    assert await connection.fetchval("SELECT status FROM jobs WHERE id = $1", made[2]) == "completed"
    await connection.close()


async def test_statistics_and_ready_jobs_have_the_documents_columns(world: World, url: str) -> None:
    """AEO-042, AEO-003: seven figures, and the ready jobs with the higher priority first."""
    for priority in (3, 10, 5):
        given = {"job_type": "report_gen", "payload": REPORT, "priority": priority}
        await submit.create(world.services, world.team, world.user, given)
    connection = await as_app(url)
    ready = await connection.fetch("SELECT * FROM get_ready_jobs(5, ARRAY['report_gen'])")
    assert [row["priority"] for row in ready] == [10, 5, 3]
    assert list(ready[0].keys()) == ["job_id", "job_type", "priority", "payload"]
    await world.backstay.drain()
    row = await connection.fetchrow("SELECT * FROM get_job_statistics($1)", world.team)
    assert list(row.keys()) == [
        "total_jobs",
        "pending_jobs",
        "running_jobs",
        "completed_jobs",
        "failed_jobs",
        "dead_letter_jobs",
        "avg_duration_ms",
    ]
    assert (row["total_jobs"], row["pending_jobs"], row["completed_jobs"]) == (3, 0, 3)
    await connection.close()


async def test_a_user_leaves_jobs_and_a_team_takes_them(world: World) -> None:
    """AEO-008: created_by becomes empty with the user, jobs go with the team."""
    given = {"job_type": "report_gen", "payload": REPORT}
    made = await submit.create(world.services, world.team, world.user, given)
    await world.database.execute("DELETE FROM public.users WHERE id = $1", world.user)
    row = await world.database.row("SELECT * FROM public.jobs WHERE id = $1", made["job_id"])
    assert row is not None
    assert row["created_by"] is None
    await world.database.execute("DELETE FROM public.teams WHERE id = $1", world.team)
    assert await world.database.row("SELECT * FROM public.jobs WHERE id = $1", made["job_id"]) is None


COMMENTED = """
SELECT c.relname AS name FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.objsubid = 0
WHERE d.classoid = 'pg_class'::regclass AND c.relnamespace = 'public'::regnamespace AND c.relname = ANY($1)
UNION ALL
SELECT p.proname FROM pg_description d JOIN pg_proc p ON p.oid = d.objoid
WHERE d.classoid = 'pg_proc'::regclass AND p.pronamespace = 'public'::regnamespace AND p.proname = ANY($2)
"""


async def test_comments_and_grants_are_there(world: World) -> None:
    """AEO-005: eight comments, and rights of the role on the five tables and three functions, and on no other."""
    rows = await world.database.rows(COMMENTED, list(FIVE), list(check.FUNCTIONS))
    assert sorted(row["name"] for row in rows) == sorted([*FIVE, *check.FUNCTIONS])
    allowed = "SELECT has_table_privilege('aeon_app', $1::text, $2::text)"
    for name in FIVE:
        for right in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            assert await world.database.value(allowed, f"public.{name}", right), (name, right)
    assert not await world.database.value(allowed, "backstay.jobs", "SELECT")
    assert not await world.database.value(allowed, "aeon.schedule_rows", "SELECT")
    may_call = """
        SELECT bool_and(has_function_privilege('aeon_app', oid, 'EXECUTE')) FROM pg_proc WHERE proname = ANY($1)
    """
    assert await world.database.value(may_call, list(check.FUNCTIONS))
    assert not await world.database.value(may_call, ["set_status"])


async def test_the_role_writes_schedules_and_dependencies(world: World, url: str) -> None:
    """AEO-024, AEO-023: INSERT, UPDATE and DELETE as aeon_app, and what was decided already stays."""
    connection = await as_app(url)
    made = await connection.fetchval(
        "INSERT INTO job_schedules (name, job_type, payload_template, schedule_type, interval_ms, team_id)"
        " VALUES ('n', 'report_gen', '{\"report\": \"job_summary\"}', 'interval', 60000, $1) RETURNING id",
        world.team,
    )
    await world.backstay.drain()
    await connection.execute(
        "UPDATE job_schedules SET interval_ms = 120000, name = 'other' WHERE id = $1", made
    )
    await world.backstay.drain()
    row = await connection.fetchrow("SELECT name, interval_ms, next_run_at FROM job_schedules")
    assert (row["name"], row["interval_ms"], row["next_run_at"] is not None) == ("other", 120_000, True)
    await connection.execute("DELETE FROM job_schedules WHERE id = $1", made)
    await world.backstay.drain()
    assert (
        await world.database.value(
            "SELECT count(*) FROM backstay.schedules WHERE tenant = $1", str(world.team)
        )
        == 0
    )

    given = {"job_type": "report_gen", "payload": REPORT}
    first, second = [
        UUID((await submit.create(world.services, world.team, None, given))["job_id"]) for _ in range(2)
    ]
    await connection.execute(
        "INSERT INTO job_dependencies (job_id, depends_on_job_id) VALUES ($1, $2)", second, first
    )
    await connection.execute(
        "UPDATE job_dependencies SET dependency_type = 'success' WHERE job_id = $1", second
    )
    assert await connection.fetchval("SELECT dependency_type FROM job_dependencies") == "success"
    await connection.execute("DELETE FROM job_dependencies WHERE job_id = $1", second)
    assert await connection.fetchval("SELECT count(*) FROM get_ready_jobs(5)") == 2
    await connection.close()


STATISTICS = """
SELECT count(*) AS total_jobs,
       count(*) FILTER (WHERE status IN ('pending', 'queued', 'paused')) AS pending_jobs,
       count(*) FILTER (WHERE status = 'running') AS running_jobs,
       count(*) FILTER (WHERE status = 'completed') AS completed_jobs,
       count(*) FILTER (WHERE status = 'failed') AS failed_jobs,
       count(*) FILTER (WHERE status = 'dead_letter') AS dead_letter_jobs,
       round(avg(extract(epoch FROM completed_at - started_at) * 1000) FILTER (WHERE status = 'completed'), 3)
           AS avg_duration_ms
FROM public.jobs WHERE team_id = $1
"""


@pytest.mark.timeout(120)
async def test_statistics_of_five_hundred_jobs_are_those_of_plain_sql(world: World, url: str) -> None:
    """AEO-042: completed, dead, closed, paused, due later and waiting ones, and those of another team beside them."""
    later = datetime.now(UTC) + timedelta(days=1)
    kinds = {
        "quick": 300,
        "failing": 60,
    }
    insert = (
        "INSERT INTO public.jobs (job_type, payload, team_id, scheduled_for)"
        " SELECT $1, $2, $3, $4 FROM generate_series(1, $5)"
    )
    for kind, number in kinds.items():
        await world.database.execute(insert, kind, {"as": "not_found"}, world.team, None, number)
    await world.backstay.drain(most=1000)
    dead = await world.database.rows("SELECT original_job_id AS id FROM public.dead_letter_jobs LIMIT 20")
    for row in dead:
        await world.services.app.dead_letters.resolve(row["id"], by="ann", reason="known")
    await world.database.execute(insert, "quick", {}, world.team, later, 80)
    await world.database.execute(insert, "quick", {}, world.team, None, 60)
    await world.database.execute(insert, "quick", {}, world.other, None, 40)
    await world.database.execute(
        "UPDATE public.jobs SET status = 'paused' WHERE id IN (SELECT id FROM public.jobs"
        " WHERE team_id = $1 AND status = 'pending' AND scheduled_for IS NULL LIMIT 10)",
        world.team,
    )
    connection = await as_app(url)
    found = dict(await connection.fetchrow("SELECT * FROM get_job_statistics($1)", world.team))
    await connection.close()
    by_sql = await world.database.row(STATISTICS, world.team)
    assert found == by_sql
    counts = [found[name] for name in ("total_jobs", "pending_jobs", "completed_jobs", "failed_jobs")]
    assert (counts, found["dead_letter_jobs"]) == ([500, 140, 300, 20], 40)


async def test_every_equivalent_is_there(world: World) -> None:
    """AEO-041: 36 names, each with an object of the catalogue that does its work."""
    assert len(EQUIVALENTS) == 36
    for name, ours in EQUIVALENTS.items():
        if ours.kind == "index":
            found = await world.database.value("SELECT to_regclass($1)", ours.object)
        elif ours.kind == "constraint":
            table, constraint = ours.object.split("/")
            found = await world.database.value(
                "SELECT conname FROM pg_constraint WHERE conrelid = $1::regclass AND conname = $2",
                table,
                constraint,
            )
        else:
            found = await world.database.value(
                "SELECT coalesce(to_regproc($1)::text, to_regclass($1)::text)", ours.object
            )
        assert found is not None, name


async def test_check_names_what_is_missing(world: World) -> None:
    """AEO-037: ten points; without Redis, workers, a function or an index each fails by its name."""
    points = await check.points(world.services)
    assert len(points) == 10
    failed = {point["point"] for point in points if not point["holds"]}
    without_redis = {"Redis runs", "Redis can be reached", "a worker can reach Redis"}
    assert failed == without_redis | {"a worker can reach PostgreSQL"}
    functions = next(point for point in points if point["point"] == "functions and triggers are there")
    assert "gen_random_uuid(), without uuid-ossp" in functions["found"]
    await world.database.execute("ALTER FUNCTION get_job_statistics(uuid, interval) RENAME TO gone")
    try:
        points = await check.points(world.services)
    finally:
        await world.database.execute("ALTER FUNCTION gone(uuid, interval) RENAME TO get_job_statistics")
    broken = next(point for point in points if point["point"] == "functions and triggers are there")
    assert not broken["holds"]
    assert "get_job_statistics" in broken["found"]


async def test_check_names_a_missing_index(world: World) -> None:
    """AEO-037: an index that is gone is named, with what it stands for."""
    await world.database.execute("ALTER INDEX aeon.idx_job_schedules_team_id RENAME TO gone")
    try:
        points = await check.points(world.services)
    finally:
        await world.database.execute("ALTER INDEX aeon.gone RENAME TO idx_job_schedules_team_id")
    broken = next(point for point in points if point["point"] == "indexes are there")
    assert not broken["holds"]
    assert "idx_job_schedules_team_id" in broken["found"]
