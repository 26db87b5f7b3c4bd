"""Promoted fields of an application: filled on every way in, checked on each, searched, found unfilled and filled."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from drivers import ON_POSTGRES, ON_SQLITE, Driver

from backstay import Backstay, Hopeless, PromotedField, References
from backstay.errors import (
    FieldRefused,
    InvalidArguments,
    InvalidJob,
    InvalidPolicy,
    InvalidSettings,
    JobDead,
    SchemaMismatch,
)
from backstay.model.job import JobId
from backstay.model.policy.profile import Profile
from backstay.model.states import State
from backstay.records import JobFilter
from backstay.testing import PrivatePostgres

ADA, BOB, NOBODY = (UUID(int=number) for number in (1, 2, 3))
numbers = itertools.count(1)


class Clinic:
    """An application with a table of its own that a promoted field points at."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.url = url
        self.app = Backstay(url, **settings)
        self.scan = self.app.job(promote=[PromotedField("patient_id", References("patients.id")), "page"])(
            scan
        )
        self.sweep = self.app.job(sweep)
        self.admit = self.app.job(kind="admit")(self._admit)

    async def _admit(self, patient_id: UUID) -> str:
        return str((await self.scan.enqueue(patient_id=patient_id, page=7)).id)

    async def found(self, **values: Any) -> list[JobId]:
        """The jobs that a search by promoted fields finds."""
        return [job.id for job in (await self.app.jobs.search(JobFilter(promoted=values))).jobs]

    async def stored(self) -> int:
        """How many jobs there are of the kind that promotes."""
        return len((await self.app.jobs.search(JobFilter(kind="scan"))).jobs)

    async def sql(self, statement: str) -> list[Any]:
        """Run a statement beside the stores, as the application would on its own tables."""
        if self.url.startswith("sqlite"):
            with sqlite3.connect(self.url.removeprefix("sqlite:///")) as file:
                file.execute("PRAGMA foreign_keys = ON")
                return file.execute(statement).fetchall()
        connection = await asyncpg.connect(self.url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    @property
    def table(self) -> str:
        """How the side table is spelled here."""
        return "backstay_promoted" if self.url.startswith("sqlite") else "backstay.promoted"

    async def die(self, **args: Any) -> JobId:
        """Store a job and let it die."""
        job = await self.scan.enqueue(**args)
        async with self.app.working(kinds=["scan"]):
            with pytest.raises(Exception, match="is dead"):
                await job.result(timeout=30)
        return job.id

    async def close(self) -> None:
        await asyncio.to_thread(self.app.close_sync)
        await self.app.close()


async def scan(patient_id: UUID | None = None, page: int | None = None) -> None:
    raise Hopeless("cannot be read")


async def sweep(page: str) -> None:
    pass


async def url_on(request: pytest.FixtureRequest, store: str) -> str:
    if store == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        return f"sqlite:///{folder}/jobs.db"
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"promoted_{next(numbers)}"
    server.create_database(name)
    request.addfinalizer(lambda: server.drop_database(name))
    return server.url(name)


async def opened(url: str) -> Clinic:
    clinic = Clinic(url)
    await clinic.app._connections.migrate()
    kind = "uuid" if url.startswith("postgres") else "text"
    await clinic.sql(f"CREATE TABLE patients (id {kind} PRIMARY KEY)")
    await clinic.sql(f"INSERT INTO patients (id) VALUES ('{ADA}'), ('{BOB}')")
    return clinic


@pytest.fixture(params=["sqlite", "postgres"])
async def empty_clinic(request: pytest.FixtureRequest) -> AsyncIterator[Clinic]:
    """The application before its fields were brought into the database."""
    clinic = await opened(await url_on(request, request.param))
    yield clinic
    await clinic.close()


@pytest.fixture
async def clinic(empty_clinic: Clinic) -> Clinic:
    await empty_clinic.app.promoted.migrate()
    return empty_clinic


Opener = Callable[[Clinic, UUID], Awaitable[JobId]]


async def one(clinic: Clinic, patient: UUID) -> JobId:
    return (await clinic.scan.enqueue(patient_id=patient, page=7)).id


async def together(clinic: Clinic, patient: UUID) -> JobId:
    stored = [clinic.scan.enqueue(patient_id=patient, page=7), *(clinic.sweep.enqueue("x") for _ in range(5))]
    return (await asyncio.gather(*stored))[0].id


async def many(clinic: Clinic, patient: UUID) -> JobId:
    calls = [clinic.sweep.args("x"), clinic.scan.args(patient_id=patient, page=7)]
    return (await clinic.app.jobs.enqueue_many(calls))[1].id


async def with_options(clinic: Clinic, patient: UUID) -> JobId:
    return (await clinic.scan.options(delay="5m", tags=["a"]).enqueue(patient_id=patient, page=7)).id


async def with_keys(clinic: Clinic, patient: UUID) -> JobId:
    bound = clinic.scan.options(key="k", unique=True)
    first = await bound.enqueue(patient_id=patient, page=7)
    again = await bound.enqueue(patient_id=patient, page=7)
    assert again.id == first.id
    return first.id


async def by_name(clinic: Clinic, patient: UUID) -> JobId:
    return (await clinic.app.jobs.enqueue_by_name("scan", {"patient_id": str(patient), "page": 7})).id


async def blocking(clinic: Clinic, patient: UUID) -> JobId:
    return (await asyncio.to_thread(clinic.scan.enqueue_sync, patient_id=patient, page=7)).id


async def from_another_program(clinic: Clinic, patient: UUID) -> JobId:
    """One that does not have the handler, and knows the kind from the database alone."""
    other = Backstay(clinic.url)
    try:
        return (await other.jobs.enqueue_by_name("scan", {"patient_id": str(patient), "page": 7})).id
    finally:
        await other.close()


async def from_a_handler(clinic: Clinic, patient: UUID) -> JobId:
    async with clinic.app.working(kinds=["admit"]):
        job = await clinic.admit.options(max_attempts=1).enqueue(patient_id=patient)
        if patient == NOBODY:
            with pytest.raises(JobDead, match="promoted field 'patient_id' must exist"):
                await job.result(timeout=30)
            raise FieldRefused("patient_id", "must exist, the handler was told")
        return JobId(UUID(await job.result(timeout=30)))


async def as_a_new_job(clinic: Clinic, patient: UUID) -> JobId:
    dead = await clinic.die(patient_id=None, page=1)
    return await clinic.app.dead_letters.retry(
        dead, by="ann", reason="wrong", as_new=True, args={"patient_id": str(patient), "page": 7}
    )


async def with_other_arguments(clinic: Clinic, patient: UUID) -> JobId:
    dead = await clinic.die(patient_id=None, page=1)
    return await clinic.app.dead_letters.retry(
        dead, by="ann", reason="wrong", args={"patient_id": str(patient), "page": 7}
    )


EVERYWHERE: list[Opener] = [
    one,
    together,
    many,
    with_options,
    with_keys,
    by_name,
    blocking,
    from_another_program,
    from_a_handler,
    as_a_new_job,
    with_other_arguments,
]


def in_transaction(driver: Driver) -> Opener:
    async def way(clinic: Clinic, patient: UUID) -> JobId:
        async def body(tx: Any) -> JobId:
            bound = clinic.scan.options(tx=tx)
            if driver.is_sync:
                return bound.enqueue_sync(patient_id=patient, page=7).id
            return (await bound.enqueue(patient_id=patient, page=7)).id

        return JobId(await driver.transact(clinic.url, body))

    way.__name__ = driver.name
    return way


async def by_sql(clinic: Clinic, patient: UUID) -> JobId:
    found = await clinic.sql(
        f"""SELECT backstay.enqueue('scan', '{{"patient_id": "{patient}", "page": 7}}')"""
    )
    return JobId(found[0][0])


async def by_sql_with_a_key(clinic: Clinic, patient: UUID) -> JobId:
    job = f"""{{"kind": "scan", "args": {{"patient_id": "{patient}", "page": 7}}, "idempotency_key": "k"}}"""
    return JobId((await clinic.sql(f"SELECT job_id FROM backstay.enqueue('[{job}]'::jsonb)"))[0][0])


PATHS = [
    *(("sqlite", way) for way in EVERYWHERE),
    *(("sqlite", in_transaction(driver)) for driver in ON_SQLITE),
    *(("postgres", way) for way in EVERYWHERE),
    *(("postgres", in_transaction(driver)) for driver in ON_POSTGRES),
    ("postgres", by_sql),
    ("postgres", by_sql_with_a_key),
]


@pytest.mark.parametrize(
    ("empty_clinic", "way"),
    PATHS,
    indirect=["empty_clinic"],
    ids=[f"{store}-{way.__name__}" for store, way in PATHS],
)
async def test_every_way_in_fills_promoted_fields_and_keeps_foreign_keys(clinic: Clinic, way: Opener) -> None:
    """ENG-105, ENG-106, EXO-010: the columns equal the payload whoever stores the job, and foreign keys hold."""
    job_id = await way(clinic, ADA)

    assert await clinic.found(patient_id=ADA, page=7) == [job_id]
    assert await clinic.found(patient_id=BOB) == []
    before = await clinic.stored()
    if way in (by_sql, by_sql_with_a_key):
        with pytest.raises(asyncpg.ForeignKeyViolationError, match=r"Key \(patient_id\)="):
            await clinic.sql(f"""SELECT backstay.enqueue('scan', '{{"patient_id": "{NOBODY}"}}')""")
    elif way not in (as_a_new_job, with_other_arguments, with_keys):
        with pytest.raises(FieldRefused, match="promoted field 'patient_id' must exist"):
            await way(clinic, NOBODY)
    assert await clinic.stored() == before
    assert await clinic.app.promoted.drift() == []


async def test_a_foreign_key_names_the_field_and_what_to_do(clinic: Clinic) -> None:
    with pytest.raises(
        FieldRefused, match=r"promoted field 'patient_id' must exist .*before the job is stored"
    ) as refused:
        await clinic.scan.enqueue(patient_id=NOBODY)

    assert refused.value.field == "patient_id"
    assert isinstance(refused.value, InvalidJob)
    assert await clinic.stored() == 0


async def test_only_the_caller_with_the_bad_value_hears_of_it(clinic: Clinic) -> None:
    patients = [ADA, NOBODY, BOB]

    results = await asyncio.gather(
        *(clinic.scan.enqueue(patient_id=patient) for patient in patients), return_exceptions=True
    )

    assert [isinstance(result, FieldRefused) for result in results] == [False, True, False]
    assert await clinic.stored() == 2


async def test_a_batch_with_one_bad_value_stores_nothing(clinic: Clinic) -> None:
    calls = [clinic.scan.args(patient_id=patient) for patient in (ADA, NOBODY)]

    with pytest.raises(FieldRefused):
        await clinic.app.jobs.enqueue_many(calls)

    assert await clinic.stored() == 0


async def test_a_malformed_value_is_refused_before_the_database_is_asked(clinic: Clinic) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await clinic.app.jobs.enqueue_by_name("scan", {"patient_id": "not a uuid"})

    assert refused.value.field == "patient_id"
    assert await clinic.stored() == 0


async def test_a_malformed_value_from_another_program_is_refused_by_the_database(clinic: Clinic) -> None:
    other = Backstay(clinic.url)
    # It goes by a declaration of its own, and so not by what the handler takes.
    other.declare("scan")

    with pytest.raises(FieldRefused, match="promoted field 'patient_id' must be a UUID") as refused:
        await other.jobs.enqueue_by_name("scan", {"patient_id": "not a uuid"})

    assert refused.value.field == "patient_id"
    assert await clinic.stored() == 0
    await other.close()


async def test_what_a_field_pointed_at_may_be_deleted(clinic: Clinic) -> None:
    job = await clinic.scan.enqueue(patient_id=ADA, page=7)

    await clinic.sql(f"DELETE FROM patients WHERE id = '{ADA}'")

    assert await clinic.found(patient_id=ADA) == []
    assert await clinic.found(page=7) == [job.id]
    assert [finding.code for finding in await clinic.app.doctor.check() if "promoted" in finding.code] == []


async def test_retention_takes_the_side_row_with_the_job(clinic: Clinic) -> None:
    job = await clinic.scan.enqueue(patient_id=ADA)
    await job.cancel(reason="not needed")
    upkeep = clinic.app._connections.stores("upkeep").upkeep
    assert await clinic.sql(f"SELECT page FROM {clinic.table}") == [(None,)]

    await upkeep.delete_finished({State.CANCELLED: timedelta(seconds=-5)}, after=UUID(int=0), limit=100)

    assert await clinic.stored() == 0
    assert await clinic.sql(f"SELECT page FROM {clinic.table}") == []


async def test_kinds_without_promoted_fields_leave_no_row(clinic: Clinic) -> None:
    await clinic.sweep.enqueue("7")
    await clinic.app.jobs.enqueue_many([clinic.sweep.args("7")])

    assert await clinic.sql(f"SELECT job_id FROM {clinic.table}") == []


async def test_nothing_is_asked_of_the_database_for_kinds_that_promote_nothing(empty_clinic: Clinic) -> None:
    """Not even where the columns of other kinds are missing."""
    await empty_clinic.sweep.enqueue("7")
    await empty_clinic.app.jobs.enqueue_many([empty_clinic.sweep.args("7")])

    assert empty_clinic.app.promoted.fit == set()
    assert len((await empty_clinic.app.jobs.search(JobFilter(kind="sweep"))).jobs) == 2


async def test_a_job_is_refused_while_the_database_lacks_its_columns(empty_clinic: Clinic) -> None:
    with pytest.raises(SchemaMismatch, match=r"column promoted.patient_id.*run 'backstay db migrate"):
        await empty_clinic.scan.enqueue(patient_id=ADA)

    with pytest.raises(SchemaMismatch):
        await empty_clinic.app.jobs.enqueue_many([empty_clinic.scan.args(patient_id=ADA)])
    assert await empty_clinic.stored() == 0

    await empty_clinic.app.promoted.migrate()
    await empty_clinic.scan.enqueue(patient_id=ADA)
    assert await empty_clinic.stored() == 1


async def test_a_search_goes_on_by_its_cursor(clinic: Clinic) -> None:
    stored = [(await clinic.scan.enqueue(patient_id=ADA, page=page)).id for page in range(3)]
    filters = JobFilter(promoted={"patient_id": str(ADA).upper()})

    first = await clinic.app.jobs.search(filters, limit=2)
    rest = await clinic.app.jobs.search(JobFilter(promoted={"patient_id": ADA}), cursor=first.cursor, limit=2)

    assert [job.id for job in (*first.jobs, *rest.jobs)] == stored[::-1]
    assert rest.cursor is None


async def test_a_search_by_an_unknown_field_or_a_bad_value_says_so(clinic: Clinic) -> None:
    with pytest.raises(InvalidPolicy, match=r"'doctor_id'.*promoted fields: page, patient_id"):
        await clinic.found(doctor_id=1)
    with pytest.raises(InvalidPolicy, match=r"patient_id cannot be 'ada'.*UUID"):
        await clinic.found(patient_id="ada")
    with pytest.raises(InvalidPolicy, match="page cannot be None"):
        await clinic.found(page=None)


async def test_a_program_without_the_handlers_searches_too(clinic: Clinic) -> None:
    job = await clinic.scan.enqueue(patient_id=ADA)
    other = Backstay(clinic.url)

    page = await other.jobs.search(JobFilter(promoted={"patient_id": str(ADA)}))

    assert [found.id for found in page.jobs] == [job.id]
    await other.close()


async def test_every_profile_has_a_table_of_its_own(clinic: Clinic) -> None:
    other = Backstay(clinic.url, profile=Profile(name="Other Clinic"))

    @other.job(promote=["page"])
    async def letter(page: str) -> None: ...

    await other.promoted.migrate()
    mine = await clinic.scan.enqueue(page=7)
    theirs = await letter.enqueue(page="7")

    found = await other.jobs.search(JobFilter(promoted={"page": "7"}))
    assert [job.id for job in found.jobs] == [theirs.id]
    assert await clinic.found(page=7) == [mine.id]
    assert await clinic.sql(f"SELECT page FROM {clinic.table}_other_clinic") == [("7",)]
    await other.close()


async def test_the_doctor_finds_columns_that_are_not_there(empty_clinic: Clinic) -> None:
    findings = {finding.code: finding for finding in await empty_clinic.app.doctor.check()}

    assert "column promoted.patient_id" in findings["promoted_drift"].detail
    assert "backstay db migrate" in findings["promoted_drift"].advice


async def test_a_doctor_without_the_code_knows_what_workers_declared(empty_clinic: Clinic) -> None:
    async with empty_clinic.app.working(kinds=["scan"]):
        other = Backstay(empty_clinic.url)
        findings = {finding.code: finding for finding in await other.doctor.check()}
        await other.close()

    assert "column promoted.patient_id" in findings["promoted_drift"].detail


async def test_the_doctor_finds_a_planted_row_without_its_values(clinic: Clinic) -> None:
    """ENG-123, EXO-039: unfilled promoted columns are reported."""
    jobs = [(await clinic.scan.enqueue(patient_id=ADA, page=page)).id for page in range(3)]
    await clinic.sql(f"DELETE FROM {clinic.table} WHERE page = 0")
    await clinic.sql(f"UPDATE {clinic.table} SET page = NULL WHERE page = 1")

    findings = {finding.code: finding for finding in await clinic.app.doctor.check()}
    done = await clinic.app.promoted.fill()

    unfilled = findings["promoted_unfilled"]
    assert (unfilled.count, unfilled.title) == (2, "promoted fields of 'scan' are not filled")
    assert str(jobs[0]) in unfilled.detail
    assert "backstay db fill" in unfilled.advice
    assert (done.filled, done.problems) == (2, {})
    assert [await clinic.found(page=page) for page in range(3)] == [[job] for job in jobs]
    assert "promoted_unfilled" not in {finding.code for finding in await clinic.app.doctor.check()}


async def test_filling_goes_through_all_jobs_in_chunks(empty_clinic: Clinic) -> None:
    before = Backstay(empty_clinic.url)
    before.declare("scan")
    for page in [*range(7), "eight"]:
        await before.jobs.enqueue_by_name("scan", {"page": page})
    await empty_clinic.app.promoted.migrate()

    done = await empty_clinic.app.promoted.fill(chunk=3)

    assert done.filled == 7
    assert ["'page' must be a whole number" in problem for problem in done.problems.values()] == [True]
    assert [len(await empty_clinic.found(page=page)) for page in range(7)] == [1] * 7
    await before.close()


async def test_a_field_that_is_no_longer_declared_is_no_longer_checked(clinic: Clinic) -> None:
    later = Backstay(clinic.url)
    later.job(kind="scan")(scan)

    made = await later.promoted.migrate()

    assert made == ["scan promotes nothing any more"]
    assert await later.promoted.drift() == []
    await later.jobs.enqueue_by_name("scan", {"page": 1})
    assert await clinic.sql(f"SELECT page FROM {clinic.table}") == []
    await later.close()


async def test_the_tables_of_the_release_are_not_taken_for_drift(clinic: Clinic) -> None:
    assert await clinic.app._connections.drift() == []


async def test_the_printed_sql_makes_what_the_fields_need(empty_clinic: Clinic) -> None:
    text = empty_clinic.app._connections.script(empty_clinic.app.promoted.declared())
    made = text[text.index(f"CREATE TABLE IF NOT EXISTS {empty_clinic.table}") :]
    if empty_clinic.url.startswith("sqlite"):
        with sqlite3.connect(empty_clinic.url.removeprefix("sqlite:///")) as file:
            file.executescript(made)
    else:
        connection = await asyncpg.connect(empty_clinic.url)
        await connection.execute(made)
        await connection.close()

    assert await empty_clinic.app.promoted.drift() == []
    job = await empty_clinic.scan.enqueue(patient_id=ADA)
    assert await empty_clinic.found(patient_id=ADA) == [job.id]


def test_kinds_that_share_a_column_must_agree() -> None:
    app = Backstay("sqlite://:memory:")

    @app.job(promote=["page"])
    async def first(page: int) -> None: ...

    with pytest.raises(
        InvalidSettings, match="'second' promotes page text, but 'first' promotes page integer"
    ):

        @app.job(promote=["page"])
        async def second(page: str) -> None: ...
