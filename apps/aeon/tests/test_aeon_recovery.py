"""Backups that were really restored, archives that were really read back, and pages that say what is true."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from aeon_fleet import Fleet
from aeon_world import World
from redis.asyncio import Redis

from backstay.testing import PrivatePostgres, PrivateRedis
from backstay_aeon.actions import archive, submit
from backstay_aeon.domain.errors import Conflict
from backstay_aeon.jobs import build
from backstay_aeon.settings import Settings

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
COUNTS = "SELECT status, count(*) AS jobs FROM public.jobs GROUP BY status ORDER BY status"


async def test_a_backup_is_restored_into_second_servers(
    fleet: Fleet, url: str, server: PrivatePostgres
) -> None:
    """AEO-038: dump, second database, empty second Redis: counts are equal, the lists are refilled, jobs go on."""
    worker = await fleet.start("general")
    for number in range(10):
        await fleet.submit("quick", {"number": number})
    await fleet.until_ended(10)
    worker.stop()
    for number in range(20):
        await fleet.submit("quick", {"number": number})
    before = await fleet.database.rows(COUNTS)

    server.create_database("aeon_restored")
    second = server.url("aeon_restored")
    environment = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
    dump = subprocess.run(["pg_dump", "--no-owner", url], check=True, capture_output=True).stdout
    subprocess.run(
        ["psql", "-q", "-v", "ON_ERROR_STOP=1", second],
        input=dump,
        check=True,
        capture_output=True,
        env=environment,
    )
    try:
        with PrivateRedis.start() as empty:
            fleet.environment |= {"AEON_DATABASE_URL": second, "AEON_REDIS_URL": empty.url()}
            restored = build(Settings.from_environment(fleet.environment))
            assert await restored.database.rows(COUNTS) == before
            rebuilt = await restored.app.rebuild_dispatch()
            assert rebuilt.waiting == 20
            client = Redis.from_url(empty.url())
            assert await client.zcard("queue:pending") == 20
            await client.aclose()
            first, fleet.services = fleet.services, restored
            again = await fleet.start("general", "worker-restored")
            await fleet.until_ended(30)
            again.stop()
            fleet.services = first
            await restored.close()
    finally:
        server.drop_database("aeon_restored")


async def test_old_jobs_go_into_the_storage_and_are_read_back(world: World) -> None:
    """AEO-038: jobs that ended more than thirty days ago, with their executions, a file a day, hash and all."""
    for number in range(3):
        await submit.create(
            world.services, world.team, None, {"job_type": "quick", "payload": {"number": number}}
        )
    await world.backstay.drain()
    await world.database.execute(
        "UPDATE backstay.jobs SET finished_at = finished_at - interval '40 days',"
        " created_at = created_at - interval '40 days' WHERE args -> 'payload' ->> 'number' < '2'"
    )

    days = await archive.archive(world.services)

    assert len(days) == 1
    row = await world.database.row("SELECT day, storage_key, jobs FROM aeon.archives")
    assert row is not None
    kept = await archive.read_back(world.services, row["day"])
    assert row["jobs"] == len(kept) == 2
    assert {job["payload"]["number"] for job in kept} == {0, 1}
    assert all(len(job["executions"]) == 1 for job in kept)
    assert await archive.archive(world.services) == []
    await world.services.files.put(row["storage_key"], b"something else", "application/gzip")
    with pytest.raises(Conflict, match="altered"):
        await archive.read_back(world.services, row["day"])


def known_tests() -> set[str]:
    source = "\n".join(path.read_text() for path in TESTS.glob("test_*.py"))
    return set(re.findall(r"^(?:async )?def (test_\w+)", source, flags=re.MULTILINE))


def test_every_risk_and_every_recovery_names_a_test_that_is_there() -> None:
    """AEO-039, AEO-038: six risks and four procedures, each with the test that shows its answer."""
    page = (DOCS / "architecture.md").read_text()
    risks = page.partition("## Risks")[2].partition("\n## ")[0]
    recoveries = page.partition("## Recovery")[2].partition("\n## ")[0]
    for part, number in ((risks, 6), (recoveries, 4)):
        rows = [line for line in part.splitlines() if line.startswith("| ")][2:]
        assert len(rows) == number
        for row in rows:
            named = set(re.findall(r"test_\w+", row))
            assert named, row
            assert named <= known_tests(), row


@pytest.mark.parametrize(
    "name",
    [
        "Redis",
        "RabbitMQ",
        "SQS",
        "Kafka",
        "PostgreSQL",
        "MongoDB",
        "DynamoDB",
        "separate queue database",
        "Node",
    ],
)
def test_each_alternative_is_recorded_with_a_reason(name: str) -> None:
    """AEO-044: what was chosen, what else was considered, and what we reversed."""
    decisions = (DOCS / "architecture.md").read_text().partition("## Decisions")[2].partition("\n## ")[0]
    assert name in decisions
    assert [f"ADR-00{number}" for number in (1, 2, 3)] == re.findall(r"ADR-00\d", decisions)[:3]


def test_the_acceptance_page_names_tests_that_exist() -> None:
    page = (DOCS / "acceptance.md").read_text()
    assert re.findall(r"^\| (A\d+) ", page, flags=re.MULTILINE) == [f"A{n}" for n in range(1, 21)]
    assert set(re.findall(r"\btest_\w+(?!\w*\.py)\b", page)) <= known_tests()
