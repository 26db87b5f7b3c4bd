"""Jobs join Django's `atomic` blocks without being asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import django
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.conf import settings
from django.db import connection, connections, transaction

from backstay import Backoff, Backstay
from backstay.errors import FieldRefused, IdempotencyMismatch, InvalidSettings, StoreError, WrongDatabase
from backstay.integrations.django import database_url, setup
from backstay.integrations.django.management.commands.backstay import Command
from backstay.records import JobFilter
from backstay.testing import PrivatePostgres


class Change(Exception):
    """Somebody changed their mind."""


@pytest.fixture(scope="module")
def configured(postgres_server: PrivatePostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A project with PostgreSQL, a second database there, and two files; settings can be made once a process."""
    folder = tmp_path_factory.mktemp("django")
    for name in ("django", "django_other"):
        postgres_server.create_database(name)
    settings.configure(
        DATABASES={
            "default": on_postgres(postgres_server, "django"),
            "other": on_postgres(postgres_server, "django_other"),
            "file": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "site.db"},
            "other_file": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "other.db"},
        },
        USE_TZ=True,
    )
    django.setup()
    yield
    connections.close_all()
    for name in ("django", "django_other"):
        postgres_server.drop_database(name)


def on_postgres(server: PrivatePostgres, name: str) -> dict[str, Any]:
    parts = urlsplit(server.url(name))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": parts.username or "",
        "PASSWORD": parts.password or "",
        "HOST": parts.hostname or "",
        "PORT": parts.port or "",
    }


class Site:
    """A Django project's application, with its jobs in one of the project's databases."""

    def __init__(self, alias: str, other: str) -> None:
        self.alias, self.other = alias, other
        self.app = Backstay(database_url(alias))
        self.noted: asyncio.Queue[int] = asyncio.Queue()
        self.note = self.app.job(kind="note")(self._note)

    async def _note(self, number: int) -> None:
        self.noted.put_nowait(number)

    def numbers(self) -> list[int]:
        return sorted(job.args["number"] for job in self.app.sync.jobs.search(limit=200).jobs)


@pytest.fixture(params=[("default", "other"), ("file", "other_file")], ids=["postgresql", "sqlite"])
def site(request: pytest.FixtureRequest, configured: None) -> Iterator[Site]:
    site = Site(*request.param)
    asyncio.run(migrated(site.app))
    yield site
    with connections[site.alias].cursor() as cursor:
        for table in ("jobs", "idempotency_keys"):
            cursor.execute(f"DELETE FROM backstay{'.' if site.alias == 'default' else '_'}{table}")
    connections.close_all()
    site.app.close_sync()


async def migrated(app: Backstay) -> None:
    await app._connections.migrate()
    await app.promoted.migrate()
    await app.close()


def test_an_atomic_block_that_ends_well_leaves_the_job(site: Site) -> None:
    with transaction.atomic(using=site.alias):
        site.note.enqueue_sync(1)
        assert site.numbers() == []

    assert site.numbers() == [1]


def test_an_atomic_block_that_fails_leaves_nothing(site: Site) -> None:
    with suppress(Change), transaction.atomic(using=site.alias):
        site.note.enqueue_sync(1)
        site.app.sync.jobs.enqueue_many([site.note.args(2), site.note.args(3)])
        site.app.sync.jobs.enqueue_by_name("note", {"number": 4})
        raise Change

    assert site.numbers() == []


def test_an_inner_block_that_fails_takes_only_its_own_jobs(site: Site) -> None:
    with transaction.atomic(using=site.alias):
        site.note.enqueue_sync(1)
        with suppress(Change), transaction.atomic(using=site.alias):
            site.note.enqueue_sync(2)
            raise Change
        site.app.sync.jobs.enqueue_many([site.note.args(3), site.note.args(4)])

    assert site.numbers() == [1, 3, 4]


