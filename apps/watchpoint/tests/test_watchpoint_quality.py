"""Verification, canaries and calibration, computed by the local provider on a real object store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert
from watchpoint_rows import again, forecast_run, one, organization, rows, watchpoint

from backstay.records import JobFilter
from backstay_watchpoint.demo.weather import forecast_of, observations
from backstay_watchpoint.domain.calibration import DEFAULT
from backstay_watchpoint.domain.forecasts import Model
from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.domain.verification import observation_keys
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.local.world import World
from backstay_watchpoint.services.calibration import NoCandidate, approve, reject, update_coefficients
from backstay_watchpoint.services.callbacks import job_ended
from backstay_watchpoint.services.results import unfinished
from backstay_watchpoint.services.verification import check_canaries, trigger_verification
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import runs, tables
from backstay_watchpoint.store.runs import NewRun, Trigger
from conftest import LocalProvider, s3

BUCKETS = {"forecast_bucket": "watchpoint-forecasts", "observation_bucket": "observations"}


def put_all(jobs: Jobs, bucket: str, objects: dict[str, bytes]) -> None:
    client = s3(jobs)
    with ThreadPoolExecutor(6) as pool:
        list(
            pool.map(
                lambda item: client.put_object(Bucket=bucket, Key=item[0], Body=item[1]), objects.items()
            )
        )


async def a_forecast(
    jobs: Jobs, world: World, model: Model, at: datetime, *, is_observed: bool = True
) -> str:
    put_all(jobs, "watchpoint-forecasts", forecast_of(world, model, at))
    if is_observed:
        put_all(jobs, "observations", observations(world, [(model, at)]))
    return await forecast_run(jobs.platform.database, model, at, status="complete")


async def verify(jobs: Jobs, work: Work) -> int:
    return await trigger_verification(work, jobs.platform.provider, jobs.platform.objects, **BUCKETS)


async def test_a_run_is_verified_once_with_known_errors(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-033, WPT-034, WPT-037: real RMSE and bias of a known model error; a second run asks for nothing."""
    at = connected_work.now - timedelta(hours=30)
    world = World(
        3, World.drawn(3, tiles={"1.0": 1.0}, stations=2).locations, model_bias=2.0, model_noise=0.0
    )
    # At the moments of the model's own files the error is the bias alone.
    run = await a_forecast(connected, world, Model.MEDIUM_RANGE, at)

    assert await verify(connected, connected_work) == 1
    [job] = await provider.settled()

    assert job["status"] == "COMPLETED", job["error"]
    assert job["input"]["task_type"] == "verification"
    found = await rows(connected.platform.database, tables.verification_results, forecast_run_id=run)
    metrics = {(row["location_id"], row["variable"], row["metric"]): row["value"] for row in found}
    assert {key[1:] for key in metrics} == {
        ("temperature", "rmse"),
        ("temperature", "bias"),
        ("precipitation_probability", "brier"),
    }
    place = world.locations[0]
    from backstay_watchpoint.domain.forecasts import LEADS

    hours = [lead.total_seconds() / 3600 for lead in LEADS[Model.MEDIUM_RANGE]]
    known = [world.temperature(place, at + timedelta(hours=hour)) + 2.0 for hour in (0, 24)]
    said = [known[0] + (known[1] - known[0]) * hour / 24 for hour in hours]
    errors = [
        s - world.temperature(place, at + timedelta(hours=hour)) for s, hour in zip(said, hours, strict=True)
    ]
    assert metrics[place.id, "temperature", "bias"] == pytest.approx(sum(errors) / 8)
    assert metrics[place.id, "temperature", "rmse"] == pytest.approx((sum(e * e for e in errors) / 8) ** 0.5)
    assert await verify(connected, again(connected_work)) == 0
    assert len(provider.jobs) == 1


