"""Polling and reconciling against a real object store, failing mirrors and the local provider."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest
from watchpoint_rows import again, forecast_run, one, rows

from backstay_parts.faults import Answer, Fault, FaultProxy, access_denied
from backstay_parts.servers import MotoServer
from backstay_watchpoint.domain import layouts
from backstay_watchpoint.domain.calibration import DEFAULT
from backstay_watchpoint.domain.forecasts import Model, output_prefix, success_key
from backstay_watchpoint.domain.layouts import SourceId
from backstay_watchpoint.domain.polling import PollInput
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.local.world import World
from backstay_watchpoint.outside.clients import s3_client
from backstay_watchpoint.outside.mirrors import Mirror, MirroredUpstream
from backstay_watchpoint.outside.runpod import RunPod
from backstay_watchpoint.services.forecasts import reconcile_stale_runs
from backstay_watchpoint.services.outside import ProviderError
from backstay_watchpoint.services.polling import PollFailed, poll
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import tables
from conftest import LocalProvider, s3, tls

MIDDAY = datetime.fromisoformat("2026-03-18T12:00:00+00:00")
BUCKET = "watchpoint-forecasts"


def put_all(client: Any, bucket: str, objects: dict[str, bytes]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda item: client.put_object(Bucket=bucket, Key=item[0], Body=item[1]), objects.items()
            )
        )


def gfs_objects(runs: list[datetime]) -> dict[str, bytes]:
    return {
        key: b"location_id,tile_id,temperature\nS1,1.0,3\n" for run in runs for key in layouts.gfs_keys(run)
    }


def put_gfs(jobs: Jobs, runs: list[datetime]) -> None:
    put_all(s3(jobs), "gfs", gfs_objects(runs))


def cycles(number: int) -> list[datetime]:
    """The last so many model runs, oldest first."""
    return [MIDDAY - timedelta(hours=6 * step) for step in reversed(range(number))]


async def do_poll(jobs: Jobs, work: Work, upstream: MirroredUpstream | None = None, **asked: Any) -> int:
    platform = jobs.platform
    return await poll(work, upstream or platform.upstream, platform.provider, BUCKET, PollInput(**asked))


async def test_new_runs_are_stored_and_started_oldest_first(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-009: a row each with its external id; nothing new, no call."""
    put_gfs(connected, cycles(3))

    assert await do_poll(connected, connected_work) == 3

    started = provider.jobs
    assert [job["input"]["run_timestamp"] for job in started] == [
        f"{run:%Y-%m-%dT%H:%M:%SZ}" for run in cycles(3)
    ]
    stored = await rows(connected.platform.database, tables.forecast_runs)
    assert {row["external_id"] for row in stored} == {job["id"] for job in started}
    assert {row["status"] for row in stored} == {"running"}
    assert await do_poll(connected, again(connected_work)) == 0
    assert len(provider.jobs) == 3