def test_promoted_fields_are_filled_and_checked_in_a_block(site: Site) -> None:
    @site.app.job(promote=["page"])
    async def scan(page: int) -> None: ...

    asyncio.run(migrated(site.app))
    with transaction.atomic(using=site.alias):
        job = scan.enqueue_sync(7)

    found = site.app.sync.jobs.search(JobFilter(promoted={"page": 7}))
    assert [one.id for one in found.jobs] == [job.id]
    unaware = Site(site.alias, site.other)
    unaware.app.declare("scan")
    with (
        pytest.raises(FieldRefused, match="'page' must be a whole number"),
        transaction.atomic(using=site.alias),
    ):
        unaware.app.sync.jobs.enqueue_by_name("scan", {"page": "seven"})
    unaware.app.close_sync()


def test_without_a_block_the_job_is_committed_at_once(site: Site) -> None:
    site.note.enqueue_sync(1)

    assert site.numbers() == [1]


def test_a_block_on_another_database_is_not_joined(site: Site) -> None:
    with suppress(Change), transaction.atomic(using=site.other):
        for number in (1, 2):
            site.note.enqueue_sync(number)
        raise Change

    assert site.numbers() == [1, 2]


def test_the_block_on_the_stores_database_is_joined_when_several_are_open(site: Site) -> None:
    with transaction.atomic(using=site.other), suppress(Change), transaction.atomic(using=site.alias):
        site.note.enqueue_sync(1)
        raise Change

    assert site.numbers() == []


def test_a_job_can_be_kept_out_of_the_block(site: Site) -> None:
    with suppress(Change), transaction.atomic(using=site.alias):
        site.note.options(tx=False).enqueue_sync(1)
        raise Change

    assert site.numbers() == [1]


def test_a_connection_can_be_handed_in(site: Site) -> None:
    with suppress(Change), transaction.atomic(using=site.alias):
        site.note.options(tx=connections[site.alias]).enqueue_sync(1)
        raise Change

    assert site.numbers() == []


def test_a_connection_without_a_block_is_refused(site: Site) -> None:
    with pytest.raises(InvalidSettings, match=rf"no atomic block .*'{site.alias}'.*transaction\.atomic"):
        site.note.options(tx=connections[site.alias]).enqueue_sync(1)


def test_a_connection_to_another_database_is_refused_by_name(site: Site) -> None:
    with transaction.atomic(using=site.other), pytest.raises(WrongDatabase, match="other"):
        site.note.options(tx=connections[site.other]).enqueue_sync(1)


def test_the_default_connection_can_be_handed_in_as_django_names_it(configured: None) -> None:
    app = Backstay(database_url())
    note = app.job(kind="note")(lambda number: None)
    asyncio.run(migrated(app))

    with suppress(Change), transaction.atomic():
        job = note.options(tx=connection).enqueue_sync(1)
        raise Change

    assert job.id not in [found.id for found in app.sync.jobs.search().jobs]
    app.close_sync()


async def test_a_commit_wakes_a_worker_that_would_not_look_for_a_minute(site: Site) -> None:
    def store() -> None:
        with transaction.atomic(using=site.alias):
            site.note.enqueue_sync(7)
        connections.close_all()

    async with site.app.working(poll_idle="60s"):
        await asyncio.to_thread(store)
        assert await asyncio.wait_for(site.noted.get(), timeout=20) == 7
    await site.app.close()


def test_a_coroutine_called_from_a_block_joins_it(site: Site) -> None:
    async def enqueue(number: int) -> None:
        await site.note.enqueue(number)
        await site.app.jobs.enqueue_many([site.note.args(number + 1)])

    with suppress(Change), transaction.atomic(using=site.alias):
        async_to_sync(enqueue)(1)
        raise Change
    with transaction.atomic(using=site.alias):
        async_to_sync(enqueue)(5)

    assert site.numbers() == [5, 6]