async def test_without_observations_nothing_is_asked_until_they_come(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-033, WPT-055: a missing object means no call; it is tried again while the run is in the window."""
    at = connected_work.now - timedelta(hours=26)
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    await a_forecast(connected, world, Model.NOWCAST, at, is_observed=False)
    seen = observations(world, [(Model.NOWCAST, at)])
    missing = observation_keys(Model.NOWCAST, at)[-1]
    put_all(connected, "observations", {key: body for key, body in seen.items() if key != missing})

    assert await verify(connected, connected_work) == 0
    assert provider.jobs == []
    put_all(connected, "observations", {missing: seen[missing]})
    assert await verify(connected, again(connected_work, hours=1)) == 1


@pytest.mark.parametrize(
    ("age", "asked"),
    [
        (timedelta(hours=24), 0),
        (timedelta(hours=24, seconds=1), 1),
        (timedelta(hours=48), 1),
        (timedelta(hours=48, seconds=1), 0),
    ],
)
async def test_the_window_is_a_day_to_two_days_old(
    connected: Jobs, connected_work: Work, provider: LocalProvider, age: timedelta, asked: int
) -> None:
    """WPT-033: the boundaries."""
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    await a_forecast(connected, world, Model.NOWCAST, connected_work.now - age)

    assert await verify(connected, connected_work) == asked


async def test_a_refused_verification_is_asked_for_again(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-034: a request that was not accepted does not count."""
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    await a_forecast(connected, world, Model.NOWCAST, connected_work.now - timedelta(hours=30))
    provider.fault("refuse")

    assert await verify(connected, connected_work) == 0
    assert "was not accepted" in connected_work.warnings[0]
    assert await verify(connected, again(connected_work)) == 1


async def test_the_last_result_of_a_batch_is_known(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-035: canaries are checked after the results have arrived, not before."""
    database = connected.platform.database
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    for hours in (30, 31):
        await a_forecast(connected, world, Model.NOWCAST, connected_work.now - timedelta(hours=hours))
    assert await verify(connected, connected_work) == 2
    first, second = await provider.settled()
    batch = (await rows(database, tables.provider_jobs))[0]["batch"]

    async with database.transaction() as transaction:
        assert await unfinished(transaction, batch) == 2
        done, running = ProviderState.COMPLETED, ProviderState.RUNNING
        assert await job_ended(transaction, first["id"], running, connected_work.now) is None
        assert await job_ended(transaction, first["id"], done, connected_work.now) is None
        assert await job_ended(transaction, second["id"], done, connected_work.now) == batch
        assert await job_ended(transaction, second["id"], done, connected_work.now) is None


async def test_a_verification_that_was_cut_short_has_its_canaries_checked(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-035: killed after the last request, the same run goes on; its canaries are checked, and once."""

    class Dying:
        async def check_canaries(self, *_given: Any) -> None:
            raise KeyboardInterrupt

    database, now = connected.platform.database, connected_work.now
    world = World.drawn(3, tiles={"1.0": 1.0}, stations=1)
    await a_forecast(connected, world, Model.NOWCAST, now - timedelta(hours=30))
    async with database.transaction() as transaction:
        begun = await runs.begin(transaction, NewRun("verification", "j", "w", Trigger.MANUAL, now, now))
    assert isinstance(begun, int)
    with pytest.raises(KeyboardInterrupt):
        await verify(connected, Work(database, now, Dying(), run_id=begun))

    for _ in range(2):
        assert await verify(connected, Work(database, now, connected.publisher, run_id=begun)) == 0

    [check] = (await connected.platform.app.jobs.search(JobFilter(kind="check_canaries"))).jobs
    assert check.args["batch"] == (await one(database, tables.provider_jobs))["batch"]
    assert len(provider.jobs) == 1


async def test_canaries_alert_in_both_directions(work: Work, database: Any, now: datetime) -> None:
    """WPT-035: a match is silent, each mismatch has an alert of its own name, critical."""
    owner = await organization(database)
    for expected, has_triggered in ((True, True), (False, False), (True, False), (False, True), (True, None)):
        metadata = {"system_role": "canary", "canary_expect_trigger": expected}
        point = await watchpoint(database, owner, id=f"{expected}-{has_triggered}", metadata=metadata)
        if has_triggered is not None:
            async with database.transaction() as transaction:
                await transaction.execute(
                    insert(tables.evaluation_state).values(
                        watchpoint_id=point, has_triggered=has_triggered, evaluated_at=now
                    )
                )
    await watchpoint(database, owner, metadata={"canary_expect_trigger": True})

    found = await check_canaries(work)
    again = Work(database, now, work.publisher)
    await check_canaries(again)  # a job that is repeated after a crash alerts nobody twice
    assert again.items == 0

    assert {(alert.name, alert.watchpoint_id) for alert in found} == {
        ("CanaryMissedTrigger", "True-False"),
        ("CanaryMissedTrigger", "True-None"),
        ("CanaryFalseTrigger", "False-True"),
    }
    stored = await rows(database, tables.alerts)
    assert [row["severity"] for row in stored] == ["critical"] * 3


async def calibrated(
    jobs: Jobs, work: Work, provider: LocalProvider, factor: float, *, runs: int = 10, stations: int = 4
) -> World:
    """A tile whose rain follows the radar by other slopes than ours, with verified nowcasts."""
    world = World.drawn(5, tiles={"1.0": factor}, stations=stations)
    for number in range(runs):
        at = (work.now - timedelta(days=2, hours=number)).replace(minute=0)
        run = await a_forecast(jobs, world, Model.NOWCAST, at)
        async with jobs.platform.database.transaction() as transaction:
            await transaction.execute(
                insert(tables.verification_results),
                [
                    {
                        "forecast_run_id": run,
                        "location_id": place.id,
                        "tile_id": place.tile,
                        "variable": "precipitation_probability",
                        "metric": "brier",
                        "value": 0.1,
                        "computed_at": work.now,
                    }
                    for place in world.locations
                ],
            )
    return world


async def calibrate(jobs: Jobs, work: Work) -> int:
    return await update_coefficients(work, jobs.platform.provider, forecast_bucket="watchpoint-forecasts")


async def test_a_small_change_is_applied(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-036, WPT-037: known data give the known slope, 9 % more; it is applied at once, and once a week."""
    await calibrated(connected, connected_work, provider, 1.09)

    assert await calibrate(connected, connected_work) == 1
    [job] = await provider.settled()

    assert job["status"] == "COMPLETED", job["error"]
    assert set(job["input"]["input_config"]) == {"calibration_time_range", "tiles"}
    stored = await one(connected.platform.database, tables.calibration_coefficients)
    assert stored["coefficients"]["mid_slope"] == pytest.approx(DEFAULT.mid_slope * 1.09)
    assert stored["coefficients"]["high_slope"] == pytest.approx(DEFAULT.high_slope * 1.09)
    assert await rows(connected.platform.database, tables.calibration_candidates) == []
    assert await calibrate(connected, again(connected_work)) == 0


async def test_a_large_change_waits_for_a_person(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-036: 22 % becomes a candidate with its reason; approved it is applied, and only once."""
    database, now = connected.platform.database, connected_work.now
    await calibrated(connected, connected_work, provider, 1.22)

    await calibrate(connected, connected_work)
    await provider.settled()

    assert await rows(database, tables.calibration_coefficients) == []
    candidate = await one(database, tables.calibration_candidates)
    assert candidate["status"] == "pending"
    assert candidate["violation_reason"].startswith("delta_exceeded_15_percent")
    async with database.transaction() as transaction:
        assert await approve(transaction, candidate["id"], by="ann", now=now) == "1.0"
    applied = await one(database, tables.calibration_coefficients)
    assert applied["coefficients"]["mid_slope"] == pytest.approx(DEFAULT.mid_slope * 1.22)
    assert (await one(database, tables.calibration_candidates))["decided_by"] == "ann"
    async with database.transaction() as transaction:
        with pytest.raises(NoCandidate, match="no pending calibration candidate"):
            await reject(transaction, candidate["id"], by="bob", now=now)


async def test_a_rejected_change_changes_nothing(database: Any, now: datetime) -> None:
    """WPT-036: a person can also say no."""
    async with database.transaction() as transaction:
        values = msgspec.to_builtins(DEFAULT)
        await transaction.execute(
            insert(tables.calibration_candidates).values(
                id="c1",
                tile_id="1.0",
                current_coefficients=values,
                proposed_coefficients=values,
                violation_reason="x",
                created_at=now,
            )
        )
        assert await reject(transaction, "c1", by="bob", now=now) == "1.0"

    assert (await one(database, tables.calibration_candidates))["status"] == "rejected"
    assert await rows(database, tables.calibration_coefficients) == []


@pytest.mark.parametrize(("runs", "stations", "asked"), [(29, 1, 0), (15, 2, 1)])
async def test_a_tile_needs_thirty_results(
    connected: Jobs, connected_work: Work, provider: LocalProvider, runs: int, stations: int, asked: int
) -> None:
    """WPT-036: 29 results are not enough, 30 are."""
    database, now = connected.platform.database, connected_work.now
    for number in range(runs):
        run = await forecast_run(database, "nowcast", now - timedelta(hours=number + 1), status="complete")
        async with database.transaction() as transaction:
            for station in range(stations):
                await transaction.execute(
                    insert(tables.verification_results).values(
                        forecast_run_id=run,
                        location_id=f"S{station}",
                        tile_id="1.0",
                        variable="precipitation_probability",
                        metric="brier",
                        value=0.1,
                        computed_at=now,
                    )
                )

    assert await calibrate(connected, connected_work) == asked
