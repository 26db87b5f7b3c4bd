"""Alerts: each rule at its boundary, fired once until cleared, told once, and muted."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from http_world import World
from typer.testing import CliRunner

from backstay import Backstay
from backstay.cli.commands import backstay
from backstay.errors import InvalidSettings
from backstay.http import AlertJobs
from backstay.model.alerts import NAMES, AlertSituation, holding
from backstay.notifications import LogChannel
from backstay.settings.sources import read_settings
from backstay.testing import PrivatePostgres

numbers = itertools.count()


@pytest.mark.parametrize(
    ("situation", "rules"),
    [
        (AlertSituation(), []),
        (AlertSituation(waiting=1000), []),
        (AlertSituation(waiting=1001), ["high_queue_depth"]),
        (AlertSituation(waiting=5000), ["high_queue_depth"]),
        (AlertSituation(waiting=5001), ["high_queue_depth", "critical_queue_depth"]),
        (AlertSituation(dead_workers=1), ["worker_down"]),
        (AlertSituation(attempts=100, failed=100), []),
        (AlertSituation(attempts=101, failed=10), []),
        (AlertSituation(attempts=101, failed=11), ["high_failure_rate"]),
        (AlertSituation(attempts=1000, failed=100), []),
        (AlertSituation(attempts=1000, failed=101), ["high_failure_rate"]),
        (AlertSituation(dead_letters=50), []),
        (AlertSituation(dead_letters=51), ["dlq_accumulation"]),
        (AlertSituation(slowest_p95_ms=60_000), []),
        (AlertSituation(slowest_p95_ms=60_001, slowest_kind="report"), ["slow_jobs"]),
    ],
)
def test_each_rule_holds_just_above_its_threshold(situation: AlertSituation, rules: list[str]) -> None:
    """ENG-117."""
    assert [one.rule for one in holding(situation)] == rules


def test_thresholds_are_settings(tmp_path: Path) -> None:
    told = {"BACKSTAY_ALERT_THRESHOLDS": "high_queue_depth=5, slow_jobs=2.5"}

    read = read_settings({}, told, tmp_path)

    assert read.alert_thresholds == {"high_queue_depth": 5, "slow_jobs": 2.5}
    assert read_settings(
        {"alert_thresholds": read.chosen["alert_thresholds"].text}, {}, tmp_path
    ).alert_thresholds
    assert [one.rule for one in holding(AlertSituation(waiting=6), read.alert_thresholds)] == [
        "high_queue_depth"
    ]


@pytest.mark.parametrize(
    "wrong", ["colour=1", "slow_jobs", "slow_jobs=-1", "slow_jobs=soon", "slow_jobs=inf"]
)
def test_a_threshold_that_cannot_be_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InvalidSettings, match="of the rules high_queue_depth"):
        read_settings({"alert_thresholds": wrong}, {}, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
async def strict(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backstay]:
    """An application where one job that waits is one too many."""
    app = made_app(request, tmp_path, {"high_queue_depth": 0})

    @app.job
    async def waits() -> None: ...

    await app.migrate()
    await waits.enqueue()
    yield app
    await app.close()


def made_app(request: pytest.FixtureRequest, tmp_path: Path, thresholds: dict[str, float]) -> Backstay:
    url = f"sqlite:///{tmp_path / 'alerts.db'}"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"alerts_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    return Backstay(url, emit=lambda event, **facts: None, settings={"alert_thresholds": thresholds})


async def test_an_alert_fires_once_until_it_is_cleared(strict: Backstay) -> None:
    """ENG-117: stored and shown, fired once, and again after it has held no more."""
    [job] = (await strict.jobs.search()).jobs

    first, again = await strict.alerts.check(), await strict.alerts.check()
    [shown] = await strict.alerts.active()
    await strict.jobs.hold(job.id, reason="later")
    cleared = await strict.alerts.check()
    await strict.jobs.release(job.id)
    after = await strict.alerts.check()

    assert (first.fired, again.fired) == (("high_queue_depth",), ())
    assert (shown.rule, shown.value, shown.action) == ("high_queue_depth", 1.0, "consider_scaling_workers")
    assert (cleared.cleared, cleared.active) == (("high_queue_depth",), ())
    assert after.fired == ("high_queue_depth",)
    assert [one.cleared_at is None for one in await strict.alerts.newest()] == [True, False]


async def test_a_look_from_the_command_line_has_the_same_thresholds(
    strict: Backstay, monkeypatch: pytest.MonkeyPatch
) -> None:
    await strict.alerts.check()
    monkeypatch.setenv("BACKSTAY_ALERT_THRESHOLDS", "high_queue_depth=0")
    monkeypatch.setenv("BACKSTAY_URL", strict.url)

    looked = await asyncio.to_thread(CliRunner().invoke, backstay, ["--json", "alerts", "check"])

    assert looked.exit_code == 0, looked.output
    assert (await strict.alerts.check()).fired == ()
    assert len(await strict.alerts.newest()) == 1


async def test_several_who_check_at_once_fire_once(strict: Backstay) -> None:
    found = await asyncio.gather(*(strict.alerts.check() for _ in range(8)))

    assert sorted(one.fired for one in found) == [()] * 7 + [("high_queue_depth",)]


async def test_an_unknown_rule_is_refused(quick_world: World) -> None:
    answer = await quick_world.admin.post("/alerts/colour/mute", json={"length": "1h", "reason": "x"})
    assert answer.status_code == 422
    assert "slow_jobs" in NAMES


@pytest.fixture(params=["sqlite", "postgres"])
async def watched(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backstay]:
    """An application that looks at its rules and tells the log."""
    app = made_app(request, tmp_path, {"high_queue_depth": 2})

    @app.job(queue="elsewhere")
    async def waits() -> None: ...

    alerts = AlertJobs(app, [(LogChannel(), "oncall")], every="1h")
    await app.migrate()
    for _ in range(3):
        await waits.enqueue()
    app_checks[app] = alerts
    yield app
    await app.close()


app_checks: dict[Backstay, AlertJobs] = {}


async def unfinished(app: Backstay) -> bool:
    counts = [one for one in await app.jobs.counts() if one.queue == "alerts"]
    return any(one.state in ("available", "running") for one in counts)


async def looked(app: Backstay) -> None:
    """Let the rules be looked at once, and people be told."""
    before = await app_checks[app].check.enqueue()
    worker = app.worker(queues=["alerts"])
    task = asyncio.create_task(worker.run())
    try:
        await before.result(timeout=60)
        async with asyncio.timeout(60):
            while any(
                one.state in ("available", "running") and one.queue == "alerts"
                for one in await app.jobs.counts()
            ):
                await asyncio.sleep(0.02)
    finally:
        worker.stop()
        await task


async def test_people_are_told_once_of_an_alert(watched: Backstay, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await looked(watched)
        await looked(watched)

    told = [record.getMessage() for record in caplog.records if "high_queue_depth" in record.getMessage()]
    assert len(told) == 1
    [alert] = await watched.alerts.active()
    assert alert.announced_at is not None


async def test_a_muted_rule_fires_silently_and_is_told_when_it_is_unmuted(
    watched: Backstay, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await watched.alerts.mute("high_queue_depth", length="1h", reason="we move", by="ann")
        await looked(watched)
        silent = [record for record in caplog.records if "high_queue_depth" in record.getMessage()]
        [mute] = await watched.alerts.mutes()
        assert await watched.alerts.unmute("high_queue_depth")
        await looked(watched)

    told = [record for record in caplog.records if "high_queue_depth" in record.getMessage()]
    assert (silent, len(told)) == ([], 1)
    assert (mute.muted_by, mute.reason) == ("ann", "we move")
