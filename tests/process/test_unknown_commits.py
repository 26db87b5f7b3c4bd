"""Handlers' transactions whose connection is cut at the commit: the user's table has each effect once."""

from __future__ import annotations

from typing import Any

import pytest
from support import Workshop, eventually

from backstay.runtime.env import SYSTEM
from backstay.stores.handler_transaction.commit_outcome import Question, was_committed
from chaos.proxy import Proxy, commit_after_guard, statement

# So long that no rescue can be what saved a job in these tests.
LONG_LEASE = "60s"

WAYS: list[tuple[str, dict[str, Any]]] = [
    ("pay", {"way": "own"}),
    ("pay", {"way": "asyncpg"}),
    ("pay", {"way": "sqlalchemy"}),
    ("pay_in_thread", {}),
]
each_way = pytest.mark.parametrize(("kind", "args"), WAYS, ids=["own", "asyncpg", "sqlalchemy", "thread"])


@pytest.fixture
async def bank(postgres_shop: Workshop) -> Workshop:
    await postgres_shop.rows("CREATE TABLE payments (n integer)")
    return postgres_shop


@each_way
async def test_a_commit_whose_reply_was_lost_counts_once(
    bank: Workshop, kind: str, args: dict[str, Any]
) -> None:
    async with Proxy.before(bank.url) as proxy:
        cut = proxy.lose_reply(commit_after_guard())
        worker = await bank.started_worker(url=proxy.url, lease=LONG_LEASE, kinds=[kind])
        job_id = await bank.enqueue(kind, n=1, **args)

        await eventually(lambda: bank.journal("end"), within=20)

        assert cut.seen
        assert await worker.terminated() == 0
        assert worker.events("worker.stopped")[0]["late_outcomes"] == 0
    assert await bank.rows("SELECT n FROM payments") == [(1,)]
    assert len(bank.journal("start")) == 1
    job = await bank.app.jobs.get(job_id)
    assert (job.state, job.attempt, job.run) == ("completed", 1, 1)


@each_way
async def test_a_commit_that_was_never_sent_is_made_by_the_next_attempt(
    bank: Workshop, kind: str, args: dict[str, Any]
) -> None:
    async with Proxy.before(bank.url) as proxy:
        cut = proxy.lose_request(commit_after_guard())
        worker = await bank.started_worker(url=proxy.url, lease=LONG_LEASE, kinds=[kind])
        job_id = await bank.enqueue(kind, n=1, **args)

        await bank.all_ended(1, within=20)

        assert cut.seen
        assert await worker.terminated() == 0
    assert await bank.rows("SELECT n FROM payments") == [(1,)]
    assert [line.run for line in bank.journal("start")] == [1, 2]
    job = await bank.app.jobs.get(job_id)
    first = (await bank.app.jobs.attempts(job_id))[0]
    assert (job.state, job.attempt, first.status) == ("completed", 2, "failed")


@pytest.mark.parametrize("kind", ["pay", "pay_in_thread"])
async def test_a_link_of_ours_that_dies_without_a_sign_before_the_commit_costs_an_attempt(
    bank: Workshop, kind: str
) -> None:
    """The job's row is changed and the reply never comes: we give up, and the job is done again."""
    async with Proxy.before(bank.url) as proxy:
        held = proxy.delay_reply(statement("completing/complete"), seconds=600)
        worker = await bank.started_worker(url=proxy.url, lease=LONG_LEASE, kinds=[kind], patience=1)
        job_id = await bank.enqueue(kind, n=1)

        await bank.all_ended(1, within=20)

        assert held.seen
        assert await worker.terminated() == 0
    assert await bank.rows("SELECT n FROM payments") == [(1,)]
    job = await bank.app.jobs.get(job_id)
    assert (job.state, job.attempt, job.run) == ("completed", 2, 2)


