"""Errors that nobody foresaw in a part of a worker or in a hook: the part starts again, and every job is done."""

from __future__ import annotations

from typing import Any

import pytest

from backstay import Backoff, Backstay, Context
from backstay.worker.fetch.fetcher import Fetcher
from backstay.worker.heartbeat import Heartbeat
from backstay.worker.settler import Settler
from backstay.worker.step_writer import StepWriter

PARTS = [
    ("fetcher", Fetcher, "_fetch_or_wait"),
    ("settler", Settler, "_write"),
    ("heartbeat", Heartbeat, "_renew_or_retry"),
    ("steps", StepWriter, "_until_answered"),
]


@pytest.mark.parametrize(
    ("name", "part", "method"), PARTS, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_a_part_that_fails_starts_again(
    empty_app: Backstay, monkeypatch: pytest.MonkeyPatch, name: str, part: type, method: str
) -> None:
    told: list[dict[str, Any]] = []
    failures = iter([RuntimeError("nobody foresaw this"), KeyError("nor this")])
    as_it_is = getattr(part, method)

    async def fail_twice(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (failure := next(failures, None)) is not None:
            raise failure
        return await as_it_is(self, *args, **kwargs)

    monkeypatch.setattr(part, method, fail_twice)
    empty_app._emit = lambda event, /, **facts: told.append(facts) if event == "part.failed" else None

    @empty_app.job(lease="2s", max_attempts=5, backoff=Backoff.fixed("10ms"))
    async def work(ctx: Context, number: int) -> int:
        return await ctx.step("double", lambda: number * 2)

    async with empty_app.working() as worker:
        jobs = [await work.enqueue(number=number) for number in range(3)]
        results = [await job.result(timeout=60) for job in jobs]
        if name == "heartbeat":
            while len(told) < 2:
                await (await work.enqueue(number=1)).result(timeout=60)
        assert worker.is_ready

    assert results == [0, 2, 4]
    assert [facts["part"] for facts in told] == [name, name]


async def test_a_hook_that_always_raises_costs_no_job(empty_app: Backstay) -> None:
    def tell(event: str, /, **facts: Any) -> None:
        raise RuntimeError(f"no {event} for me")

    empty_app._emit = tell

    @empty_app.job
    async def work(ctx: Context) -> int:
        ctx.progress(1, 2)
        return 7

    async with empty_app.working() as worker:
        assert await (await work.enqueue()).result(timeout=60) == 7
        assert worker.is_ready
