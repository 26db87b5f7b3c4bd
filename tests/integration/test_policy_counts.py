"""Every layer of the policy that accepts a number keeps to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backstay import Backoff, Backstay, Profile
from backstay.errors import InvalidPayload, InvalidPolicy, JobDead, ResultTimeout
from backstay.model.policy.policy import PolicyChange

LARGE = "x" * 50_000


def application(**how: Any) -> Backstay:
    return Backstay("sqlite://:memory:", **how)


@pytest.mark.parametrize(
    "how",
    [
        {"settings": {"max_payload_bytes": 1000}},
        {"profile": Profile(name="small", policy={"max_payload_bytes": 1000})},
    ],
    ids=["settings", "profile"],
)
async def test_a_limit_on_arguments_counts_wherever_it_is_set(how: dict[str, Any]) -> None:
    app = application(**how)

    @app.job
    async def work(text: str) -> None: ...

    for attempt in (
        work.enqueue(text=LARGE),
        work.options(tags=["a"]).enqueue(text=LARGE),
        work.enqueue_many([{"text": "small"}, {"text": LARGE}]),
    ):
        with pytest.raises(InvalidPayload, match="more than the 1,000 allowed"):
            await attempt
    await app.close()


async def test_a_jobs_own_limit_on_arguments_counts(empty_app: Backstay) -> None:
    @empty_app.job
    async def work(text: str) -> None: ...

    with pytest.raises(InvalidPayload, match="more than the 1,000 allowed"):
        await work.options(policy=PolicyChange({"max_payload_bytes": 1000})).enqueue(text=LARGE)


async def test_further_numbers_of_a_job_are_written_as_a_dictionary(empty_app: Backstay) -> None:
    @empty_app.job
    async def work(text: str) -> None: ...

    job = await work.options(policy={"renew_every": "5s"}, max_attempts=2).enqueue(text="x")

    assert (await job.get()).policy == {"renew_every_seconds": 5, "max_attempts": 2}
    with pytest.raises(InvalidPolicy, match="renew_evry"):
        await work.options(policy={"renew_evry": "5s"}).enqueue(text="x")  # type: ignore[typeddict-unknown-key]  # the mistake that is meant


async def test_a_kinds_limit_on_results_counts_beside_a_kind_with_a_larger_one(empty_app: Backstay) -> None:
    @empty_app.job(max_result_bytes=10)
    async def small() -> str:
        return "x" * 100

    @empty_app.job(max_result_bytes=100_000)
    async def large() -> str:
        return LARGE

    async with empty_app.working():
        with pytest.raises(JobDead, match="more than the 10 allowed"):
            await (await small.enqueue()).result(timeout=60)
        assert await (await large.enqueue()).result(timeout=60) == LARGE


@pytest.mark.parametrize("field", ["concurrency", "keep_completed", "poll_busy"])
def test_a_number_of_a_worker_is_refused_for_a_kind(field: str) -> None:
    given: Any = {field: 3}

    with pytest.raises(InvalidPolicy, match=field):
        application().job(**given)(print_nothing)


def print_nothing() -> None: ...


async def test_a_timeout_of_waiting_tells_how_the_last_attempt_failed(empty_app: Backstay) -> None:
    has_failed = asyncio.Event()

    @empty_app.job(backoff=Backoff.fixed("1h"))
    async def work() -> None:
        has_failed.set()
        raise NameError("name 'nam' is not defined")

    async with empty_app.working():
        job = await work.enqueue()
        await has_failed.wait()
        while (await job.get()).error is None:
            await asyncio.sleep(0)
        with pytest.raises(ResultTimeout, match=r"attempt 1 failed: NameError: name 'nam'.*next try at"):
            await job.result(timeout=0.1)
