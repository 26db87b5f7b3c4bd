"""Operators change numbers while workers run: at once, everywhere, and across deploys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from backstay import Backoff, Backstay
from backstay.errors import InvalidPolicy, InvalidSettings, JobDead, UnknownKind
from backstay.testing import PrivatePostgres

SOON = 15


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.db"
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"overrides_{abs(hash(str(tmp_path)))}"
    server.create_database(name)
    app = Backstay(server.url(name))
    await app._connections.migrate()
    await app.close()
    return server.url(name)


def shop(url: str, **numbers: Any) -> Backstay:
    """One release of an application whose only job fails forever."""
    app = Backstay(url)

    @app.job(**{"max_attempts": 1, "backoff": Backoff.fixed("10ms"), **numbers})
    async def send() -> None:
        raise ConnectionError("no answer")

    return app


@pytest.fixture
async def app(url: str) -> AsyncIterator[Backstay]:
    app = shop(url)
    yield app
    await app.close()


async def attempts(app: Backstay) -> int:
    """How often a job enqueued now is tried."""
    job = await app.jobs.enqueue_by_name("send", {})
    with pytest.raises(JobDead):
        await job.result(timeout=SOON)
    return (await job.get()).attempt


async def eventually(what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON):
        while not await what():
            await asyncio.sleep(0.02)


async def test_a_change_reaches_a_running_worker_and_its_removal_too(app: Backstay) -> None:
    async with app.working(poll_idle="100ms"):
        assert await attempts(app) == 1

        await app.overrides.set("max_attempts", 3, kind="send", reason="flaky", by="ada")
        await eventually(lambda: has(app, 3))
        assert await app.overrides.unset("max_attempts", kind="send", by="ada")
        await eventually(lambda: has(app, 1))


async def has(app: Backstay, number: int) -> bool:
    return await attempts(app) == number


async def test_a_change_survives_a_deploy_of_other_numbers(app: Backstay, url: str) -> None:
    async with app.working():
        assert await attempts(app) == 1
    await app.overrides.set("max_attempts", 3, kind="send", reason="flaky")
    newer = shop(url, max_attempts=2)

    async with newer.working():
        tried = await attempts(newer)

    await newer.close()
    assert tried == 3


async def test_a_kinds_change_comes_before_its_queues_and_a_jobs_own_before_both(app: Backstay) -> None:
    async with app.working():
        await attempts(app)
    await app.overrides.set("max_attempts", 2, queue="default", reason="x")
    await app.overrides.set("max_attempts", 3, kind="send", reason="x")

    async with app.working():
        by_kind = await attempts(app)
        await app.overrides.unset("max_attempts", kind="send")
        await eventually(lambda: has(app, 2))

    assert by_kind == 3


async def test_a_shorter_lease_is_renewed_in_its_time(app: Backstay) -> None:
    @app.job(timeout="30s")
    async def slow() -> int:
        await asyncio.sleep(4.5)
        return 1

    async with app.working(poll_idle="100ms") as worker:
        await asyncio.wait_for(asyncio.to_thread(worker.started.wait), SOON)
        await app.overrides.set("lease", "2s", kind="slow", reason="x")
        async with asyncio.timeout(SOON):
            while worker._plan.renew_every() > timedelta(seconds=1):
                await asyncio.sleep(0.02)
        job = await app.jobs.enqueue_by_name("slow", {})
        await job.result(timeout=SOON)

    stored = await job.get()
    assert (stored.run, stored.crashes) == (1, 0)


async def test_what_cannot_be_is_refused_by_name_and_nothing_is_stored(app: Backstay) -> None:
    async with app.working():
        await attempts(app)
    overrides = app.overrides

    with pytest.raises(InvalidPolicy, match="max_attempts cannot be 0: it needs a whole number from 1"):
        await overrides.set("max_attempts", 0, kind="send", reason="x")
    with pytest.raises(InvalidPolicy, match=r"timeout cannot be .* at most max_timeout"):
        await overrides.set("timeout", "2h", kind="send", reason="x")
    with pytest.raises(InvalidPolicy, match=r"concurrency cannot be 9: .* number of a worker"):
        await overrides.set("concurrency", 9, kind="send", reason="x")
    with pytest.raises(InvalidPolicy, match=r"priority cannot be 9: .* when a job is enqueued"):
        await overrides.set("priority", 9, kind="send", reason="x")
    with pytest.raises(InvalidPolicy, match="speed cannot be 9: it needs to be one of max_attempts"):
        await overrides.set("speed", 9, kind="send", reason="x")
    with pytest.raises(UnknownKind, match="unknown kind 'sned'") as unknown:
        await overrides.set("max_attempts", 2, kind="sned", reason="x")
    with pytest.raises(InvalidSettings, match="queue 'defualt': did you mean 'default'"):
        await overrides.set("max_attempts", 2, queue="defualt", reason="x")
    with pytest.raises(InvalidSettings, match="either a queue or a kind"):
        await overrides.set("max_attempts", 2, reason="x")

    assert "did you mean 'send'?" in unknown.value.__notes__[0]
    assert await overrides.all() == []


async def test_a_change_that_no_longer_fits_the_code_is_ignored_and_told(url: str) -> None:
    before = shop(url)
    async with before.working():
        await attempts(before)
    await before.overrides.set("timeout", "50m", kind="send", reason="slow mails")
    await before.close()
    told: list[str] = []
    after = shop(url, max_attempts=2, timeout="1m", max_timeout="2m")
    after._emit = lambda event, /, **facts: told.append(f"{event} {facts.get('problem')}")

    async with after.working():
        tried = await attempts(after)

    await after.close()
    assert tried == 2
    assert any("override.ignored timeout cannot be" in line for line in told)
