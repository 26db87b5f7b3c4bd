"""What a store does with its connections when something goes wrong between or inside statements."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from backstay.composition.connect import open_database, stores_on
from backstay.errors import IdempotencyMismatch, StoreUnavailable, WrongState
from backstay.model.job import JobId
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import migrate
from backstay.stores.database.postgres import Postgres
from backstay.testing.clock import FrozenClock
from backstay.testing.contract.support import LEASE, REPORT, SECOND, Store, wanted
from chaos.proxy import Proxy

MAIL = wanted("mail")


@asynccontextmanager
async def locked_by_a_stranger(database: Postgres, jobs: Sequence[JobId]) -> AsyncIterator[None]:
    """Another session is about to change these jobs."""
    stranger = await asyncpg.connect(database.url)
    try:
        async with stranger.transaction():
            await stranger.execute("SELECT 1 FROM backstay.jobs WHERE id = ANY ($1) FOR UPDATE", jobs)
            yield
    finally:
        await stranger.close()


async def test_a_refused_action_costs_no_connection(store: Store, database: Database) -> None:
    """A lost connection makes the rescuer careful for a whole lease; a wrong click must not."""
    stored = await store.enqueue_keyed(idempotency_key="k", fingerprint="a")

    with pytest.raises(WrongState):
        await store.resolve(stored.id)
    with pytest.raises(IdempotencyMismatch):
        await store.enqueue_keyed(idempotency_key="k", fingerprint="b")

    await store.job(stored.id)
    assert database.reconnections == 0


async def test_an_interrupted_transaction_leaves_nothing_and_blocks_nobody(
    store: Store, database: Database
) -> None:
    job_id = await store.enqueue()
    inside = asyncio.Event()

    async def hold_for_ever() -> None:
        async with database.lane("test", size=4).transaction() as connection:
            await connection.fetch_each("jobs/hold", [{"job_id": job_id, "why": "never"}])
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold_for_ever())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await store.claim_one()).id == job_id


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_what_others_are_about_to_claim_of_one_kind_leaves_room_for_another(
    store: Store, database: Postgres
) -> None:
    """Or a worker with nothing to do would find nothing beside a long line, and wait for its next poll."""
    first = await store.enqueue_many(4, kind="mail")
    store.later(SECOND)
    second = await store.enqueue_many(5)
    async with locked_by_a_stranger(database, first[:3]):
        claimed = await store.claim(REPORT, MAIL, limit=4)

    assert [claim.id for claim in claimed] == [first[3], *second[:3]]
    assert [claim.id for claim in await store.claim(REPORT, MAIL, limit=4)] == [*first[:3], second[3]]


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_what_is_claimed_instead_comes_from_the_kind_whose_turn_it_is(
    store: Store, database: Postgres
) -> None:
    held = await store.enqueue_many(3, kind="mail")
    store.later(SECOND)
    first = await store.enqueue_many(3, kind="scan")
    store.later(SECOND)
    await store.enqueue_many(3)
    async with locked_by_a_stranger(database, held):
        claimed = await store.claim(REPORT, MAIL, wanted("scan"), limit=3)

    assert [claim.id for claim in claimed] == first


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_one_locked_row_does_not_hold_up_the_other_renewals(store: Store, database: Postgres) -> None:
    """A lock that somebody forgot costs that one job a renewal, not all of them."""
    await store.enqueue_many(3)
    locked, free, lost = await store.claim(limit=3)
    await store.complete(lost)
    store.later(30 * SECOND)
    stranger = await asyncpg.connect(database.url)
    transaction = stranger.transaction()
    await transaction.start()
    await stranger.execute("SELECT 1 FROM backstay.jobs WHERE id = $1 FOR UPDATE", locked.id)

    renewed = await store.stores.claims.renew([locked, free, lost])

    await transaction.rollback()
    await stranger.close()
    assert (renewed.held, renewed.locked, renewed.lost) == ({free.id}, {locked.id}, {lost.id})
    assert (await store.job(free.id)).lease_expires_at == store.now() + LEASE


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_claim_passes_over_rows_that_another_claim_holds(store: Store, database: Postgres) -> None:
    """ENG-030, ENG-033."""
    await store.enqueue_many(4)
    await store.register("w")
    async with database.lane("first").transaction() as connection:
        await connection.driver.execute("SELECT 1 FROM backstay.jobs ORDER BY turn, id LIMIT 2 FOR UPDATE")

        claims = await store.claim(limit=2)

    assert len(claims) == 2


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_ten_workers_share_a_hundred_jobs_without_a_duplicate(store: Store, database: Database) -> None:
    """ENG-033."""
    await store.enqueue_many(100)
    for number in range(10):
        await store.register(f"w{number}")

    async def work(worker: str) -> list[object]:
        taken: list[object] = []
        while claims := await store.claim(worker=worker, limit=3):
            taken += [claim.id for claim in claims]
            await store.stores.claims.complete([(claim, None) for claim in claims])
        return taken

    taken = await asyncio.gather(*(work(f"w{number}") for number in range(10)))

    everything = [job_id for one in taken for job_id in one]
    assert len(everything) == len(set(everything)) == 100


async def test_two_connections_to_one_sqlite_file_see_each_other(tmp_path: object) -> None:
    """What one event loop commits, another reads: the same file, the same tables."""
    url, clock = f"sqlite:///{tmp_path}/jobs.db", FrozenClock()
    first, second = open_database(url, clock=clock), open_database(url, clock=clock)
    await migrate(first)
    writer = Store(stores_on(first.lane("test")), clock)
    reader = Store(stores_on(second.lane("test")), clock)

    job_id = await writer.enqueue()

    assert (await reader.job(job_id)).id == job_id
    await first.close()
    await second.close()


async def test_the_first_read_of_a_sqlite_file_may_come_from_within_a_transaction(tmp_path: Path) -> None:
    """It opens a connection of its own, which must not wait for the writer that waits for it."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    before = open_database(url)
    await migrate(before)
    await before.close()
    database = open_database(url)
    lane = database.lane("test")

    async with lane.transaction():
        found = await asyncio.wait_for(lane.fetch("jobs/counts", tenant=None, most=9), timeout=20)
    await database.close()

    assert found == []


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_one_locked_row_does_not_hold_up_the_other_settlements(
    store: Store, database: Postgres
) -> None:
    """A caller's transaction on one row delays that job's settlement alone, and costs it nothing."""
    await store.enqueue_many(3)
    locked, free, failed = await store.claim(limit=3)
    stranger = await asyncpg.connect(database.url)
    try:
        transaction = stranger.transaction()
        await transaction.start()
        await stranger.fetch("SELECT 1 FROM backstay.jobs WHERE id = $1 FOR UPDATE", locked.id)
        completed = await store.stores.claims.complete([(locked, None), (free, None)])
        still = await store.stores.claims.complete([(locked, None)], skip_locked=True)
        await transaction.rollback()
    finally:
        await stranger.close()

    assert (completed.done, completed.locked, completed.lost) == ({free.id}, {locked.id}, set())
    assert (still.done, still.locked) == (set(), {locked.id})
    assert (await store.stores.claims.complete([(locked, None)], skip_locked=True)).done == {locked.id}
    assert await store.complete(failed)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_session_that_was_ended_is_not_used_again(store: Store, database: Postgres) -> None:
    """The server's last word may come long before the end of the connection; between them it looks open."""
    async with Proxy.before(database.url) as proxy:
        proxy.keeps_clients = True
        other = open_database(proxy.url, clock=store.clock)
        looker = Store(stores_on(other.lane("test")), store.clock)
        await looker.stores.jobs.counts()
        await end_sessions(database, through=proxy)

        with pytest.raises(StoreUnavailable):
            await looker.stores.jobs.counts()

        assert await looker.stores.jobs.counts() == []
        await other.close()


async def end_sessions(database: Postgres, *, through: Proxy) -> None:
    stranger = await asyncpg.connect(database.url)
    await stranger.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await stranger.close()
    await through.server_has_left.wait()
    for _ in range(20):
        await asyncio.sleep(0)
