"""A database that refuses says so at once: only a broken connection leaves open whether a job was stored."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from typing import Any

import asyncpg
import pytest

from backstay import Backstay
from backstay.client import retry_until_known
from backstay.client.retry_until_known import until_certain
from backstay.errors import InvalidJob, OutcomeUnknown, StoreUnavailable
from backstay.runtime.env import SYSTEM
from backstay.stores.database import postgres, sqlite
from backstay.testing import PrivatePostgres

REFUSALS = [
    sqlite.translate(sqlite3.OperationalError("database or disk is full")),
    sqlite.translate(sqlite3.OperationalError("attempt to write a readonly database")),
    postgres.translate(asyncpg.DiskFullError("could not extend file: No space left on device")),
    postgres.translate(
        asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction")
    ),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
async def test_a_refusal_is_told_at_once_and_as_it_is(refusal: Exception) -> None:
    tries = 0

    async def refuse() -> None:
        nonlocal tries
        tries += 1
        raise refusal

    with pytest.raises(StoreUnavailable) as told:
        await until_certain(refuse, what="enqueue", ids=[7], env=SYSTEM)

    assert (told.value, tries) == (refusal, 1)


async def test_an_unknown_outcome_tells_what_was_heard_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry_until_known, "PATIENCE", -1)

    async def break_down() -> None:
        raise StoreUnavailable("PostgreSQL ended the connection: too tired")

    with pytest.raises(OutcomeUnknown, match="too tired"):
        await until_certain(break_down, what="enqueue", ids=[7], env=SYSTEM)


@pytest.fixture
async def read_only_app(postgres_server: PrivatePostgres) -> AsyncIterator[Backstay]:
    postgres_server.create_database("read_only")
    app = Backstay(postgres_server.url("read_only"))
    await app.migrate()
    await app.close()
    connection = await asyncpg.connect(postgres_server.url("read_only"))
    await connection.execute("ALTER DATABASE read_only SET default_transaction_read_only = on")
    await connection.close()
    yield app
    await app.close()
    postgres_server.drop_database("read_only")


async def test_a_server_that_takes_no_changes_refuses_a_job(read_only_app: Backstay) -> None:
    @read_only_app.job
    async def work() -> None: ...

    with pytest.raises(StoreUnavailable, match="takes no changes here"):
        await work.enqueue()


ODD: list[dict[str, Any]] = [
    {"key": ""},
    {"key": "", "throttle": "1/1s"},
    {"throttle": -1},
    {"throttle": float("nan")},
    {"metadata": [1]},
    {"metadata": 5},
    {"metadata": {"at": datetime(2030, 5, 17)}},  # noqa: DTZ001 -- also one with a zone would arrive as text
    {"description": 5},
    {"description": b"text"},
    {"run_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
    {"run_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), "key": "k"},
    {"run_at": "tomorrow"},
    {"expires": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
]


@pytest.mark.parametrize("options", ODD, ids=repr)
async def test_an_odd_option_is_refused_by_its_name(empty_app: Backstay, options: dict[str, Any]) -> None:
    @empty_app.job
    async def work() -> None: ...

    with pytest.raises(InvalidJob, match=next(iter(options))) as refused:
        await work.options(**options).enqueue()

    assert not isinstance(refused.value, TypeError)
    assert (await empty_app.jobs.search()).jobs == []
