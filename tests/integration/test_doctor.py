"""The doctor on both stores: every planted problem is found and named, and nothing is invented."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from backstay import Backstay
from backstay.client.doctor.diagnosis import Facts, Finding, Severity, Surroundings, diagnose
from backstay.client.doctor.doctor import Doctor
from backstay.client.doctor.link_findings import unverified_link
from backstay.composition.connect import open_database, stores_on
from backstay.errors import JobNotFound
from backstay.model.job import JobId
from backstay.model.records import Engine, Health, KindRecord, OpenTransaction, TableHealth, Vitals
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import migrate
from backstay.stores.database.postgres import Postgres
from backstay.stores.database.sqlite import Sqlite
from backstay.testing import PrivatePostgres
from backstay.testing.clock import NOON, FrozenClock
from backstay.testing.contract.support import HOUR, LEASE, MINUTE, SECOND, Store
from backstay.wakeups.sqlite import SqliteWakeups

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def migrated_template(postgres_server: PrivatePostgres) -> str:
    """The name of a database with tables, which nobody is connected to, so that it can be copied."""
    postgres_server.create_database("doctor_template")

    async def prepare() -> None:
        database = open_database(postgres_server.url("doctor_template"))
        await migrate(database)
        await database.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, prepare()).result()
    return "doctor_template"


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, clock: FrozenClock) -> AsyncIterator[Database]:
    """A migrated database of the test's own, so that it may be damaged."""
    if request.param == "sqlite":
        opened = open_database("sqlite://:memory:", clock=clock)
        await migrate(opened)
    else:
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"doctor_{next(numbers)}"
        await asyncio.to_thread(
            server.create_database, name, template=request.getfixturevalue("migrated_template")
        )
        opened = open_database(server.url(name), clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database, clock: FrozenClock) -> Store:
    return Store(stores_on(database.lane("test", size=4)), clock)


@pytest.fixture
def doctor(store: Store) -> Doctor:
    return Doctor(store.stores)


async def run_sql(database: Database, *statements: str) -> None:
    for statement in map(database.dialect.render, statements):
        if isinstance(database, Postgres):
            async with database.lane("raw").transaction() as connection:
                await connection.driver.execute(statement)  # type: ignore[attr-defined]  # PostgreSQL's connection
        else:
            assert isinstance(database, Sqlite)
            work = database.file.write(lambda connection, sql=statement: connection.execute(sql).fetchall())
            await database._done(work)


async def beat(store: Store, worker: str, *, running: int = 0) -> None:
    await store.stores.workers.tick(
        worker, vitals=Vitals(running=running), lease=15 * SECOND, overrun=30 * SECOND
    )


async def declare(store: Store, *, fingerprint: str, by: str) -> None:
    record = KindRecord(
        kind="report", queue="default", policy={}, arguments=None, fingerprint=fingerprint, declared_by=by
    )
    await store.stores.kinds.declare([record])


async def problems(doctor: Doctor) -> dict[str, Finding]:
    """What was found by code, apart from the note that an old SQLite always gives."""
    return {found.code: found for found in await doctor.check() if found.code != "sqlite_version"}


