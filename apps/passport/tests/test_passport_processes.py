"""Many worker processes beside each other: every job once, and how many passports they make."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from passport_processes import Databases, Workers, open_world
from passport_world import World
from sqlalchemy import select

from backstay import Job, State
from backstay.testing import PrivatePostgres, SyncHarness
from backstay_passport.actions import passports as passport_actions
from backstay_passport.store import batteries
from backstay_passport.store.tables import passport_versions

JOBS_A_MINUTE = 100


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """What starts worker processes with a signing key."""
    key = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
    monkeypatch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", key)
    starter = Workers()
    yield starter
    starter.close()


def many(world: World, units: int) -> None:
    """Ask for a small passport for each of many batteries."""
    snapshot_id, rules_id = world.sealed(), world.rules(published=True)
    with world.services.database.begin() as connection:
        product_id = batteries.add_product(connection, world.tenant, sku="A", gtin="4006381333931", name="A")
        made = [
            batteries.add_unit(connection, world.tenant, product_id, {"serial": f"S{number}"})
            for number in range(units)
        ]
    for unit_id in made:
        passport_id = passport_actions.create(world.services, world.tenant, product_id, unit_id)
        passport_actions.compile_version(world.services, world.tenant, passport_id, snapshot_id, rules_id)


def check_many(world: World, units: int) -> None:
    """Check that every battery has one signed version, made by one attempt of each job that succeeded."""
    with world.services.database.read() as connection:
        rows = connection.execute(select(passport_versions)).mappings().all()
    assert len(rows) == units
    assert {row["status"] for row in rows} == {"SIGNED"}
    assert len({row["passport_id"] for row in rows}) == units
    jobs = all_jobs(world)
    assert len(jobs) == 3 * units
    assert {job.state for job in jobs} == {State.COMPLETED}
    for job in jobs:
        # A claim that waited too long for a free slot was given back unstarted, and counts as no attempt.
        begun = [one for one in world.services.app.sync.jobs.attempts(job.id) if one.status != "released"]
        # A writer that SQLite has kept waiting for too long tries again, having written nothing; nobody else does.
        assert [one for one in begun if "database_error" not in repr(one.error)] == []
        assert not begun or not world.services.database.is_postgres
        assert job.attempt == 1 or not world.services.database.is_postgres


def all_jobs(world: World) -> list[Job]:
    """Every job, page by page."""
    page = world.services.app.sync.jobs.search()
    jobs = list(page.jobs)
    while page.cursor is not None:
        page = world.services.app.sync.jobs.search(cursor=page.cursor)
        jobs += page.jobs
    return jobs


def test_workers_beside_each_other_do_every_job_once(tmp_path: Path, workers: Workers) -> None:
    """BPC-001, BPC-046, TC-P0-03, TC-P1-02, TC-P1-03: three workers, twelve batteries, no job twice."""
    url = f"sqlite:///{tmp_path / 'many.db'}"
    world = open_world(url)
    many(world, 12)
    ended = workers.run(*[(url, 0)] * 3)
    assert [code for code, _ in ended] == [0, 0, 0], ended
    check_many(world, 12)
    world.services.close()


@pytest.mark.prove
@pytest.mark.timeout(600)
def test_ten_workers_make_a_hundred_passports_once_each(postgres: PrivatePostgres, workers: Workers) -> None:
    """BPC-001, BPC-007, TC-P1-03: ten processes, a hundred batteries, three hundred jobs, one attempt each."""
    postgres.create_database("ten")
    url = postgres.url("ten")
    world = open_world(url)
    many(world, 100)
    ended = workers.run(*[(url, 0)] * 10)
    assert {code for code, _ in ended} == {0}, ended
    check_many(world, 100)
    world.services.close()


def test_a_worker_has_time_for_far_more_than_a_hundred_jobs_a_minute(
    runner: SyncHarness, world: World
) -> None:
    """BPC-007: all jobs of whole passports, by the processor's time, which no other process can make longer."""
    world.full(units=4)
    began = time.process_time()

    ended = runner.drain().completed

    assert ended == 4 * 3
    assert ended * 60 / (time.process_time() - began) > JOBS_A_MINUTE


@pytest.mark.prove
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_passports_a_second_with_one_and_two_workers(
    request: pytest.FixtureRequest, tmp_path: Path, workers: Workers, kind: str
) -> None:
    """BPC-007: the figure of the whole pipeline, reported."""
    server = request.getfixturevalue("postgres") if kind == "postgres" else None
    prepared = Databases(tmp_path, server, "speed")
    world = open_world(prepared.url)
    world.full(units=60)
    world.services.close()
    figures = {}
    for count in (1, 2):
        url = prepared.copy()
        began = time.monotonic()
        ended = workers.run(*[(url, 0)] * count)
        figures[count] = 60 / (time.monotonic() - began)
        assert {code for code, _ in ended} == {0}, ended
    told = ", ".join(
        f"{count} worker(s): {figure:.1f} passports a second" for count, figure in figures.items()
    )
    sys.stdout.write(f"{kind}: {told}; {figures[1] * 3 * 60:.0f} jobs a minute\n")
    assert figures[1] * 3 * 60 > JOBS_A_MINUTE
