"""Many jobs of one kind are checked and stored together: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from backstay import Backstay, State
from backstay.errors import InvalidBatch
from backstay.handler import AsyncHandler

Take = AsyncHandler[[int, Any], None]


@pytest.fixture
def app(empty_app: Backstay) -> Backstay:
    return empty_app


@pytest.fixture
def take(app: Backstay) -> Take:
    @app.job
    async def take(number: int, value: Any = None) -> None:
        """Take a number and anything."""

    return take


async def stored(app: Backstay) -> int:
    return sum(count.jobs for count in await app.jobs.counts())


async def test_each_mapping_becomes_a_job_in_the_order_given(app: Backstay, take: Take) -> None:
    handles = await take.enqueue_many([{"number": number} for number in range(2500)])

    assert [(await handle.get()).args for handle in handles[:3]] == [{"number": n} for n in range(3)]
    assert (await handles[2499].get()).args == {"number": 2499}
    assert (len(set(handles)), await stored(app)) == (2500, 2500)


async def test_values_that_need_a_closer_look_are_stored_as_they_are(app: Backstay, take: Take) -> None:
    values = ["a\nb\\", [1, {"b": 2.5}], 2**63 - 1, "\u2028", None]

    handles = await take.enqueue_many([{"number": 1, "value": value} for value in values])

    assert [(await handle.get()).args["value"] for handle in handles] == values


async def test_a_generator_is_as_good_as_a_list(app: Backstay, take: Take) -> None:
    def calls() -> Iterator[dict[str, Any]]:
        yield {"number": 1}
        yield {"number": 2, "value": [1]}

    assert len(await take.enqueue_many(calls())) == await stored(app) == 2


async def test_no_jobs_are_no_trouble(app: Backstay, take: Take) -> None:
    assert await take.enqueue_many([]) == []
    assert await stored(app) == 0


async def test_every_bad_one_is_named_and_none_is_stored(app: Backstay, take: Take) -> None:
    calls: list[Any] = [{"number": number} for number in range(1000)]
    calls[3] = {"number": "3"}
    calls[500] = ("500",)
    calls[997] = {"nubmer": 997}
    calls[998] = {"number": 998, "value": float("nan")}

    with pytest.raises(InvalidBatch) as caught:
        await take.enqueue_many(calls)

    problems = caught.value.problems
    assert list(problems) == [3, 500, 997, 998]
    assert "'number'" in problems[3]
    assert "a mapping by name, not tuple" in problems[500]
    assert "nubmer" in problems[997]
    assert "/value" in problems[998]
    assert await stored(app) == 0


async def test_one_mapping_instead_of_many_is_refused(app: Backstay, take: Take) -> None:
    with pytest.raises(
        InvalidBatch, match=r"^one job of the batch is invalid; job 0: .*a mapping by name, not str"
    ):
        await take.enqueue_many({"number": 1})  # type: ignore[arg-type]  # the mistake that is meant

    assert await stored(app) == 0


async def test_options_hold_for_all_of_them(app: Backstay, take: Take) -> None:
    later = take.options(delay="1h", tags=["night"])

    handles = await later.enqueue_many([{"number": 1}, {"number": 2}])

    jobs = [await handle.get() for handle in handles]
    assert [(job.state, job.tags) for job in jobs] == [(State.SCHEDULED, ("night",))] * 2


async def test_a_key_leads_all_of_them_to_one_job(app: Backstay, take: Take) -> None:
    first, second = await take.options(key="k").enqueue_many([{"number": 1}, {"number": 1}])

    assert (first.id, first.is_new, second.is_new) == (second.id, True, False)


@pytest.mark.parametrize("empty_app", ["postgres"], indirect=True)
async def test_they_can_be_part_of_a_callers_transaction(app: Backstay, take: Take) -> None:
    connection = await asyncpg.connect(app.url)
    transaction = connection.transaction()
    await transaction.start()

    await take.options(tx=connection).enqueue_many([{"number": 1}, {"number": 2}])
    before = await stored(app)
    await transaction.commit()
    await connection.close()

    assert (before, await stored(app)) == (0, 2)


def test_without_a_loop_it_is_the_same(tmp_path: Path) -> None:
    app = Backstay(f"sqlite:///{tmp_path / 'jobs.db'}")

    @app.job
    def add(left: int, right: int) -> int:
        return left + right

    handles = add.enqueue_many_sync({"left": n, "right": 1} for n in range(3))

    assert [handle.get_sync().args["left"] for handle in handles] == [0, 1, 2]
    with pytest.raises(InvalidBatch, match="'left'"):
        add.enqueue_many_sync([{"left": "0", "right": 1}])
    assert [count.jobs for count in app.sync.jobs.counts()] == [3]
    app.close_sync()
