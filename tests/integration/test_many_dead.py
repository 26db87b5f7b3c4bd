"""Deciding about many dead letters through the client: chunks, pace, limit, and going on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from backstay import Backstay
from backstay.client.dead_letters_bulk import in_chunks
from backstay.errors import InvalidArguments, InvalidPolicy, JobDead
from backstay.model.job import JobId
from backstay.records import BulkDecision, DeadLetterFilter
from backstay.runtime.env import Env

EVERYTHING = DeadLetterFilter()


@pytest.fixture
async def app() -> AsyncIterator[Backstay]:
    """An application with seven dead jobs."""
    app = Backstay("sqlite://:memory:")

    @app.job(max_attempts=1)
    async def broken(number: int) -> None:
        raise ValueError(f"number {number}")

    jobs = [await broken.enqueue(number) for number in range(7)]
    async with app.working():
        for job in jobs:
            with pytest.raises(JobDead):
                await job.result(timeout=10)
    yield app
    await app.close()


async def test_every_match_is_retried_and_counted(app: Backstay) -> None:
    assert await app.dead_letters.count(EVERYTHING) == 7

    decided = await app.dead_letters.retry_all(EVERYTHING, by="ada", reason="fixed")

    assert decided == BulkDecision(done=7, skipped=0)
    assert await app.dead_letters.count(EVERYTHING) == 0


async def test_a_limit_leaves_the_rest_for_the_next_call(app: Backstay) -> None:
    first = await app.dead_letters.resolve_all(EVERYTHING, by="ada", reason="by hand", limit=3)
    second = await app.dead_letters.resolve_all(EVERYTHING, by="ada", reason="by hand")

    assert (first.done, second.done) == (3, 4)


async def test_a_pace_makes_small_chunks_with_waits_between(app: Backstay) -> None:
    waits: list[float] = []
    chunks: list[int] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def decide(job_ids: Sequence[JobId]) -> int:
        chunks.append(len(job_ids))
        return len(job_ids) - 1

    stores = app._enqueuer.stores
    decided = await in_chunks(stores, EVERYTHING, decide, limit=None, pace=3, env=Env(sleep=sleep))

    assert (chunks, waits) == ([3, 3, 1], [1.0, 1.0])
    assert decided == BulkDecision(done=4, skipped=3)


async def test_a_pace_of_nothing_is_refused(app: Backstay) -> None:
    with pytest.raises(InvalidPolicy, match="pace cannot be 0"):
        await app.dead_letters.retry_all(EVERYTHING, by="ada", reason="fixed", pace=0)


async def test_groups_gather_what_the_numbers_tell_apart(app: Backstay) -> None:
    [group] = await app.dead_letters.groups(kind="broken")

    assert (group.letters, group.error_type) == (7, "ValueError")


async def test_other_arguments_are_held_against_the_signature(app: Backstay) -> None:
    [letter, *_] = await app.dead_letters.open()

    with pytest.raises(InvalidArguments, match="number"):
        await app.dead_letters.retry(letter.job_id, by="ada", reason="typo", args={"number": "seven"})
    new_id = await app.dead_letters.retry(
        letter.job_id, by="ada", reason="typo", args={"number": 7}, as_new=True
    )

    assert (await app.jobs.get(new_id)).args == {"number": 7}
    assert (await app.jobs.get(letter.job_id)).reason == f"retried as {new_id}"
