"""While releases change, jobs of the one wait for a worker of it beside workers of the other, and none is lost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from release_program import application
from support import eventually

from backstay import Backstay, State
from backstay.records import JobFilter

PROGRAM = Path(__file__).with_name("release_program.py")


@asynccontextmanager
async def working(url: str, release: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process of a release, ended with the block."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(PROGRAM), url, release)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def states(app: Backstay) -> dict[State, int]:
    return {count.state: count.jobs for count in await app.jobs.counts()}


async def test_jobs_of_the_new_release_complete_beside_a_worker_of_the_old_one(url: str) -> None:
    app = application(url, "new")
    for number in range(200):
        await app.jobs.enqueue_by_name("report", {"month": number, "colour": "blue"})

    async with working(url, "old") as old:

        async def all_held() -> bool:
            return await states(app) == {State.HELD: 200}

        await eventually(all_held, within=60)
        held = (await app.jobs.search(JobFilter(state=State.HELD), limit=1)).jobs[0]
        assert (held.reason, held.attempt) == ("arguments do not fit", 0)
        assert "colour" in str(held.error)

        async with working(url, "new"):

            async def all_done() -> bool:
                return await states(app) == {State.COMPLETED: 200}

            await eventually(all_done, within=120)
            assert old.returncode is None
    await app.close()


async def test_jobs_that_both_releases_fit_are_run_by_both(url: str) -> None:
    app = application(url, "new")
    for number in range(20):
        await app.jobs.enqueue_by_name("report", {"month": number})

    async with working(url, "old"):

        async def all_done() -> bool:
            return await states(app) == {State.COMPLETED: 20}

        await eventually(all_done, within=60)
    await app.close()
