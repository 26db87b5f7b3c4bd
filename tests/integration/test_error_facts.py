"""Errors carry facts: what a handler noted and what its exception brought, wherever the error is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from backstay import Backoff, Backstay, BatchItem, Context, Hopeless, Retry, State
from backstay.errors import InvalidPayload
from backstay.testing import Harness, PrivatePostgres, harness
from backstay.testing.database import IN_MEMORY

told: list[tuple[str, dict[str, Any]]] = []
app = Backstay("sqlite:////nowhere/facts.db", emit=lambda event, /, **facts: told.append((event, facts)))
SECRET = "sk_live_0123456789abcdefghij"


class Refused(Exception):
    """What a client of some service raises."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__("refused")
        self.code, self.details = code, details


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("error_facts")
    yield postgres_server.url("error_facts")
    postgres_server.drop_database("error_facts")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest) -> Iterator[Harness]:
    url = IN_MEMORY if request.param == "sqlite" else request.getfixturevalue("test_database")
    told.clear()
    with harness(app, url) as opened:
        yield opened


@app.job(max_attempts=2, backoff=Backoff.fixed("1s"))
async def read_pages(ctx: Context) -> None:
    ctx.note(provider="eu-2", page=1)
    ctx.note(page=7, authorization=SECRET)
    ctx.note_partial({"pages": [1, 2, 3]})
    await asyncio.sleep(0)
    if ctx.run == 1:
        raise Retry("cut off", details={"finish_reason": "length"})
    raise Hopeless("not ready") from Refused("SNAPSHOT_NOT_READY", shelf=3)


async def test_attempts_letters_and_events_tell_the_facts(backstay: Harness) -> None:
    handle = await read_pages.enqueue()
    await backstay.drain(with_scheduled=True)

    noted = {"provider": "eu-2", "page": 7, "authorization": "***"}
    first, last = await app.jobs.attempts(handle.id)
    letter = (await app.dead_letters.of_job(handle.id))[0]
    assert first.error is not None
    assert last.error is not None
    assert letter.error is not None
    assert first.error["details"] == {"finish_reason": "length", **noted}
    assert first.error["partial_result"] == {"pages": [1, 2, 3]}
    assert last.error["details"] == letter.error["details"] == noted
    assert (last.error["code"], letter.error["partial_result"]) == (
        "SNAPSHOT_NOT_READY",
        {"pages": [1, 2, 3]},
    )
    failed = next(facts for event, facts in told if event == "job.failed")
    dead = next(facts for event, facts in told if event == "job.dead")
    assert failed["error_details"]["details"] == {"finish_reason": "length", **noted}
    assert dead["error_details"]["details"] == noted
    assert "partial_result" not in str(told)
    assert SECRET not in str(told)


@app.job(timeout="100ms", max_attempts=1)
async def hang(ctx: Context) -> None:
    ctx.note(page=3)
    await asyncio.Event().wait()


async def test_a_handler_that_runs_out_of_time_tells_what_it_noted(backstay: Harness) -> None:
    ran = await backstay.try_job(hang)

    assert ran.job.error is not None
    assert (ran.job.error["error_class"], ran.job.error["details"]) == ("timeout", {"page": 3})


@app.job(max_attempts=1)
async def refuse_in_transaction(ctx: Context) -> None:
    ctx.note(page=4)
    async with ctx.transaction() as tx:
        tx.fail(Hopeless("no", details={"row": 9}))


async def test_a_transaction_that_fails_the_job_tells_them_too(backstay: Harness) -> None:
    ran = await backstay.try_job(refuse_in_transaction)

    assert ran.job.error is not None
    assert (ran.job.state, ran.job.error["details"]) == (State.DEAD, {"row": 9, "page": 4})


@app.job
async def noted_and_done(ctx: Context) -> str:
    ctx.note(page=5)
    ctx.note_partial("half")
    return "whole"


async def test_a_job_that_completes_keeps_nothing_of_it(backstay: Harness) -> None:
    ran = await backstay.try_job(noted_and_done)

    assert (ran.job.result, ran.job.error) == ("whole", None)


@app.job(max_attempts=1)
def note_what_cannot_be(ctx: Context) -> None:
    ctx.note_partial({"thing": object()})


async def test_a_partial_result_is_json(backstay: Harness) -> None:
    ran = await backstay.try_job(note_what_cannot_be)

    assert ran.job.error is not None
    assert ran.job.error["type"] == f"backstay.{InvalidPayload.__name__}"


@app.batch_job(size=2, wait="10ms", max_attempts=1)
async def import_rows(items: list[BatchItem[int]]) -> None:
    for item in items:
        item.fail(Hopeless("no", details={"row": item.value}))


async def test_the_items_of_a_batch_have_facts_of_their_own(backstay: Harness) -> None:
    handles = [await import_rows.enqueue(number) for number in (1, 2)]
    await backstay.drain()

    errors = [(await handle.get()).error or {} for handle in handles]
    assert [error["details"] for error in errors] == [{"row": 1}, {"row": 2}]
