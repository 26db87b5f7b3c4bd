"""Figures of a real worker, as an application reads them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from backstay import Backstay
from backstay.cli.commands import backstay as commands
from backstay.errors import Forbidden
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
    assert (kinds["send"].dead, kinds["count"].dead) == (1, 0)
    assert all(one.wait_p95_ms is not None for one in kinds.values())
    assert kinds["count"].success_rate == 1
    assert kinds["count"].average_ms is not None
    [minute] = await app.metrics.over_time("1h", kind="send")
    assert (minute.figures.completed, minute.at.second) == (2, 0)
    [hour] = await app.metrics.over_time("1d", period="hour")
    assert (hour.figures.ended, hour.at.minute) == (4, 0)
    [week] = await app.metrics.over_time("7d", period="week")
    assert (week.figures.ended, week.at.weekday()) == (4, 0)


async def test_a_job_has_waited_since_it_was_due(backstay: Harness) -> None:
    await send.enqueue(to="ada")
    await backstay.travel("90s")

    await app.worker(until_empty=True).run()

    [one] = await app.metrics.by_kind("1h")
    assert one.figures.wait_average_ms is not None
    assert 90_000 <= one.figures.wait_average_ms < 150_000


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


async def test_a_tenant_sees_how_deep_its_own_queues_are(backstay: Harness) -> None:
    await send.options(tenant="red").enqueue(to="ada")
    await send.options(tenant="blue").enqueue_many([{"to": "ada"}] * 2)
    red = app.acting_as("ann", tenant="red", rights={"metrics.read"})

    assert [(one.kind, one.jobs) for one in await red.metrics.depths()] == [("send", 1)]
    with pytest.raises(Forbidden):
        await red.metrics.counters()


async def test_only_who_acts_for_all_tenants_sees_figures(backstay: Harness) -> None:
    ann = app.acting_as("ann", tenant="*", rights={"metrics.read"})

    assert await ann.metrics.depths() == []
    assert await ann.metrics.over_time() == []
    assert await ann.metrics.by_kind() == []


async def test_the_command_line_tells_figures_and_service_levels(backstay: Harness) -> None:
    """ENG-143: all six, of what really ran."""
    await send.enqueue_many([{"to": "ada"}, {"to": "ben"}])
    await app.worker(until_empty=True).run()

    levels = {one.name: one for one in await app.metrics.service_levels("1h")}
    shown = await asyncio.to_thread(CliRunner().invoke, commands, ["--json", "--url", app.url, "slo"])
    figures = await asyncio.to_thread(CliRunner().invoke, commands, ["--json", "--url", app.url, "metrics"])

    assert set(levels) == {
        "submission_p95", "start_p95", "completion", "worker_uptime", "dead", "jobs_a_minute"
    }  # fmt: skip
    assert (levels["completion"].measured, levels["dead"].measured) == (100, 0)
    assert levels["submission_p95"].measured is not None
    assert levels["start_p95"].measured is not None
    assert {one["name"] for one in json.loads(shown.output)["levels"]} == set(levels)
    assert [one["figures"]["completed"] for one in json.loads(figures.output)["kinds"]] == [2]
