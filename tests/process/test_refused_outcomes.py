"""Outcomes that the database refuses: what is the fault of one job costs neither its neighbours nor the worker."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import asyncpg
import pytest
from support import eventually

from backstay import Backstay, State
from backstay.worker import settler

ON_POSTGRES = """
CREATE FUNCTION backstay.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a rule of the house'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON backstay.jobs
FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION backstay.refuse();
"""
ON_SQLITE = """
CREATE TRIGGER refuse BEFORE UPDATE ON backstay_jobs
WHEN {when} BEGIN SELECT RAISE(ABORT, 'a rule of the house'); END;
"""


class Events(list[tuple[str, dict[str, Any]]]):
    """What an application has told."""

    def __call__(self, event: str, /, **facts: Any) -> None:
        self.append((event, facts))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [facts for event, facts in self if event == name]


async def execute(url: str, *, sqlite: str, postgres: str) -> None:
    if url.startswith("sqlite"):
        file = sqlite3.connect(url.removeprefix("sqlite:///"))
        file.executescript(sqlite)
        file.close()
        return
    server = await asyncpg.connect(url)
    await server.execute(postgres)
    await server.close()


async def refuse(url: str, when: str) -> None:
    """Let the database refuse some changes by a rule that Backstay does not know of."""
    await execute(url, sqlite=ON_SQLITE.format(when=when), postgres=ON_POSTGRES.format(when=when))


async def allow(url: str) -> None:
    await execute(url, sqlite="DROP TRIGGER refuse", postgres="DROP TRIGGER refuse ON backstay.jobs")


async def test_a_completion_that_is_refused_is_the_failure_of_its_job_alone(url: str) -> None:
    app = Backstay(url, emit=(events := Events()))
    may_end = asyncio.Event()

    @app.job
    async def note(n: int) -> int:
        await may_end.wait()
        return n

    handles = await app.jobs.enqueue_many([note.args(n=n) for n in range(20)])
    await refuse(url, f"NEW.state = 'completed' AND NEW.id = '{handles[7].id}'")

    async with app.working(concurrency=20) as worker:
        await eventually(lambda: worker.running == 20, within=10)
        may_end.set()
        await eventually(lambda: worker.settled == 20, within=10)
        last = await note.enqueue(n=20)
        assert await last.result(timeout=10) == 20

    jobs = [await handle.get() for handle in handles]
    assert [job.state for job in jobs] == [State.COMPLETED] * 7 + [State.DEAD] + [State.COMPLETED] * 12
    assert jobs[7].error is not None
    assert jobs[7].error["error_class"] == "result_invalid"
    assert "a rule of the house" in jobs[7].error["message"]
    assert [job.run for job in jobs] == [1] * 20
    assert {told["job_id"] for told in events.named("outcome.refused")} == {str(handles[7].id)}
    await app.close()


async def test_an_outcome_that_is_refused_in_every_form_is_kept_until_it_is_taken(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENG-044: no error of the database ends a worker."""
    monkeypatch.setattr(settler, "REFUSED_AGAIN", 0.2)
    app = Backstay(url, emit=(events := Events()))

    @app.job
    async def note(n: int) -> int:
        return n

    stuck = await note.enqueue(n=1)
    await refuse(url, f"NEW.state <> 'running' AND NEW.id = '{stuck.id}'")

    async with app.working(concurrency=2):
        await eventually(lambda: len(events.named("outcome.refused")) >= 2, within=10)
        assert await (await note.enqueue(n=2)).result(timeout=10) == 2
        assert (await stuck.get()).state is State.RUNNING
        await allow(url)
        assert await stuck.result(timeout=10) == 1

    assert ((await stuck.get()).run, (await stuck.get()).state) == (1, State.COMPLETED)
    await app.close()


async def test_a_locked_job_is_settled_although_others_never_stop_ending(postgres_url: str) -> None:
    app = Backstay(postgres_url, emit=Events())
    may_end = asyncio.Event()

    @app.job
    async def wait() -> None:
        await may_end.wait()

    @app.job
    async def note() -> None: ...

    async def keep_busy() -> None:
        while True:
            await note.enqueue()
            await asyncio.sleep(0.02)

    locked = await wait.enqueue()
    stranger = await asyncpg.connect(postgres_url)
    async with app.working(concurrency=4) as worker:
        await eventually(lambda: worker.running == 1, within=10)
        busy = asyncio.create_task(keep_busy())
        async with stranger.transaction():
            await stranger.execute("SELECT 1 FROM backstay.jobs WHERE id = $1 FOR UPDATE", locked.id)
            may_end.set()
            await eventually(lambda: worker.settled > 50, within=20)
        before = worker.settled
        await locked.result(timeout=10)
        await eventually(lambda: worker.settled > before + 5, within=10)
        busy.cancel()

    await stranger.close()
    await app.close()


async def test_what_is_told_of_a_refusal_does_not_repeat_the_row(postgres_url: str) -> None:
    app = Backstay(postgres_url, emit=(events := Events()))

    @app.job
    async def note(password: str) -> None: ...

    job = await note.enqueue(password="open sesame")
    house = "ALTER TABLE backstay.jobs ADD CONSTRAINT house CHECK (state <> 'completed')"
    await execute(postgres_url, sqlite="", postgres=house)

    async with app.working():
        await eventually(lambda: events.named("outcome.refused"), within=10)

    assert "house" in str(events)
    assert "open sesame" not in str(events)
    assert "open sesame" not in str((await job.get()).error)
    await app.close()


async def test_a_worker_whose_sessions_may_not_write_goes_on_with_others(postgres_url: str) -> None:
    """As after a failover, when connections lead to what is a standby now."""
    app = Backstay(postgres_url, emit=(events := Events()))
    may_end = asyncio.Event()

    @app.job(lease="60s")
    async def wait() -> str:
        await may_end.wait()
        return "done"

    name = postgres_url.rpartition("/")[2].partition("?")[0]
    job = await wait.enqueue()
    async with app.working(poll_busy="100ms", poll_idle="100ms") as worker:
        await eventually(lambda: worker.running == 1, within=10)
        await execute(
            postgres_url,
            sqlite="",
            postgres=f"ALTER DATABASE {name} SET default_transaction_read_only = on;"
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        may_end.set()
        await eventually(
            lambda: any("takes no changes" in told["error"] for told in events.named("store.failed")),
            within=10,
        )
        await execute(
            postgres_url,
            sqlite="",
            postgres=f"BEGIN; SET TRANSACTION READ WRITE; ALTER DATABASE {name} RESET ALL; COMMIT",
        )
        assert await job.result(timeout=20) == "done"

    assert (await job.get()).run == 1
    await app.close()
