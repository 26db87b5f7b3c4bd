"""Health at each of its boundaries, and metrics that Prometheus reads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from http_world import SECRET, TENANT, World
from prometheus_client.parser import text_string_to_metric_families

from backstay.model.health import HealthStatus, judged

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stale", "dead", "failures", "status"),
    [
        (0, 0, 0, HealthStatus.HEALTHY),
        (0, 10, 20, HealthStatus.HEALTHY),
        (1, 0, 0, HealthStatus.DEGRADED),
        (10, 0, 0, HealthStatus.DEGRADED),
        (11, 0, 0, HealthStatus.UNHEALTHY),
        (0, 11, 0, HealthStatus.DEGRADED),
        (0, 50, 0, HealthStatus.DEGRADED),
        (0, 51, 0, HealthStatus.UNHEALTHY),
        (0, 0, 21, HealthStatus.DEGRADED),
        (0, 0, 100_000, HealthStatus.DEGRADED),
        (11, 51, 21, HealthStatus.UNHEALTHY),
    ],
)
def test_health_changes_exactly_at_its_boundaries(
    stale: int, dead: int, failures: int, status: HealthStatus
) -> None:
    """ENG-121."""
    report = judged(stale=stale, dead=dead, failures=failures, at=NOW)

    assert report.status is status
    assert bool(report.reasons) is (status is not HealthStatus.HEALTHY)


async def test_dead_letters_make_it_degraded_and_then_unhealthy(world: World) -> None:
    """ENG-121: 200 while it works, 503 when it does not."""
    statuses = []
    for number in (10, 1, 40):
        await world.admin.post("/jobs/bulk", json={"jobs": [{"kind": "fail"}] * number})
        await world.run_all()
        answer = await world.admin.get("/health")
        statuses.append(
            (answer.status_code, answer.json()["unresolved_dead_letters"], answer.json()["status"])
        )

    assert [(code, dead) for code, dead, _ in statuses] == [(200, 10), (200, 11), (503, 51)]
    assert [status for *_, status in statuses][1:] == ["degraded", "unhealthy"]


async def test_liveness_is_open_and_readiness_asks_the_database(quick_world: World) -> None:
    assert (await quick_world.nobody.get("/health/live")).json() == {"status": "alive"}
    assert (await quick_world.nobody.get("/health/ready")).status_code == 401
    assert (await quick_world[f"viewer {TENANT}"].get("/health/ready")).json() == {"status": "ready"}


async def test_metrics_are_read_by_prometheus_and_tell_nothing_of_the_data(world: World) -> None:
    """ENG-124."""
    await world.admin.post(
        "/jobs/bulk", json={"jobs": [{"kind": "fail"}, {"kind": "add", "args": {"a": 1, "b": 2}}]}
    )
    await world.run_all()
    await world.admin.post("/jobs", json={"kind": "add", "args": {"a": 1, "b": 2}, "tags": [SECRET]})

    answer = await world.admin.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    jobs = {(one.labels["state"], one.labels["kind"]): one.value for one in families["backstay_jobs"].samples}
    assert jobs["available", "add"] == 1
    assert jobs["dead", "fail"] == 1
    assert families["backstay_dead_letters_open"].samples[0].value == 1
    assert SECRET not in answer.text


async def test_figures_are_told_by_kind(world: World) -> None:
    """ENG-118: success rate and durations of each kind."""
    await world.admin.post(
        "/jobs/bulk", json={"jobs": [{"kind": "fail"}, {"kind": "add", "args": {"a": 1, "b": 2}}]}
    )
    await world.run_all()

    found = {one["kind"]: one for one in (await world.admin.get("/metrics/kinds?last=2h")).json()["items"]}
    over_time = (await world.admin.get("/metrics/over-time?period=hour&last=1d")).json()["items"]

    assert (found["add"]["completed"], found["add"]["success_percent"]) == (1, 100.0)
    assert (found["fail"]["failed"], found["fail"]["success_percent"]) == (1, 0.0)
    assert sum(one["completed"] + one["failed"] for one in over_time) == 2


async def test_the_slots_of_living_workers_are_counted(quick_world: World) -> None:
    """ENG-120."""
    async with quick_world.app.working(concurrency=7):
        answer = await quick_world.admin.get("/metrics")

    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["backstay_worker_slots"].samples[0].value == 7
    assert {one.labels["state"]: one.value for one in families["backstay_workers"].samples} == {"alive": 1}
