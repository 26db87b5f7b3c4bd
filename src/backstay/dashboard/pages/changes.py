"""Streams of events: a browser is told when what a page shows has changed, and fetches the page again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from backstay.dashboard.frame import Frame
from backstay.dashboard.pages.flows import PAGE as FLOWS_SHOWN
from backstay.dashboard.pages.jobs import PAGE as JOBS_SHOWN
from backstay.dashboard.recent import Recent
from backstay.dashboard.views.job_query import JobQuery
from backstay.dashboard.visitor import Visitor
from backstay.errors import BackstayError
from backstay.kit import changes, event_stream, not_found
from backstay.kit.environment import utc_now
from backstay.model.records import AuditFilter, JobFilter

Given = Mapping[str, str]
Look = Callable[[Visitor, Given], Awaitable[Any]]

LOOK_SECONDS = 2.0
LETTERS_LOOKED_AT = 100
UNKNOWN = "unknown"
"""What is seen while the database does not answer: the next answer is a change."""


class ChangePages:
    """One stream for each page that lives; it looks at less than the page shows, and for all tabs of a person once."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._seen = Recent[Any](LOOK_SECONDS / 2)

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/events/{page}", self.stream, methods=["GET"])
        return router

    async def stream(self, request: Request, page: str) -> Response:
        """Tell a browser when to fetch a page again; raises Forbidden where the visitor may not see it."""
        visitor, look = self._frame.visitor(request), self._looks().get(page)
        if look is None:
            raise not_found()
        given = dict(request.query_params)
        key = f"{page} {given} {visitor.person.tenant} {visitor.person.name}"
        await look(visitor, given)

        async def see() -> object:
            try:
                return await self._seen.get(key, lambda: look(visitor, given))
            except BackstayError:
                return UNKNOWN

        return event_stream(changes(see, every=LOOK_SECONDS))

    def _looks(self) -> dict[str, Look]:
        return {"home": self._home, "queues": self._queues, **LOOKS}

    async def _home(self, visitor: Visitor, given: Given) -> object:
        seen: list[object] = [await self._frame.counts(visitor) if visitor.may("jobs.read") else None]
        if visitor.may_for_all("workers.read"):
            seen.append(await visitor.client.workers.all())
        if visitor.may_for_all("alerts.read"):
            seen.append([alert.id for alert in await visitor.client.alerts.active()])
        if visitor.may("jobs.read"):
            seen.append(await _jobs(visitor, {"state": "running"}))
        return seen

    async def _queues(self, visitor: Visitor, given: Given) -> object:
        limits = await visitor.client.limits.all() if visitor.may_for_all("limits.read") else []
        return await self._frame.counts(visitor), await visitor.client.queues.pauses(), limits


async def _jobs(visitor: Visitor, given: Given) -> object:
    filters: JobFilter = JobQuery.read(given).to_filter(utc_now())
    page = await visitor.client.jobs.search(filters, limit=JOBS_SHOWN)
    return [(job.id, job.state, job.run, job.updated_at, job.progress) for job in page.jobs]


async def _letters(visitor: Visitor, given: Given) -> object:
    letters = await visitor.client.dead_letters.open(limit=LETTERS_LOOKED_AT)
    return [(letter.job_id, letter.version) for letter in letters]


async def _flows(visitor: Visitor, given: Given) -> object:
    return [(flow.id, flow.jobs) for flow in await visitor.client.flows.all(limit=FLOWS_SHOWN)]


async def _flow(visitor: Visitor, given: Given) -> object:
    return (await visitor.client.flows.get(given.get("id", ""))).jobs


async def _schedules(visitor: Visitor, given: Given) -> object:
    found = await visitor.client.schedules.all()
    return [(one.id, one.next_fire_at, one.last_fire_at, one.run_count, one.is_paused) for one in found]


async def _workers(visitor: Visitor, given: Given) -> object:
    return await visitor.client.workers.all()


async def _operations(visitor: Visitor, given: Given) -> object:
    return await visitor.client.operations.all()


async def _alerts(visitor: Visitor, given: Given) -> object:
    alerts = visitor.client.alerts
    return [one.id for one in await alerts.active()], await alerts.mutes()


async def _tenants(visitor: Visitor, given: Given) -> object:
    client = visitor.client
    depths = await client.metrics.by_tenant() if visitor.may_for_all("metrics.read") else []
    return await client.quotas.all(), await client.queues.pauses(), depths


async def _audit(visitor: Visitor, given: Given) -> object:
    return [line.id for line in await visitor.client.audit.search(AuditFilter(), limit=1)]


LOOKS: dict[str, Look] = {
    "jobs": _jobs,
    "dead-letters": _letters,
    "failures": _letters,
    "flows": _flows,
    "flow": _flow,
    "schedules": _schedules,
    "workers": _workers,
    "operations": _operations,
    "alerts": _alerts,
    "tenants": _tenants,
    "audit": _audit,
}