async def test_a_sound_system_gives_nothing_to_report(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    await store.complete(await store.claimed())
    await store.enqueue()
    await store.enqueue(delay=HOUR)

    assert await problems(doctor) == {}


async def test_waiting_jobs_without_any_living_worker_are_an_error(store: Store, doctor: Doctor) -> None:
    await store.register("gone")
    await store.enqueue_many(3)
    store.later(MINUTE)

    found = await problems(doctor)

    assert found.keys() == {"no_workers"}
    assert (found["no_workers"].severity, found["no_workers"].count) == (Severity.ERROR, 3)
    assert "gone, 1m ago" in found["no_workers"].detail


async def test_a_kind_that_no_living_worker_knows_is_named(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    await store.enqueue_many(2, kind="invoice")

    found = await problems(doctor)

    assert found.keys() == {"kind_without_worker"}
    assert "'invoice'" in found["kind_without_worker"].title
    assert found["kind_without_worker"].count == 2


async def test_a_queue_that_no_worker_looks_into_is_named(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    await store.enqueue(queue="bulk")

    found = await problems(doctor)

    assert found.keys() == {"queue_without_worker"}
    assert "'bulk'" in found["queue_without_worker"].title


async def test_a_queue_that_a_kind_was_sent_to_counts_as_looked_into(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    await store.stores.kinds.add_routes([("bulk", "report")])
    await store.enqueue(queue="bulk")

    assert await problems(doctor) == {}


async def test_living_workers_of_two_versions_are_told_apart(store: Store, doctor: Doctor) -> None:
    await store.register("old", version="1.0")
    await store.register("new", version="1.1")

    found = await problems(doctor)

    assert "1.0, 1.1" in found["mixed_versions"].detail


async def test_a_declaration_that_a_living_worker_contradicts_is_found(store: Store, doctor: Doctor) -> None:
    await store.register("old")
    await declare(store, fingerprint="a", by="host-a 1.0")
    store.later(20 * SECOND)
    await store.register("new")
    await declare(store, fingerprint="b", by="host-b 1.1")

    found = await problems(doctor)

    assert "old started before that" in found["kind_conflict"].detail


async def test_a_changed_declaration_is_no_problem_once_the_older_workers_are_gone(
    store: Store, doctor: Doctor
) -> None:
    await store.register("old")
    await declare(store, fingerprint="a", by="host-a 1.0")
    store.later(20 * SECOND)
    await store.stores.workers.retire("old", state="stopped")
    await store.register("new")
    await declare(store, fingerprint="b", by="host-b 1.1")

    assert await problems(doctor) == {}


async def test_claims_that_nobody_took_back_after_two_sweeps_are_found(store: Store, doctor: Doctor) -> None:
    await store.claimed(worker="w")
    store.later(LEASE + 10 * SECOND)
    await beat(store, "w")
    in_time = await problems(doctor)

    store.later(SECOND)
    too_late = await problems(doctor)

    assert in_time == {}
    assert too_late["stuck_claims"].count == 1


AUDIT_BUGS = [
    ("EXO-018", "settled_by = 'render-${RENDER_SERVICE_ID}'", "ran under a worker id that was not filled in"),
    ("EXO-018", "settled_by = 'render-undefined-1'", "ran under a worker id that was not filled in"),
    ("EXO-019", "heartbeat_at = finished_at", "heartbeat after the end"),
    ("EXO-020", "duration_ms = NULL", "ended without a duration"),
    ("EXO-022", "finished_at = finished_at + {second}", "changed before its end"),
    ("EXO-023", "state = 'dead', reason = 'exhausted', result = NULL", "dead without a dead letter"),
    ("clock", "started_at = finished_at + {second}", "ended before it started"),
    ("clock", "updated_at = updated_at + 3600 * {second}", "dated in the future"),
]


@pytest.mark.parametrize(("bug", "damage", "rule"), AUDIT_BUGS)
async def test_each_bug_of_the_audit_is_found_and_named(
    store: Store, doctor: Doctor, database: Database, bug: str, damage: str, rule: str
) -> None:
    """ENG-123, EXO-039: a planted violation is found, named, and shown with an example."""
    await store.complete(await store.claimed())
    claim = await store.claimed()
    await store.complete(claim)
    is_postgres = isinstance(database, Postgres)
    # The tables refuse such rows, unless somebody took their rules away.
    allow = (
        "ALTER TABLE backstay.jobs DROP CONSTRAINT fields_fit_state"
        if is_postgres
        else "PRAGMA ignore_check_constraints = ON"
    )
    second = "interval '1 second'" if is_postgres else "1000000"

    await run_sql(
        database,
        allow,
        f"UPDATE backstay.jobs SET {damage.replace('{second}', second)} WHERE id = '{claim.id}'",
    )

    found = [finding for finding in await doctor.check() if finding.code == "broken_rows"]
    assert [finding.title for finding in found] == [f"jobs break a rule: {rule}"], bug
    assert str(claim.id) in found[0].detail
    assert (found[0].count, found[0].severity) == (1, Severity.ERROR)


@pytest.mark.parametrize(
    "name", ["render-${RENDER_SERVICE_ID}", "render-undefined", "render-None-1", "render--1"]
)
async def test_a_worker_id_that_was_not_filled_in_is_found(store: Store, doctor: Doctor, name: str) -> None:
    """EXO-018: neither the literal nor what a missing variable leaves behind goes unnoticed."""
    await store.register(name)

    assert (await problems(doctor))["unexpanded_worker_id"].detail == name


async def test_a_clock_that_was_set_back_is_noticed(store: Store, doctor: Doctor) -> None:
    await store.register("w")

    store.clock.advance(-HOUR)

    found = await problems(doctor)
    assert "1h in the future" in found["clock_jump"].detail


def test_tables_full_of_dead_rows_are_found() -> None:
    sound = Health(tables=(TableHealth("jobs", 100, 50_000), TableHealth("audit", 90_000, 80_000)))
    bloated = Health(tables=(TableHealth("jobs", 100, 50_001),))

    assert diagnose(facts(health=sound)) == []
    [finding] = diagnose(facts(health=bloated))
    assert (finding.code, finding.title) == ("bloat", "jobs is mostly dead rows")


def test_a_transaction_that_is_open_for_long_is_found() -> None:
    health = Health(oldest=OpenTransaction(4711, "psql", 16 * MINUTE))

    [finding] = diagnose(facts(health=health))

    assert finding.code == "old_transaction"
    assert "pg_terminate_backend(4711)" in finding.advice


async def test_the_oldest_transaction_of_others_is_seen(postgres_server: PrivatePostgres) -> None:
    postgres_server.create_database("old_snapshot")
    database = open_database(postgres_server.url("old_snapshot"))
    await migrate(database)
    async with database.lane("other").transaction() as connection:
        await connection.fetch("insights/engine")
        oldest = (await stores_on(database.lane("doctor")).insights.health()).oldest
    await database.close()

    assert oldest is not None
    assert oldest.application == "backstay"
    assert timedelta(0) <= oldest.open_for < MINUTE


async def test_overrides_are_mentioned_and_those_that_do_not_fit_warned_of(
    store: Store, doctor: Doctor
) -> None:
    await declare(store, fingerprint="1", by="a")
    await store.stores.overrides.set(
        "kind", "report", "timeout", change='{"timeout_seconds":7200}', actor="ada", reason="x"
    )

    found = await problems(doctor)

    assert found["overrides"].detail == "timeout of kind report (ada)"
    assert "timeout cannot be" in found["override_ignored"].detail


class Deaf(SqliteWakeups):
    """Behind a pooler that loses LISTEN: nothing fails, and nothing arrives."""

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        await asyncio.Event().wait()


async def test_hints_that_never_arrive_are_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstay.client.doctor.doctor.HINT_WITHIN", timedelta(seconds=0.3))

    found = await problems(Doctor(store.stores, Deaf("nobody.db")))

    assert "pooled=true" in found["hints_lost"].advice


@pytest.mark.parametrize(("query", "codes"), [("", set()), ("?pooled=true", {"hints_off"})])
async def test_hints_are_probed_on_the_real_server(
    postgres_server: PrivatePostgres, query: str, codes: set[str]
) -> None:
    name = f"doctor_{next(numbers)}"
    postgres_server.create_database(name)
    app = Backstay(postgres_server.url(name) + query)
    await app._connections.migrate()

    found = await problems(app.doctor)

    await app.close()
    assert found.keys() == codes


async def test_jobs_behind_a_pause_are_mentioned_and_after_an_hour_warned_of(
    store: Store, doctor: Doctor
) -> None:
    await store.register("w")
    await store.stores.queues.pause(queue="default", kind=None, actor="ann", reason="disk is full")
    await store.enqueue()
    early = await problems(doctor)

    store.later(HOUR + SECOND)
    await beat(store, "w")
    late = await problems(doctor)

    assert early.keys() == late.keys() == {"paused_jobs"}
    assert early["paused_jobs"].severity is Severity.INFO
    assert late["paused_jobs"].severity is Severity.WARNING
    assert "paused by ann: disk is full" in late["paused_jobs"].detail


async def test_a_job_that_waits_over_an_hour_although_workers_live_is_found(
    store: Store, doctor: Doctor
) -> None:
    await store.register("w")
    await store.enqueue()
    store.later(HOUR + SECOND)
    await beat(store, "w", running=5)

    found = await problems(doctor)

    assert found.keys() == {"long_wait"}
    assert "run 5 of 5 slots" in found["long_wait"].detail


async def test_open_dead_letters_are_counted_until_somebody_decides(store: Store, doctor: Doctor) -> None:
    dead = await store.dead()
    before = await problems(doctor)
    await store.resolve(dead)

    after = await problems(doctor)

    assert before["dead_letters"].count == 1
    assert after == {}


@pytest.mark.parametrize(
    ("dead_letters", "severity"),
    [
        (10, Severity.INFO),
        (11, Severity.WARNING),
        (50, Severity.WARNING),
        (51, Severity.ERROR),
    ],
)
def test_many_dead_letters_weigh_more(dead_letters: int, severity: Severity) -> None:
    """ENG-121: more than ten unresolved are a warning, more than fifty an error."""
    assert diagnose(facts(dead_letters=dead_letters))[0].severity is severity


@pytest.mark.parametrize(
    ("stuck", "severity"), [(1, Severity.WARNING), (10, Severity.WARNING), (11, Severity.ERROR)]
)
def test_many_stuck_claims_weigh_more(stuck: int, severity: Severity) -> None:
    """ENG-121: any stale job is a warning, more than ten are an error."""
    assert diagnose(facts(stuck=stuck))[0].severity is severity


@pytest.mark.parametrize(
    ("name", "version", "codes"),
    [
        ("sqlite", "3.51.2", ["sqlite_version"]),
        ("sqlite", "3.51.3", []),
        ("postgres", "16.4 (Debian 16.4-1)", []),
    ],
)
def test_only_an_sqlite_with_the_known_bug_is_mentioned(name: str, version: str, codes: list[str]) -> None:
    found = diagnose(facts(engine=Engine(name, version, NOON)))

    assert [finding.code for finding in found] == codes


@pytest.mark.parametrize(
    ("url", "severity"),
    [
        ("postgresql://me:pw@db.example.com/shop", "warning"),
        ("postgresql://me:pw@8.8.8.8/shop?sslmode=require", "warning"),
        ("postgresql://me:pw@db/shop", "info"),
        ("postgresql://me:pw@10.0.0.7/shop?sslmode=prefer", "info"),
        ("postgresql://me:pw@db.example.com/shop?sslmode=verify-full", None),
        ("postgresql://me:pw@127.0.0.1/shop", None),
        ("postgresql://me@localhost:5433/shop", None),
        ("postgresql:///shop", None),
        ("sqlite:///shop.db", None),
    ],
)
def test_a_link_that_nobody_verifies_is_told(url: str, severity: str | None) -> None:
    found = unverified_link(url)

    assert [finding.severity.value for finding in found] == ([severity] if severity else [])
    assert "pw" not in str(found)


def facts(**given: Any) -> Facts:
    engine = given.pop("engine", Engine("postgres", "16.4", NOON))
    around = Surroundings(workers=[], pauses=[], routes=frozenset(), engine=engine)
    usual = {"waiting": [], "kinds": [], "stuck": 0, "broken": [], "dead_letters": 0}
    return Facts(around=around, **{**usual, **given})


async def test_a_missing_index_is_named(doctor: Doctor, database: Database) -> None:
    await run_sql(
        database, "DROP INDEX " + ("backstay.jobs_dead" if isinstance(database, Postgres) else "jobs_dead")
    )

    found = await problems(doctor)

    assert found.keys() == {"missing_index"}
    assert found["missing_index"].severity is Severity.ERROR
    assert found["missing_index"].detail == "jobs_dead"


async def test_a_missing_table_does_not_keep_the_doctor_from_saying_so(
    doctor: Doctor, database: Database
) -> None:
    await run_sql(database, "DROP TABLE backstay.pauses")

    found = await problems(doctor)

    assert "pauses" in found["schema_drift"].detail


async def why(doctor: Doctor, job_id: JobId) -> str:
    return " ".join(await doctor.why(job_id))


async def test_a_scheduled_job_waits_for_its_time(store: Store, doctor: Doctor) -> None:
    job_id = await store.enqueue(delay=5 * MINUTE)

    assert await why(doctor, job_id) == "It is scheduled to run at 2030-05-17 12:05:00 UTC, in 5m."


async def test_a_failed_job_waits_for_its_next_attempt(store: Store, doctor: Doctor) -> None:
    claim = await store.claimed()
    await store.fail(claim)

    assert (await why(doctor, claim.id)).startswith("Attempt 1 failed; it runs again at")


async def test_a_job_that_is_overdue_lacks_a_worker_to_promote_it(store: Store, doctor: Doctor) -> None:
    job_id = await store.enqueue(delay=MINUTE)
    store.later(3 * MINUTE)

    said = await why(doctor, job_id)

    assert "2m ago, and no worker has made it available" in said
    assert "No worker is alive" in said


async def test_a_held_job_says_what_it_waits_for(store: Store, doctor: Doctor) -> None:
    job_id = await store.enqueue(held_for="approval")

    assert (await why(doctor, job_id)).startswith("It is held: approval.")


async def test_a_paused_queue_is_blamed_with_who_and_why(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    job_id = await store.enqueue()
    await store.stores.queues.pause(queue="default", kind=None, actor="ann", reason="disk is full")
    store.later(10 * SECOND)

    assert await why(doctor, job_id) == "The queue 'default' was paused by ann 10s ago: disk is full."


async def test_a_paused_kind_is_blamed_as_well(store: Store, doctor: Doctor) -> None:
    job_id = await store.enqueue()
    await store.stores.queues.pause(queue=None, kind="report", actor="ann", reason="wrong figures")

    assert (await why(doctor, job_id)).startswith("The kind 'report' was paused by ann")


async def test_without_workers_the_answer_is_to_start_one(store: Store, doctor: Doctor) -> None:
    job_id = await store.enqueue()

    assert (await why(doctor, job_id)).startswith("No worker is alive: start one")


async def test_workers_that_do_not_know_the_kind_are_blamed(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    job_id = await store.enqueue(kind="invoice")

    assert await why(doctor, job_id) == "No living worker knows the kind 'invoice'; they know report."


async def test_jobs_ahead_and_busy_workers_are_counted(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    await store.enqueue_many(2)
    await store.enqueue(kind="urgent", priority=1)
    job_id = await store.enqueue()
    await store.enqueue_many(4)
    await beat(store, "w", running=5)

    assert await doctor.why(job_id) == [
        "3 jobs of the queue 'default' are ahead of it.",
        "Every worker that could run it is busy: 5 slots on 1 worker.",
    ]


async def test_a_job_with_nothing_in_its_way_is_about_to_run(store: Store, doctor: Doctor) -> None:
    await store.register("w")
    job_id = await store.enqueue()

    assert await why(doctor, job_id) == "Nothing is in its way: a worker takes it within seconds."


async def test_a_running_job_tells_who_has_it_and_whether_they_live(store: Store, doctor: Doctor) -> None:
    claim = await store.claimed(worker="w")
    store.later(LEASE + 30 * SECOND)

    said = await doctor.why(claim.id)

    assert said == [
        "It is running on w, for 1m 30s.",
        "Its lease ran out 30s ago: a living worker will take it back.",
        "That worker is gone, as it seems, and was last heard of 1m 30s ago.",
    ]


async def test_a_dead_job_waits_for_a_decision(store: Store, doctor: Doctor) -> None:
    job_id = await store.dead()

    assert "backstay dead retry" in await why(doctor, job_id)


async def test_a_job_that_is_not_there_is_not_explained(doctor: Doctor) -> None:
    with pytest.raises(JobNotFound):
        await doctor.why("no such job")


async def test_a_long_line_is_counted_only_so_far(store: Store, doctor: Doctor) -> None:
    await store.enqueue_many(1001)
    job_id = await store.enqueue()

    assert "1,000 or more jobs" in await why(doctor, job_id)
    assert await store.stores.insights.ahead(job_id, limit=10) == 10
    assert timedelta(0) <= (await store.stores.insights.waiting())[0].oldest_for
