"""The document's tables and functions by plain SQL, as the role of applications."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from aeon_world import World

from backstay.testing import PrivatePostgres
from backstay_aeon.actions import check, submit
from backstay_aeon.domain.equivalents import EQUIVALENTS
from backstay_aeon.store.database import FIVE, script

REPORT = {"report": "job_summary", "format": "csv"}


async def as_app(url: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(url)
    await connection.execute("SET ROLE aeon_app")
    return connection


async def test_the_migration_can_be_run_again_and_twice_at_once(world: World, url: str) -> None:
    """AEO-004, AEO-003: three more runs, two of them together, and the five names are there."""

    async def once() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(script())
        await connection.close()

    await once()
    await asyncio.gather(once(), once())
    assert await world.database.run_script() == sorted(FIVE)


async def test_it_works_beside_tables_that_exist(server: PrivatePostgres) -> None:
    """AEO-002, AEO-001: tables of the product with other columns are left alone."""
    from backstay_aeon.jobs import build
    from backstay_aeon.settings import Settings

    server.create_database("beside")
    connection = await asyncpg.connect(server.url("beside"))
    await connection.execute(
        "CREATE TABLE users (id uuid PRIMARY KEY, email text UNIQUE);"
        " CREATE TABLE teams (id uuid PRIMARY KEY, name text, created_at timestamptz DEFAULT now());"
        " CREATE TABLE api_keys (id int PRIMARY KEY, secret text)"
    )
    own = build(Settings(server.url("beside"), storage="folder:/tmp/aeon-tests"))
    await own.migrate()
    columns = await connection.fetch(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name = 'api_keys'"
    )
    assert {row["column_name"] for row in columns} == {"id", "secret"}
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
    """AEO-042, AEO-009: seven figures, and the higher priority first."""
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


async def test_comments_and_grants_are_there(world: World) -> None:
    """AEO-005: eight comments, and rights of the role."""
    comments = await world.database.value(
        "SELECT count(*) FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.objsubid = 0"
        " WHERE c.relname = ANY($1) AND c.relnamespace = 'public'::regnamespace",
        list(FIVE),
    )
    assert comments == 5
    assert await world.database.value("SELECT has_table_privilege('aeon_app', 'public.jobs', 'INSERT')")
    assert not await world.database.value("SELECT has_table_privilege('aeon_app', 'backstay.jobs', 'SELECT')")


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
