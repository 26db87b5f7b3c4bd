"""What becomes of a verification or a calibration after it was asked for, with and without the provider's callback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from test_watchpoint_quality import a_forecast, calibrate, calibrated, verify
from watchpoint_rows import again, one, organization, rows, watchpoint

from backstay import State
from backstay.records import JobFilter
from backstay_watchpoint.domain import payloads
from backstay_watchpoint.domain.forecasts import Model, output_prefix
from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.domain.results import FORGOTTEN, Ended, ending
from backstay_watchpoint.jobs import Jobs, build
from backstay_watchpoint.local.world import World
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store import tables
from conftest import FixedClock, LocalProvider, s3


@pytest.mark.parametrize(
    ("state", "has_results", "expected"),
    [
        (ProviderState.COMPLETED, False, Ended()),
        (ProviderState.FAILED, False, Ended("the provider says failed")),
        (ProviderState.TIMED_OUT, True, Ended("the provider says timed_out")),
        (ProviderState.UNKNOWN, True, Ended()),
        (ProviderState.UNKNOWN, False, Ended(FORGOTTEN)),
        (ProviderState.RUNNING, False, None),
        (ProviderState.QUEUED, False, None),
        (ProviderState.UNREACHABLE, True, None),
    ],
)
def test_what_the_provider_says_decides_how_a_request_has_ended(
    state: ProviderState, has_results: bool, expected: Ended | None
) -> None:
    """WPT-035: what is forgotten has ended well if its results are stored; an unreachable provider says nothing."""
    assert ending(state, has_results=has_results) == expected


async def ended(jobs: Jobs, kind: str) -> Any:
    """Run what waits for results to its end; no callback ever comes."""
    async with jobs.platform.app.working(concurrency=2, queues=["maintenance"]), asyncio.timeout(60):
        while True:
            [job] = (await jobs.platform.app.jobs.search(JobFilter(kind=kind), limit=1)).jobs
            if job.state in (State.COMPLETED, State.DEAD):
                return job
            await asyncio.sleep(0.05)


async def a_nowcast(jobs: Jobs, work: Work, hours: int = 30) -> str:
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    return await a_forecast(jobs, world, Model.NOWCAST, work.now - timedelta(hours=hours))


async def test_without_a_callback_the_provider_is_asked_for_results(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-035: by default no callback is set; the results are found all the same, and the canaries are checked."""
    database = connected.platform.database
    metadata = {"system_role": "canary", "canary_expect_trigger": True}
    await watchpoint(database, await organization(database), metadata=metadata)
    await a_nowcast(connected, connected_work)
    assert await verify(connected, connected_work) == 1
    await provider.settled()

    job = await ended(connected, "check_canaries")

    assert job.state is State.COMPLETED
    request = await one(database, tables.provider_jobs)
    assert (request["finished_at"], request["error"]) == (connected_work.now, None)
    assert [row["name"] for row in await rows(database, tables.alerts)] == ["CanaryMissedTrigger"]


async def test_results_of_a_forgotten_job_count(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-035: the provider forgets finished jobs after half an hour; what is stored decides."""
    await a_nowcast(connected, connected_work)
    await verify(connected, connected_work)
    await provider.settled()
    provider.post("/local/clock", advance_seconds=3600)

    await ended(connected, "check_canaries")

    assert (await one(connected.platform.database, tables.provider_jobs))["error"] is None
    assert await rows(connected.platform.database, tables.alerts) == []


async def test_a_failed_verification_is_told_and_asked_for_again(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-034, WPT-035: a critical alert names the run; the next runs ask again, three times in all."""
    database = connected.platform.database
    run = await a_nowcast(connected, connected_work)
    provider.fault("fail", count=3)
    await verify(connected, connected_work)
    await provider.settled()

    await ended(connected, "check_canaries")

    alert = await one(database, tables.alerts)
    assert (alert["name"], alert["severity"]) == ("VerificationFailed", "critical")
    assert f"{run}: the provider says failed" in alert["message"]
    asked = [1]
    for day in (1, 2, 3):
        asked.append(await verify(connected, again(connected_work, days=day)))
        await provider.settled()
        await ended(connected, "check_canaries")
    assert asked == [1, 1, 1, 0]
    assert (await one(database, tables.provider_jobs))["requests"] == 3


@pytest.fixture
async def impatient(
    connected: Jobs, environment_with_clouds: dict[str, str], clock: FixedClock
) -> AsyncIterator[Jobs]:
    """The platform that waits a second for results; the buckets are those of the other one."""
    built = build(
        Settings.from_environment({**environment_with_clouds, "RESULTS_TIMEOUT": "1s"}), clock=clock
    )
    yield built
    await built.platform.close()


async def test_results_that_do_not_arrive_in_time_are_told(
    impatient: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-035: a job that hangs at the provider becomes a critical alert, and the canaries are checked without it."""
    database = impatient.platform.database
    await a_nowcast(impatient, connected_work)
    provider.fault("hang")
    await verify(impatient, connected_work)

    job = await ended(impatient, "check_canaries")

    assert job.state is State.COMPLETED
    alert = await one(database, tables.alerts)
    assert (alert["name"], alert["severity"]) == ("VerificationResultsMissing", "critical")
    assert alert["message"] == "1 verification results have not arrived within 0:00:01"
    assert (await one(database, tables.provider_jobs))["finished_at"] is None


async def test_a_failed_calibration_is_told_and_may_be_asked_for_again(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-036: the alert names the tile; the same week may ask again, which it may not after a success."""
    database = connected.platform.database
    await calibrated(connected, connected_work, provider, 1.09)
    provider.fault("fail", task_type="calibration")
    assert await calibrate(connected, connected_work) == 1
    await provider.settled()

    await ended(connected, "collect_results")

    assert (await one(database, tables.alerts))["name"] == "CalibrationFailed"
    assert await calibrate(connected, again(connected_work)) == 1
    await provider.settled()
    await ended(connected, "collect_results")
    assert (await one(database, tables.provider_jobs))["error"] is None
    assert await calibrate(connected, again(connected_work)) == 0


async def test_the_provider_keeps_a_complete_output_unless_a_rebuild_is_forced(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-053: the options of a request: keep, force_rebuild, mock_inference."""
    at = connected_work.now - timedelta(hours=1)
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    held = world.upstream_objects(at, at, nowcast_step=timedelta(minutes=20))
    sources = []
    for source in ("goes", "mrms"):
        [(key, body)] = held[source].items()
        s3(connected).put_object(Bucket=source, Key=key, Body=body)
        sources.append(f"s3://{source}/{key}")
    prefix = output_prefix(Model.NOWCAST, at)

    async def output(**options: bool) -> dict[str, Any]:
        payload = payloads.inference(Model.NOWCAST, at, f"s3://watchpoint-forecasts/{prefix}", sources)
        asked = msgspec.structs.replace(payload, options=payloads.Options(**options))
        external_id = await connected.platform.provider.trigger(asked)
        [job] = [job for job in await provider.settled() if job["id"] == external_id]
        assert job["status"] == "COMPLETED", job["error"]
        found: dict[str, Any] = json.loads(job["output"])
        return found

    assert await output(mock_inference=True) == {"places": 0, "is_mock": True}
    assert await output() == {"places": 0, "is_kept": True}
    assert await output(force_rebuild=True) == {"places": 1}
