"""Programs that do not have a handler keep to what its workers have declared of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from support import eventually

from backstay import Backstay, Hopeless, State
from backstay.errors import InvalidArguments, WrongState
from backstay.model.events import silent


@dataclass
class Parcel:
    weight: int
    labels: list[str]


@pytest.fixture
async def worker_app(url: str) -> AsyncIterator[Backstay]:
    """An application whose worker runs, and so has declared its kinds."""
    app = Backstay(url, emit=silent)

    @app.job
    async def ship(order_id: int, parcel: Parcel, note: str = "") -> str:
        return f"{order_id}: {parcel.weight}"

    @app.job
    async def check(order_id: int) -> None:
        raise Hopeless("there is no such order")

    @app.job(cancel_running=False)
    async def stubborn() -> None:
        await asyncio.sleep(60)

    async with app.working(concurrency=2, shutdown_grace="100ms"):
        yield app
    await app.close()


@pytest.fixture
async def stranger(url: str, worker_app: Backstay) -> AsyncIterator[Backstay]:
    """An application on the same database without any handler."""
    app = Backstay(url, emit=silent)
    yield app
    await app.close()


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"order_id": "seven", "parcel": {"weight": 1, "labels": []}}, "order_id"),
        ({"order_id": 7, "parcel": {"weight": "1", "labels": []}}, "parcel.weight"),
        ({"order_id": 7, "parcel": {"weight": 1, "labels": [1]}}, "parcel.labels[0]"),
        ({"order_id": 7}, "parcel"),
        ({"order_id": 7, "parcel": {"weight": 1, "labels": []}, "nite": "x"}, "nite"),
    ],
)
async def test_arguments_are_held_against_what_the_handler_takes(
    stranger: Backstay, args: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await stranger.jobs.enqueue_by_name("ship", args)

    assert refused.value.field == field
    assert await stranger.jobs.counts() == []


async def test_arguments_that_fit_are_stored_and_run(stranger: Backstay) -> None:
    args = {"order_id": 7, "parcel": {"weight": 3, "labels": ["fragile"]}}

    job = await stranger.jobs.enqueue_by_name("ship", args)

    assert await job.result(timeout=10) == "7: 3"


async def test_a_kind_that_may_not_be_stopped_is_not_stopped_by_others_either(stranger: Backstay) -> None:
    job = await stranger.jobs.enqueue_by_name("stubborn")

    async def runs() -> bool:
        return (await job.get()).state is State.RUNNING

    await eventually(runs, within=10)

    with pytest.raises(WrongState):
        await stranger.jobs.cancel(job.id)


async def test_other_arguments_for_a_dead_job_are_held_against_what_the_handler_takes(
    stranger: Backstay,
) -> None:
    job = await stranger.jobs.enqueue_by_name("check", {"order_id": 1})

    async def is_dead() -> bool:
        return (await job.get()).state is State.DEAD

    await eventually(is_dead, within=10)

    with pytest.raises(InvalidArguments) as refused:
        await stranger.dead_letters.retry(job.id, by="ann", reason="corrected", args={"order_id": "two"})

    assert refused.value.field == "order_id"
    assert (await job.get()).state is State.DEAD
