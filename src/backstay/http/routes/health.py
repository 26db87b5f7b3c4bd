"""/health and /metrics: is it well, how much waits, how much is done, how long it takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from backstay.client.metrics import period_for
from backstay.http.caller import AsCaller, Caller, service_of
from backstay.http.errors import ANSWERS
from backstay.http.prometheus import MEDIA_TYPE, exposition
from backstay.http.router import operation_id, operations
from backstay.http.values.common import Listed
from backstay.http.values.health import (
    Alive,
    CounterShown,
    DepthShown,
    FiguresAtShown,
    HealthShown,
    KindFiguresShown,
    Ready,
    ScalingShown,
    ServiceLevelShown,
    figures_facts,
    kind_figures,
)
from backstay.kit.problems import problem_responses
from backstay.model.figures import Period
from backstay.model.health import HealthStatus
from backstay.model.scaling import ScalingRule

health = operations("health")
metrics = operations("metrics")
open_to_all = APIRouter(
    prefix="/health",
    tags=["health"],
    generate_unique_id_function=operation_id,
    responses=problem_responses(405, 421, 500),
)

WELL_ENOUGH: dict[int | str, dict[str, Any]] = {
    503: {"model": HealthShown, "description": "Unhealthy, or the database cannot be reached."}
}
Last = Annotated[
    str,
    Query(
        max_length=40,
        pattern=r"^(\d{1,4}(m|h|d))+$",
        description="A length of time: 30m, 24h, 7d.",
        examples=["1h"],
    ),
]
Name = Annotated[str | None, Query(max_length=128)]
MONTH = 2_678_400
Workers = Annotated[int, Query(ge=0, le=100_000, examples=[10])]
Seconds = Annotated[float, Query(ge=0, le=MONTH, examples=[300])]


@open_to_all.get("/live", summary="Ask whether the process answers")
async def live() -> Alive:
    """Answer as long as the process does, without a key and without looking at the database."""
    return Alive()


@health.get("/ready", summary="Ask whether the database can be reached")
async def ready(request: Request, caller: Caller) -> Ready:
    """Answer 503 as long as the database cannot be reached or lacks our tables."""
    await service_of(request).app.health.ping()
    return Ready()


@health.get("", responses={**ANSWERS, **WELL_ENOUGH}, summary="Ask whether everything is well")
async def check(response: Response, client: AsCaller) -> HealthShown:
    """Judge stale jobs, open dead letters and the failures of the last hour; 503 when unhealthy."""
    report = await client.health.check()
    response.status_code = 503 if report.status is HealthStatus.UNHEALTHY else 200
    return HealthShown.model_validate(report)


@metrics.get(
    "", response_class=Response, responses={200: {"content": {"text/plain": {}}}}, summary="Read metrics"
)
async def prometheus(client: AsCaller) -> Response:
    """Give everything countable as Prometheus reads it."""
    return Response(await exposition(client), media_type=MEDIA_TYPE)


@metrics.get("/depths", summary="Count what has not ended")
async def depths(client: AsCaller) -> Listed[DepthShown]:
    """Count the jobs of each queue and kind that wait, run or are dead, each up to 10,000."""
    found = await client.metrics.depths()
    return Listed[DepthShown](items=[DepthShown.model_validate(one) for one in found])


@metrics.get("/counters", summary="See what the application counts")
async def counters(client: AsCaller) -> Listed[CounterShown]:
    """Tell what all processes together have counted by each name."""
    found = await client.metrics.counters()
    return Listed[CounterShown](items=[CounterShown(name=name, total=found[name]) for name in sorted(found)])


@metrics.get("/service-levels", summary="See the service levels")
async def service_levels(client: AsCaller, last: Last = "24h") -> Listed[ServiceLevelShown]:
    """Judge six promises: submission, start, completion, uptime of workers, dead jobs and jobs a minute."""
    found = await client.metrics.service_levels(last)
    return Listed[ServiceLevelShown](items=[ServiceLevelShown.model_validate(one) for one in found])


@metrics.get("/kinds", summary="See figures by kind")
async def kinds(client: AsCaller, last: Last = "1h", queue: Name = None) -> Listed[KindFiguresShown]:
    """Tell for each queue and kind how many attempts ended how, and how long they took."""
    found = await client.metrics.by_kind(last, queue=queue, period=period_for(last))
    return Listed[KindFiguresShown](items=[kind_figures(one) for one in found])


@metrics.get("/over-time", summary="See figures over time")
async def over_time(
    client: AsCaller, last: Last = "1h", period: Period = Period.MINUTE, queue: Name = None, kind: Name = None
) -> Listed[FiguresAtShown]:
    """Tell the same for each minute, hour, day or week, the oldest first; empty ones are left out."""
    found = await client.metrics.over_time(last, period=period, queue=queue, kind=kind)
    shown = [FiguresAtShown.model_validate({"at": one.at, **figures_facts(one.figures)}) for one in found]
    return Listed[FiguresAtShown](items=shown)


@metrics.get("/desired-workers", summary="Ask how many workers there should be")
async def desired_workers(
    client: AsCaller,
    least: Workers = 1,
    most: Workers = 10,
    cool_down: Seconds = 300,
    changed_ago: Annotated[
        float | None,
        Query(ge=0, le=MONTH, description="How many seconds ago the number was changed.", examples=[60]),
    ] = None,
) -> ScalingShown:
    """Tell it from the jobs that wait, how long the first has waited, and how busy the workers are.

    More than 100 jobs, a wait above five minutes or processors above 80 % ask for half as many again; fewer than 10
    jobs for one fewer. During the cool-down after a change the number stays.
    """
    rule = ScalingRule(least=least, most=most, cool_down=timedelta(seconds=cool_down))
    ago = None if changed_ago is None else timedelta(seconds=changed_ago)
    return ScalingShown.model_validate(await client.metrics.desired_workers(rule, changed_ago=ago))
