"""Figures of a real worker, as an application reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backstay import Backstay
from backstay.records import Depth
from backstay.testing import Harness, harness

app = Backstay("sqlite:////nowhere/backstay.db")


@app.job(queue="mail", max_attempts=1)
async def send(to: str) -> None:
    if not to:
        raise ValueError("nobody to send to")


@app.job(queue="mail")
def count(upto: int) -> int:
    return upto


@pytest.fixture(params=["sqlite", "postgresql"])
def backstay(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    url = (
        f"sqlite:///{tmp_path}/jobs.db"
        if request.param == "sqlite"
        else request.getfixturevalue("emptied_url")
    )
    with harness(app, url) as opened:
        yield opened


async def test_every_attempt_of_a_worker_is_counted_by_kind_and_minute(backstay: Harness) -> None:
    await send.enqueue_many([{"to": "ada"}, {"to": "ben"}, {"to": ""}])
    await count.enqueue(upto=3)

    await app.worker(until_empty=True).run()

    kinds = {each.kind: each.figures for each in await app.metrics.by_kind("1h")}
    assert (kinds["send"].completed, kinds["send"].failed, kinds["send"].crashed) == (2, 1, 0)
    assert kinds["count"].success_rate == 1
    assert kinds["count"].average_ms is not None
    [minute] = await app.metrics.over_time("1h", kind="send")
    assert (minute.figures.completed, minute.at.second) == (2, 0)
    [hour] = await app.metrics.over_time("1d", period="hour")
    assert (hour.figures.ended, hour.at.minute) == (4, 0)


async def test_depths_show_what_waits_and_what_is_dead(backstay: Harness) -> None:
    await send.enqueue(to="")
    await app.worker(until_empty=True).run()
    await send.enqueue(to="ada")
    await count.options(delay="1h").enqueue(upto=1)

    found = await app.metrics.depths()

    ready, *others = found
    assert (ready.state, ready.kind, ready.jobs) == ("available", "send", 1)
    assert ready.oldest_for is not None
    assert set(others) == {Depth("dead", "mail", "send", 1), Depth("scheduled", "mail", "count", 1)}


async def test_only_who_acts_for_all_tenants_sees_figures(backstay: Harness) -> None:
    ann = app.acting_as("ann", tenant="*", rights={"metrics.read"})

    assert await ann.metrics.depths() == []
    assert await ann.metrics.over_time() == []
    assert await ann.metrics.by_kind() == []