@pytest.mark.parametrize("way", ["asyncpg", "sqlalchemy"])
async def test_a_link_of_the_handlers_that_dies_without_a_sign_before_the_commit_keeps_no_row_locked(
    bank: Workshop, way: str
) -> None:
    """How long a handler waits on its own connection is its affair; the server does not wait with it."""
    async with Proxy.before(bank.url) as proxy:
        held = proxy.delay_reply(statement("completing/complete"), seconds=600)
        bank.start_worker(url=proxy.url, lease=LONG_LEASE, kinds=["pay"], patience=1)
        await bank.enqueue("pay", n=1, way=way)
        await eventually(lambda: held.seen, within=20)

        await eventually(lambda: bank.rows("SELECT 1 FROM backstay.jobs FOR UPDATE SKIP LOCKED"), within=20)

    assert await bank.rows("SELECT n FROM payments") == []


async def test_an_outcome_that_cannot_be_learnt_is_not_guessed(bank: Workshop) -> None:
    """The handler is told so; when the database is back, the fence shows that the job was done."""
    async with Proxy.before(bank.url) as proxy:
        proxy.lose_reply(commit_after_guard())
        proxy.refuse_after_fault = True
        worker = await bank.started_worker(url=proxy.url, lease=LONG_LEASE, kinds=["pay"], certain_within=0.5)
        job_id = await bank.enqueue("pay", n=1)
        await eventually(lambda: proxy._server is None, within=20)
        await eventually(lambda: worker.events("store.failed"), within=20)
        await proxy.open()

        await eventually(lambda: worker.events("job.settled") or worker.events("claim.lost"), within=30)

        assert await worker.terminated() == 0
    assert await bank.rows("SELECT n FROM payments") == [(1,)]
    assert (await bank.app.jobs.get(job_id)).state == "completed"
    assert (len(bank.journal("start")), bank.journal("end")) == (1, [])


async def test_a_connection_that_died_while_nobody_used_it_costs_no_attempt(
    bank: Workshop,
) -> None:
    """It was kept for the next handler, whose transaction begins on another one."""
    async with Proxy.before(bank.url) as proxy:
        settings = {"lease": LONG_LEASE, "kinds": ["pay"], "patience": 1}
        worker = await bank.started_worker(url=proxy.url, **settings)
        await bank.enqueue("pay", n=1)
        await bank.all_ended(1, within=20)

        assert (
            proxy.go_silent(which=lambda link: any("payments" in text for text in link.names.values())) == 1
        )
        job_id = await bank.enqueue("pay", n=2)
        await bank.all_ended(2, within=20)

        assert await worker.terminated() == 0
    job = await bank.app.jobs.get(job_id)
    assert (job.state, job.attempt, job.run) == ("completed", 1, 1)


async def test_the_number_of_a_transaction_that_a_crash_has_given_to_another_proves_nothing(
    bank: Workshop,
) -> None:
    job_id = await bank.enqueue("pay", n=1)
    [(number,)] = await bank.rows("SELECT pg_current_xact_id()::text")

    asked = was_committed(Question(job_id, 1, number), url=bank.url, pooled=False, env=SYSTEM)

    assert await asked is False


async def test_a_cancel_that_meets_the_commit_comes_too_late(bank: Workshop) -> None:
    """The commit is finished first, and what is committed stays."""
    async with Proxy.before(bank.url) as proxy:
        held = proxy.delay_reply(commit_after_guard(), seconds=2)
        worker = await bank.started_worker(url=proxy.url, lease=LONG_LEASE, kinds=["pay"])
        job_id = await bank.enqueue("pay", n=1)
        await eventually(lambda: held.seen, within=20)
        rival = await bank.app.jobs.cancel(job_id, reason="too late") if not await is_done(bank) else None

        await bank.all_ended(1, within=20)

        assert await worker.terminated() == 0
    assert rival in (None, "running")
    assert await bank.rows("SELECT n FROM payments") == [(1,)]
    assert await bank.app.jobs.attempts(job_id) == []


async def is_done(bank: Workshop) -> bool:
    """The commit is carried out at once, and only its reply is late: whoever cancels may find the job completed."""
    return (await bank.states())["completed"] == 1
