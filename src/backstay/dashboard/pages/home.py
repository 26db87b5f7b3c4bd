"""Is it well? One verdict with its reasons, and everything at a glance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request, Response

from backstay.client.doctor.findings import Finding
from backstay.client.metrics import MOST_COUNTED
from backstay.dashboard.frame import Frame
from backstay.dashboard.recent import Recent
from backstay.dashboard.views.depths import (
    DEPTH_TONES,
    depth_columns,
    is_living,
    queue_depths,
    totals,
)
from backstay.dashboard.views.figures import duration_chart, filled_minutes, throughput_chart, wait_chart
from backstay.dashboard.views.reasons import alert_reasons, failure_reasons, late_reasons
from backstay.dashboard.views.verdict import Reason, Verdict, verdict_of
from backstay.dashboard.visitor import Visitor
from backstay.kit.environment import utc_now
from backstay.model.figures import FiguresAt, Period
from backstay.model.job import Job
from backstay.model.pauses import Pause
from backstay.model.records import DeadLetter, JobFilter, WorkerRecord
from backstay.model.states import State

FINDINGS_SECONDS = 5.0
FIGURES_SECONDS = 5.0
SHOWN = timedelta(hours=1)
DAY_BEFORE = timedelta(days=1)
DAY_SECONDS = 60.0
FEW = 8
LOOKED_AT = 100


class HomePages:
    """The first page."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._findings = Recent[list[Finding]](FINDINGS_SECONDS)
        self._figures = Recent[list[FiguresAt]](FIGURES_SECONDS)
        self._day = Recent[list[FiguresAt]](DAY_SECONDS)

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/", self.show, methods=["GET"])
        return router

    async def show(self, request: Request) -> Response:
        """Show the verdict, depths, workers, what runs and what died last."""
        visitor = self._frame.visitor(request)
        counts = await self._frame.counts(visitor) if visitor.may("jobs.read") else []
        workers, pauses = await _workers(visitor), await _pauses(visitor)
        depths = queue_depths(counts, workers, pauses)
        found = totals(counts)
        return self._frame.show(
            request,
            "home",
            "Is it well?",
            verdict=await self._verdict(visitor) if visitor.may_for_all("doctor.read") else None,
            totals={state.value: found[state] for state in State},
            is_capped=any(amount.is_capped for amount in found.values()),
            most=MOST_COUNTED,
            depths=depths,
            depth_columns=depth_columns(depths),
            depth_tones=DEPTH_TONES,
            workers=[worker for worker in workers if is_living(worker)][:FEW],
            living=sum(map(is_living, workers)),
            running=await _newest(visitor, State.RUNNING),
            finished=await _lately_completed(visitor),
            letters=await _letters(visitor),
            **await self._charts(visitor),
        )

    async def _charts(self, visitor: Visitor) -> dict[str, Any]:
        """What ended in each minute of the last hour, its waits and durations; empty for whom figures are not."""
        if not visitor.may_for_all("metrics.read"):
            return dict.fromkeys(("throughput", "waits", "durations", "completed", "success"))
        figures = await self._hour(visitor)
        minutes = filled_minutes(figures, utc_now(), SHOWN)
        completed = sum(one.figures.completed for one in figures)
        all_ended = sum(one.figures.ended for one in figures)
        return {
            "throughput": throughput_chart(minutes),
            "waits": wait_chart(minutes),
            "durations": duration_chart(minutes),
            "completed": completed,
            "success": completed / all_ended if all_ended else None,
        }

    async def _verdict(self, visitor: Visitor) -> Verdict:
        """What the doctor found, and what figures, schedules and alerts add to it."""
        client, others = visitor.client, list[Reason]()
        if visitor.may_for_all("metrics.read"):
            others += failure_reasons(await self._hour(visitor), await self._day.get("day", _before(visitor)))
        if visitor.may("schedules.read"):
            others += late_reasons(await client.schedules.all(), utc_now())
        if visitor.may_for_all("alerts.read"):
            others += alert_reasons(await client.alerts.active())
        return verdict_of(await self._found(visitor), others)

    async def _hour(self, visitor: Visitor) -> list[FiguresAt]:
        return await self._figures.get("hour", lambda: visitor.client.metrics.over_time(SHOWN))

    async def _found(self, visitor: Visitor) -> list[Finding]:
        return await self._findings.get("all", visitor.client.doctor.check)


def _before(visitor: Visitor) -> Callable[[], Awaitable[list[FiguresAt]]]:
    until = utc_now() - SHOWN
    return lambda: visitor.client.metrics.over_time(DAY_BEFORE, until=until, period=Period.HOUR)


async def _workers(visitor: Visitor) -> list[WorkerRecord]:
    return await visitor.client.workers.all() if visitor.may_for_all("workers.read") else []


async def _pauses(visitor: Visitor) -> list[Pause]:
    return await visitor.client.queues.pauses() if visitor.may("queues.read") else []


async def _newest(visitor: Visitor, state: State) -> list[Job]:
    if not visitor.may("jobs.read"):
        return []
    return (await visitor.client.jobs.search(JobFilter(state=state), limit=FEW)).jobs


async def _lately_completed(visitor: Visitor) -> list[Job]:
    """Of the newest jobs that have completed, those that ended last."""
    if not visitor.may("jobs.read"):
        return []
    found = (await visitor.client.jobs.search(JobFilter(state=State.COMPLETED), limit=LOOKED_AT)).jobs
    return sorted(found, key=lambda job: job.finished_at or job.created_at, reverse=True)[:FEW]


async def _letters(visitor: Visitor) -> list[DeadLetter]:
    return await visitor.client.dead_letters.open(limit=FEW) if visitor.may("dead_letters.read") else []
