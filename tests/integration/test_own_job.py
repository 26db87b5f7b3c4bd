"""What a handler learns about its own job and run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from backstay import Backstay, Context
from backstay.testing import Harness, PrivatePostgres, harness
from backstay.testing.database import IN_MEMORY

app = Backstay("sqlite:////nowhere/own_job.db")


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("own_job")
    yield postgres_server.url("own_job")
    postgres_server.drop_database("own_job")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest) -> Iterator[Harness]:
    url = IN_MEMORY if request.param == "sqlite" else request.getfixturevalue("test_database")
    with harness(app, url) as opened:
        yield opened


def told(ctx: Context) -> dict[str, Any]:
    return {
        "worker": ctx.worker_id,
        "created_by": ctx.created_by,
        "tags": list(ctx.tags),
        "metadata": ctx.metadata,
        "left": ctx.time_left.total_seconds(),
        "timeout": ctx.timeout.total_seconds(),
    }


@app.job(timeout="90s")
async def tell(ctx: Context) -> dict[str, Any]:
    return told(ctx)


@app.job(timeout="90s")
def tell_in_a_thread(ctx: Context) -> dict[str, Any]:
    return told(ctx)


@pytest.mark.parametrize("handler", [tell, tell_in_a_thread])
async def test_a_handler_is_told_who_asked_and_how_long_it_has(backstay: Harness, handler: Any) -> None:
    options = handler.options(created_by="ada", tags=["a", "b"], metadata={"flow": "f-1"})
    ran = await backstay.try_job(options)

    facts = ran.result
    assert facts["worker"] == ran.job.settled_by
    assert (facts["created_by"], facts["tags"], facts["metadata"]) == ("ada", ["a", "b"], {"flow": "f-1"})
    assert (facts["timeout"], 0 < facts["left"] <= 90) == (90, True)


async def test_a_plain_job_has_none_of_it(backstay: Harness) -> None:
    ran = await backstay.try_job(tell)

    assert (ran.result["created_by"], ran.result["tags"], ran.result["metadata"]) == (None, [], {})


@app.job
async def log_a_line(ctx: Context) -> None:
    ctx.log.info("looked")


async def test_a_line_of_a_job_names_its_tenant(backstay: Harness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "backstay.job")
    await backstay.try_job(log_a_line.options(tenant="acme"))
    await backstay.try_job(log_a_line)

    lines = [record for record in caplog.records if record.message == "looked"]
    assert [vars(line).get("tenant") for line in lines] == ["acme", None]


def test_a_context_that_nobody_runs_can_be_made_with_all_of_it() -> None:
    ctx = Context(
        job_id=Any, kind="k", queue="q", created_by="ada", tags=["a"], metadata={"x": 1}, timeout=timedelta(1)
    )

    assert (ctx.created_by, ctx.tags, ctx.metadata, ctx.time_left) == ("ada", ("a",), {"x": 1}, timedelta(1))