async def test_a_blocking_call_below_a_coroutine_joins_the_block_of_its_thread(site: Site) -> None:
    def in_a_block(number: int, error: type[Exception] | None) -> None:
        with transaction.atomic(using=site.alias):
            site.note.enqueue_sync(number)
            if error is not None:
                raise error
        connections.close_all()

    await sync_to_async(in_a_block)(1, None)
    with pytest.raises(Change):
        await sync_to_async(in_a_block)(2, Change)

    assert await asyncio.to_thread(site.numbers) == [1]
    await sync_to_async(connections.close_all)()


async def test_a_coroutine_of_its_own_is_part_of_no_block(site: Site) -> None:
    await site.note.enqueue(1)

    assert await asyncio.to_thread(site.numbers) == [1]
    await site.app.close()


def test_a_mismatch_inside_an_inner_block_leaves_the_outer_one_usable(site: Site) -> None:
    with transaction.atomic(using=site.alias):
        site.note.options(key="k").enqueue_sync(1)
        with pytest.raises(IdempotencyMismatch), transaction.atomic(using=site.alias):
            site.note.options(key="k").enqueue_sync(2)
        site.note.enqueue_sync(3)

    assert site.numbers() == [1, 3]


def test_a_block_that_is_lost_takes_no_more_jobs(site: Site) -> None:
    with transaction.atomic(using=site.alias):
        site.note.enqueue_sync(1)
        transaction.set_rollback(True, using=site.alias)
        with pytest.raises(StoreError, match="until the end of the 'atomic' block"):
            site.note.enqueue_sync(2)

    assert site.numbers() == []


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (
            {"HOST": "db", "PORT": "5433", "USER": "a b", "PASSWORD": "p@ss/w"},
            "postgresql://a%20b:p%40ss%2Fw@db:5433/n",
        ),
        ({"HOST": "/run/pg", "PORT": 5433, "USER": "u"}, "postgresql://u@/n?host=%2Frun%2Fpg&port=5433"),
        (
            {"HOST": "db", "OPTIONS": {"sslmode": "require", "pool": True}},
            "postgresql://db/n?sslmode=require",
        ),
    ],
    ids=["all", "socket", "options"],
)
def test_a_projects_settings_become_a_url(
    configured: None, given: dict[str, Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections["default"], "settings_dict", {"NAME": "n", **given})

    assert database_url() == url


def test_a_database_in_memory_is_refused(configured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["file"], "settings_dict", {"NAME": ":memory:"})

    with pytest.raises(InvalidSettings, match="no second connection can open"):
        database_url("file")


@pytest.mark.parametrize("site", [("default", "other")], ids=["postgresql"], indirect=True)
async def test_a_lost_connection_costs_one_attempt_and_no_later_job(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a project that keeps its connections; otherwise every handler has a new one.
    monkeypatch.setitem(connections[site.alias].settings_dict, "CONN_MAX_AGE", None)
    used: list[Any] = []

    @site.app.job(max_attempts=2, backoff=Backoff.fixed("10ms"))
    def ask() -> None:
        own = connections[site.alias]
        with own.cursor() as cursor:
            cursor.execute("SELECT 1")
        used.append(own.connection)

    @site.app.job
    def cut() -> None:
        used[-1].close()  # as a server does that is started again

    @site.app.job
    def leave() -> None:
        connections[site.alias].close()

    async with site.app.working(concurrency=1):
        await (await ask.enqueue()).result(timeout=60)
        await (await cut.enqueue()).result(timeout=60)
        jobs = [await ask.enqueue() for _ in range(3)]
        for job in jobs:
            await job.result(timeout=60)
        await (await leave.enqueue()).result(timeout=60)

    attempts = [(await site.app.jobs.get(job.id)).attempt for job in jobs]
    assert sum(attempts) <= 4
    await site.app.close()


def test_django_is_set_up_once_whoever_imports_the_jobs_first(configured: None) -> None:
    setup()
    apps.ready, apps.loading = False, True
    try:
        setup()
    finally:
        apps.ready, apps.loading = True, False


def test_every_command_is_there_in_manage_py(configured: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        Command().run_from_argv(["manage.py", "backstay", "--help"])

    assert left.value.code == 0
    assert "worker" in capsys.readouterr().out
