"""Debounce and throttle as an application uses them, on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backstay import Backstay
from backstay.errors import InvalidPayload
from backstay.options import JobOptions
from backstay.testing import Harness, PrivatePostgres, harness
from backstay.testing.database import IN_MEMORY

app = Backstay("sqlite:////nowhere/backstay.db")
done: list[int] = []


@app.job
async def index(page: int) -> None:
    done.append(page)


@app.job
async def other(page: int) -> None:
    done.append(-page)


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("quieting")
    yield postgres_server.url("quieting")
    postgres_server.drop_database("quieting")


@pytest.fixture(params=["sqlite", "postgres"])
def backstay(request: pytest.FixtureRequest) -> Iterator[Harness]:
    url = IN_MEMORY if request.param == "sqlite" else request.getfixturevalue("test_database")
    done.clear()
    with harness(app, url) as opened:
        yield opened


async def test_a_burst_runs_once_with_what_came_last(backstay: Harness) -> None:
    for page in range(5):
        job = await index.options(debounce="5s", key="site").enqueue(page=page)
        await backstay.travel("1s")
    await backstay.drain()
    assert done == []

    await backstay.travel("5s")
    await backstay.drain()

    assert done == [4]
    assert not job.is_new


async def test_a_burst_without_end_runs_at_its_limit(backstay: Harness) -> None:
    for page in range(30):
        await index.options(debounce="2s", debounce_limit="10s", key="site").enqueue(page=page)
        await backstay.travel("1s")
        await backstay.drain()

    assert done == [9, 19, 29]


async def test_kinds_do_not_share_a_key(backstay: Harness) -> None:
    await index.options(debounce="5s", key="site").enqueue(page=1)
    await other.options(debounce="5s", key="site").enqueue(page=2)

    await backstay.travel("5s")
    await backstay.drain()

    assert sorted(done) == [-2, 1]


async def test_one_job_in_each_window_and_others_find_it(backstay: Harness) -> None:
    first = await index.options(throttle="1/10s").enqueue(page=1)
    again = await index.options(throttle="1/10s").enqueue(page=2)
    keyed = await index.options(throttle="1/10s", key="site").enqueue(page=3)
    await backstay.travel("10s")
    later = await index.options(throttle="1/10s").enqueue(page=4)
    await backstay.drain()

    assert (again.id, again.is_new) == (first.id, False)
    assert keyed.is_new
    assert later.is_new
    assert sorted(done) == [1, 3, 4]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"debounce": "5s"}, "debounce needs a key"),
        ({"debounce": "5s", "key": "k", "delay": "1m"}, "sets the time itself"),
        ({"debounce": "5s", "key": "k", "unique": True}, "do not go together"),
        ({"debounce": "5s", "key": "k", "throttle": "1/s"}, "either debounce or throttle"),
        ({"debounce": "5s", "key": "k", "debounce_limit": "1s"}, "shorter than debounce"),
        ({"debounce": 0, "key": "k"}, "from a millisecond to a year"),
        ({"debounce": "5s", "key": "k", "tx": object()}, "cannot be part of a transaction"),
        ({"debounce_limit": "5s"}, "needs debounce as well"),
        ({"throttle": "2/10s"}, "one job in a length of time"),
        ({"throttle": "often"}, "one job in a length of time"),
    ],
)
async def test_what_does_not_go_together_is_refused(
    backstay: Harness, options: dict[str, object], problem: str
) -> None:
    with pytest.raises(InvalidPayload, match=problem):
        await app.jobs.enqueue_by_name("index", {"page": 1}, JobOptions(**options))  # type: ignore[arg-type]  # some are wrong

    assert (await app.jobs.search()).jobs == []