async def test_a_limit_leaves_the_rest_for_the_next_polls(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-016: ten new runs with a limit of three are 3, 3, 3 and 1, none left out."""
    database = connected.platform.database
    put_gfs(connected, cycles(10))
    await forecast_run(database, "medium_range", MIDDAY - timedelta(hours=60), status="complete")
    await forecast_run(database, "nowcast", MIDDAY, status="complete")

    counts = [await do_poll(connected, again(connected_work), limit=3) for _ in range(5)]

    assert counts == [3, 3, 3, 1, 0]
    stored = await rows(database, tables.forecast_runs, status="running")
    assert sorted(row["run_timestamp"] for row in stored) == cycles(10)


async def test_two_pollers_insert_a_run_once(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-010: model and timestamp are unique."""
    put_gfs(connected, cycles(2))
    counts = await asyncio.gather(
        do_poll(connected, connected_work), do_poll(connected, again(connected_work))
    )

    assert sum(counts) == 2
    assert len(provider.jobs) == 2


async def test_force_retry_starts_failed_runs_again(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-008: only when it is asked for."""
    database = connected.platform.database
    failed = await forecast_run(
        database, "medium_range", MIDDAY, status="failed", retry_count=3, failure_reason="x"
    )

    assert await do_poll(connected, connected_work) == 0
    assert await do_poll(connected, again(connected_work), force_retry=True) == 1

    row = await one(database, tables.forecast_runs, id=failed)
    assert (row["status"], row["retry_count"], row["failure_reason"]) == ("running", 0, None)
    assert row["external_id"] == provider.jobs[0]["id"]


async def test_a_refused_trigger_is_left_for_the_reconciler(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-010, WPT-055: the row stays running without an id, and reconcile repairs it."""
    put_gfs(connected, cycles(1))
    provider.fault("refuse")

    assert await do_poll(connected, connected_work) == 1
    row = await one(connected.platform.database, tables.forecast_runs)
    assert (row["status"], row["external_id"]) == ("running", None)
    assert "the provider answered 500" in connected_work.warnings[0]

    later = again(connected_work, hours=4)
    assert await reconcile(connected, later) == 1
    repaired = await one(connected.platform.database, tables.forecast_runs)
    assert repaired["external_id"] == provider.jobs[0]["id"]
    assert (repaired["retry_count"], repaired["submitted_at"]) == (1, later.now)


async def test_the_nowcast_needs_both_sources_and_gets_coefficients(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-014, WPT-015: pairs within five minutes; the payload holds coefficients by tile, the medium range none."""
    await add_coefficients(connected)
    put_gfs(connected, cycles(1))
    put_all(
        s3(connected), "goes", {layouts.goes_key(MIDDAY + timedelta(minutes=15 * n)): b"" for n in range(3)}
    )
    radar = [MIDDAY + timedelta(minutes=5), MIDDAY + timedelta(minutes=20, seconds=1)]
    put_all(s3(connected), "mrms", {layouts.mrms_key(at): b"" for at in radar})

    assert await do_poll(connected, connected_work) == 2

    by_model = {job["input"]["model"]: job["input"] for job in provider.jobs}
    assert by_model["nowcast"]["run_timestamp"] == f"{MIDDAY:%Y-%m-%dT%H:%M:%SZ}"
    assert by_model["nowcast"]["input_config"]["calibration"]["1.0"]["mid_slope"] == DEFAULT.mid_slope
    assert by_model["nowcast"]["input_config"]["nowcast_source_paths"] == [
        f"s3://goes/{layouts.goes_key(MIDDAY)}",
        f"s3://mrms/{layouts.mrms_key(radar[0])}",
    ]
    assert "calibration" not in by_model["medium_range"]["input_config"]


async def test_a_composite_that_an_earlier_poll_used_is_not_used_again(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-014: 10:00 took the composite of 10:02; 10:05 waits for one of its own, though 10:02 is near enough."""
    client = s3(connected)
    first, second = MIDDAY, MIDDAY + timedelta(minutes=5)
    radar = [MIDDAY + timedelta(minutes=2), MIDDAY + timedelta(minutes=8)]
    put_all(client, "goes", {layouts.goes_key(first): b""})
    put_all(client, "mrms", {layouts.mrms_key(radar[0]): b""})
    assert await do_poll(connected, connected_work) == 1

    put_all(client, "goes", {layouts.goes_key(second): b""})
    too_early = await do_poll(connected, again(connected_work))
    put_all(client, "mrms", {layouts.mrms_key(radar[1]): b""})
    in_time = await do_poll(connected, again(connected_work))
    assert (too_early, in_time) == (0, 1)
    assert await do_poll(connected, again(connected_work), backfill_hours=24) == 0
    pairs = [job["input"]["input_config"]["nowcast_source_paths"] for job in provider.jobs]
    assert [path.partition("mrms/")[2] for _, path in pairs] == [layouts.mrms_key(at) for at in radar]


async def add_coefficients(jobs: Jobs) -> None:
    async with jobs.platform.database.transaction() as transaction:
        await transaction.execute(
            tables.calibration_coefficients.insert().values(
                tile_id="1.0", coefficients=msgspec.to_builtins(DEFAULT), updated_at=MIDDAY
            )
        )


@dataclass
class Mirrors:
    """Three object stores with the same buckets, each behind a proxy of its own."""

    clients: list[Any]
    proxies: list[FaultProxy]
    upstream: MirroredUpstream

    def put_gfs(self, runs: list[datetime]) -> None:
        """Store model runs in every mirror."""
        for client in self.clients:
            put_all(client, "gfs", gfs_objects(runs))


@pytest.fixture(scope="session")
def more_stores() -> Iterator[list[MotoServer]]:
    with MotoServer() as first, MotoServer() as second:
        yield [first, second]


@pytest.fixture
def mirrors(connected: Jobs, cloud: MotoServer, more_stores: list[MotoServer]) -> Iterator[Mirrors]:
    keys = {"region": "us-east-1", "access_key": "a", "secret_key": "b"}
    clients = [s3_client(server.url, **keys) for server in (*more_stores, cloud)]
    for client, server in zip(clients, more_stores, strict=False):
        httpx.post(f"{server.url}/moto-api/reset", timeout=30, verify=tls()).raise_for_status()
        for source in SourceId:
            client.create_bucket(Bucket=str(source))
    with ExitStack() as stack:
        proxies = [stack.enter_context(FaultProxy.before(server.url)) for server in (*more_stores, cloud)]
        asked = [s3_client(proxy.url, **keys, timeout=5, attempts=1) for proxy in proxies]
        given = {
            source: [
                Mirror(f"mirror-{number}", client, str(source)) for number, client in enumerate(asked, 1)
            ]
            for source in SourceId
        }
        yield Mirrors(clients, proxies, MirroredUpstream(given, page_size=100))


async def test_mirrors_are_tried_in_order(connected: Jobs, connected_work: Work, mirrors: Mirrors) -> None:
    """WPT-011, WPT-012, WPT-055: dead, denied, works: warnings in order, and only listings in the access log."""
    mirrors.put_gfs(cycles(1))
    dead, denied, works = mirrors.proxies
    dead.mode, denied.mode = Fault.REFUSE, access_denied()

    assert await do_poll(connected, connected_work, mirrors.upstream) == 1

    gfs = [warning for warning in connected_work.warnings if "source gfs" in warning]
    assert [warning.split()[1] for warning in gfs] == ["mirror-1", "mirror-2"]
    assert "AccessDenied (HTTP 403)" in gfs[1]
    assert {request.method for proxy in mirrors.proxies for request in proxy.log} == {"GET"}
    assert all("list-type" in request.query for request in works.log + denied.log)
    health = {
        row["mirror"]: row
        for row in await rows(connected.platform.database, tables.mirror_checks, source="gfs")
    }
    assert health["mirror-1"]["failures_in_a_row"] == 1
    assert health["mirror-3"]["error"] is None


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.HANG, Fault.CUT])
async def test_a_mirror_that_resets_hangs_or_is_cut_is_passed_over(
    connected: Jobs, connected_work: Work, mirrors: Mirrors, fault: Fault
) -> None:
    """WPT-011: network errors and timeouts lead to the next mirror."""
    mirrors.put_gfs(cycles(1))
    mirrors.proxies[0].mode = fault

    answer = await mirrors.upstream.check_availability(SourceId.GFS, MIDDAY - timedelta(hours=1), MIDDAY)

    assert answer.mirror == "mirror-2"
    assert [failure.mirror for failure in answer.failures] == ["mirror-1"]
    assert [found.timestamp for found in answer.found] == [MIDDAY]


async def test_all_mirrors_dead_is_an_error_that_names_each(
    connected: Jobs, connected_work: Work, mirrors: Mirrors
) -> None:
    """WPT-011, WPT-055: the error names every mirror."""
    for proxy in mirrors.proxies:
        proxy.mode = Fault.REFUSE

    with pytest.raises(PollFailed, match=r"mirror-1: .*mirror-2: .*mirror-3: "):
        await do_poll(connected, connected_work, mirrors.upstream)


async def test_one_model_that_fails_does_not_stop_the_other(
    connected: Jobs, connected_work: Work, mirrors: Mirrors, provider: LocalProvider
) -> None:
    """WPT-017: the nowcast's sources are dead, the medium range is started, and the task says so."""
    mirrors.put_gfs(cycles(1))
    for proxy in mirrors.proxies:
        proxy.rule = lambda method, path: None if path.startswith("/gfs") else access_denied()

    with pytest.raises(PollFailed, match="all mirrors of goes failed"):
        await do_poll(connected, connected_work, mirrors.upstream)

    assert [job["input"]["model"] for job in provider.jobs] == ["medium_range"]


async def test_long_listings_come_in_pages(connected: Jobs, connected_work: Work, mirrors: Mirrors) -> None:
    """WPT-013: 150 keys in pages of 100; the same code reads S3's pages of 1,000."""
    times = [MIDDAY + timedelta(seconds=16 * number) for number in range(150)]
    put_all(mirrors.clients[0], "mrms", {layouts.mrms_key(at): b"" for at in times})
    end = times[-1]

    answer = await mirrors.upstream.check_availability(SourceId.MRMS, MIDDAY - timedelta(seconds=1), end)

    assert [found.timestamp for found in answer.found] == times
    async with asyncio.timeout(60):  # the proxy notes a request when its connection ends, after the answer
        while len(mirrors.proxies[0].log) < 2:
            await asyncio.sleep(0.02)
    assert len(mirrors.proxies[0].log) == 2


@pytest.mark.prove
async def test_1500_keys_come_in_two_pages(connected: Jobs, cloud: MotoServer) -> None:
    """WPT-013: more keys than one page of S3 holds; a mirror's patience is not what is tried here."""
    times = [MIDDAY - timedelta(seconds=20 * number) for number in range(1500)]
    put_all(s3(connected), "mrms", {layouts.mrms_key(at): b"" for at in times})

    client = s3_client(cloud.url, region="us-east-1", access_key="a", secret_key="b", timeout=120)
    upstream = MirroredUpstream({SourceId.MRMS: [Mirror("mirror", client, "mrms")]})

    answer = await upstream.check_availability(SourceId.MRMS, times[-1] - timedelta(seconds=1), MIDDAY)

    assert len(answer.found) == 1500


async def reconcile(jobs: Jobs, work: Work, **given: Any) -> int:
    platform = jobs.platform
    return await reconcile_stale_runs(work, platform.provider, platform.objects, BUCKET, **given)


async def submitted(
    jobs: Jobs, work: Work, provider: LocalProvider, mode: str | None = None, *, retries: int = 0
) -> str:
    """A nowcast run that was sent to the provider longer ago than it may take."""
    at = work.now - timedelta(minutes=21)
    if mode is not None:
        provider.fault(mode)
    payload = _payload(at)
    external_id = await jobs.platform.provider.trigger(payload)
    await provider.settled()
    return await forecast_run(
        jobs.platform.database,
        "nowcast",
        at,
        external_id=external_id,
        retry_count=retries,
        source_paths=_sources(at),
    )


def _sources(at: datetime) -> list[str]:
    return [f"s3://goes/{layouts.goes_key(at)}", f"s3://mrms/{layouts.mrms_key(at)}"]


def _payload(at: datetime) -> Any:
    from backstay_watchpoint.domain.payloads import inference

    return inference(Model.NOWCAST, at, f"s3://{BUCKET}/{output_prefix(Model.NOWCAST, at)}", _sources(at))


def put_nowcast_input(jobs: Jobs, at: datetime) -> None:
    world = World.drawn(1, tiles={"1.0": 1.0})
    put_all(s3(jobs), "goes", {layouts.goes_key(at): world.goes(at)})
    put_all(s3(jobs), "mrms", {layouts.mrms_key(at): world.mrms(at)})


@pytest.mark.parametrize("mode", ["hang", "stay queued"])
async def test_a_hanging_run_is_cancelled_at_the_provider(
    connected: Jobs, connected_work: Work, provider: LocalProvider, mode: str
) -> None:
    """WPT-019: status first, then the cancel; failed with the reason Timeout, and no retry."""
    run = await submitted(connected, connected_work, provider, mode)

    assert await reconcile(connected, connected_work) == 1

    row = await one(connected.platform.database, tables.forecast_runs, id=run)
    assert (row["status"], row["failure_reason"], row["retry_count"]) == ("failed", "Timeout", 0)
    verbs = [request.split("/")[3] for request in provider.requests]
    assert verbs == ["run", "status", "cancel"]
    assert provider.jobs[0]["status"] == "CANCELLED"
    assert await reconcile(connected, again(connected_work)) == 0


async def test_a_cancel_that_fails_still_fails_the_run(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-021, WPT-055: marked failed all the same, and a warning kept."""
    run = await submitted(connected, connected_work, provider, "hang, uncancellable")

    assert await reconcile(connected, connected_work) == 1

    row = await one(connected.platform.database, tables.forecast_runs, id=run)
    assert (row["status"], row["failure_reason"]) == ("failed", "Timeout")
    assert "could not be cancelled" in connected_work.warnings[0]


async def test_a_dead_run_is_submitted_three_times_in_all(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-019, WPT-020, WPT-022: two resubmissions with new ids and a new clock, then failed with its reason."""
    run = await submitted(connected, connected_work, provider, "fail")
    ids = [(await one(connected.platform.database, tables.forecast_runs, id=run))["external_id"]]
    provider.fault("fail", count=5)
    counts = []
    for hour in range(4):
        counts.append(await reconcile(connected, again(connected_work, hours=hour)))
        await provider.settled()
        ids.append((await one(connected.platform.database, tables.forecast_runs, id=run))["external_id"])

    row = await one(connected.platform.database, tables.forecast_runs, id=run)
    assert counts == [1, 1, 1, 0]
    assert len(provider.jobs) == 3
    assert len(set(ids)) == 3
    assert (row["status"], row["retry_count"]) == ("failed", 3)
    assert "given up after 3 submissions" in row["failure_reason"]


async def test_the_timeout_begins_anew_with_a_resubmission(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-020: twenty minutes from the new submission."""
    run = await submitted(connected, connected_work, provider, "fail")
    provider.fault("hang")

    assert await reconcile(connected, connected_work) == 1
    assert await reconcile(connected, again(connected_work, minutes=20)) == 0
    assert await reconcile(connected, again(connected_work, minutes=20, seconds=1)) == 1
    assert (await one(connected.platform.database, tables.forecast_runs, id=run))[
        "failure_reason"
    ] == "Timeout"


async def test_a_completed_run_whose_callback_was_lost_is_marked(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-019: completed at the provider, running here."""
    put_nowcast_input(connected, connected_work.now - timedelta(minutes=21))
    run = await submitted(connected, connected_work, provider)

    assert provider.jobs[0]["status"] == "COMPLETED"
    assert await reconcile(connected, connected_work) == 1
    assert (await one(connected.platform.database, tables.forecast_runs, id=run))["status"] == "complete"


async def test_a_forgotten_run_with_output_is_complete(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-019: the provider forgets after thirty minutes; the marker object says that it was done."""
    at = connected_work.now - timedelta(minutes=21)
    put_nowcast_input(connected, at)
    run = await submitted(connected, connected_work, provider)
    provider.post("/local/clock", advance_seconds=1801)

    assert await reconcile(connected, connected_work) == 1

    assert (await one(connected.platform.database, tables.forecast_runs, id=run))["status"] == "complete"
    assert s3(connected).head_object(Bucket=BUCKET, Key=success_key(output_prefix(Model.NOWCAST, at)))


async def test_a_lost_run_without_output_is_submitted_again(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-019: an unknown id and no marker."""
    run = await submitted(connected, connected_work, provider, "lose")

    assert await reconcile(connected, connected_work) == 1

    row = await one(connected.platform.database, tables.forecast_runs, id=run)
    assert (row["status"], row["retry_count"]) == ("running", 1)
    assert row["external_id"] == provider.jobs[-1]["id"]


async def test_an_unreachable_provider_changes_nothing(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-019: left alone, with a warning, until the next hour."""
    run = await submitted(connected, connected_work, provider, "hang")
    before = await one(connected.platform.database, tables.forecast_runs, id=run)
    with FaultProxy.before(provider.url) as proxy:
        proxy.mode = Fault.REFUSE
        unreachable = RunPod(proxy.url, "watchpoint", "provider-key", timeout=1)
        objects = connected.platform.objects

        assert await reconcile_stale_runs(connected_work, unreachable, objects, BUCKET) == 0

    assert await one(connected.platform.database, tables.forecast_runs, id=run) == before
    assert "the provider does not answer" in connected_work.warnings[0]


async def test_an_answer_that_is_no_json_changes_nothing(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-019: a page of some proxy instead of the provider is no word about the run, and stops nobody else."""
    first = await submitted(connected, connected_work, provider, "hang")
    with FaultProxy.before(provider.url) as proxy:
        proxy.mode = Answer(200, b"<html>back soon</html>", (("Content-Type", "text/html"),))
        strange = RunPod(proxy.url, "watchpoint", "provider-key")

        assert await reconcile_stale_runs(connected_work, strange, connected.platform.objects, BUCKET) == 0
        with pytest.raises(ProviderError, match="without giving it an id"):
            await strange.trigger(_payload(connected_work.now))

    assert (await one(connected.platform.database, tables.forecast_runs, id=first))["status"] == "running"
    assert "the provider does not answer" in connected_work.warnings[0]


@pytest.mark.parametrize(("seconds", "handled"), [(-1, 0), (1, 1)])
@pytest.mark.parametrize(("model", "minutes"), [("nowcast", 20), ("medium_range", 180)])
async def test_only_overdue_runs_are_asked_about(
    connected: Jobs,
    connected_work: Work,
    provider: LocalProvider,
    model: str,
    minutes: int,
    seconds: int,
    handled: int,
) -> None:
    """WPT-018: 19:59 and 20:01, 2:59:59 and 3:00:01."""
    at = connected_work.now - timedelta(minutes=minutes, seconds=seconds)
    await forecast_run(connected.platform.database, model, at, retry_count=2)

    assert await reconcile(connected, connected_work) == handled


async def test_a_threshold_replaces_the_models_timeouts(
    connected: Jobs, connected_work: Work, provider: LocalProvider
) -> None:
    """WPT-018: the document's argument."""
    await forecast_run(
        connected.platform.database, "medium_range", connected_work.now - timedelta(minutes=6), retry_count=2
    )

    assert await reconcile(connected, connected_work) == 0
    assert await reconcile(connected, again(connected_work), threshold=timedelta(minutes=5)) == 1
