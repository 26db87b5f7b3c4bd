"""One job as a whole: what it did, why it does not run, and what can be done with it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.routing import Mount

from backstay.client.acting.acting import Acting
from backstay.dashboard.forms import json_of, reason_of, text_of, whole_or_text
from backstay.dashboard.frame import API, Frame
from backstay.dashboard.views.copies import copies_of
from backstay.dashboard.views.job_query import moment_of
from backstay.dashboard.views.sentences import limit_in, pieces_of
from backstay.dashboard.views.timeline import timeline_of
from backstay.dashboard.visitor import Visitor
from backstay.kit import Crumb, changes, event_stream, path_of
from backstay.model.job import Attempt, Job
from backstay.model.records import AuditEntry, JobFilter
from backstay.model.signals import awaited_signal
from backstay.model.states import WAITING, State

FEW_CHILDREN = 20
FEW_HOLDERS = 5


class JobPages:
    """The page of one job, and its actions."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/jobs/{job_id}", self.show, methods=["GET"])
        router.add_api_route("/jobs/{job_id}/events", self.events, methods=["GET"])
        for name, action in {
            "cancel": self.cancel,
            "hold": self.hold,
            "release": self.release,
            "reschedule": self.reschedule,
            "run-now": self.run_now,
            "priority": self.set_priority,
            "clone": self.clone,
            "signal": self.signal,
        }.items():
            router.add_api_route(f"/jobs/{{job_id}}/{name}", action, methods=["POST"])
        return router

    async def show(self, request: Request, job_id: str) -> Response:
        """Show everything about a job."""
        visitor = self._frame.visitor(request)
        client = visitor.client
        job = await client.jobs.get(job_id)
        runs = await client.jobs.runs(job.id)
        why = await client.doctor.why(job.id) if visitor.may("doctor.read") else []
        history = await client.jobs.history(job.id)
        return self._frame.show(
            request,
            "job",
            job.name or job.kind,
            crumbs=[
                Crumb("Jobs", "/jobs"),
                Crumb(job.kind, f"/jobs?kind={job.kind}"),
                Crumb(str(job.id)[-12:]),
            ],
            job=job,
            state="retrying" if job.is_retrying else job.state.value,
            why=[pieces_of(sentence) for sentence in why],
            **await _holders(visitor, limit_in(why)),
            runs=runs,
            last_two=_differing(runs),
            timeline=timeline_of(job, runs, history),
            copies=copies_of(job, _api(request)) if visitor.sees_payloads else [],
            clones=_clones(history),
            **await _around(visitor, job),
        )

    async def events(self, request: Request, job_id: str) -> Response:
        """Tell a browser when to fetch the job again."""
        client = self._frame.visitor(request).client
        await client.jobs.get(job_id)

        async def look() -> object:
            job = await client.jobs.get(job_id)
            return job.state, job.run, job.updated_at, job.progress, job.cancel_requested_at

        return event_stream(changes(look))

    async def cancel(self, request: Request, job_id: str) -> Response:
        """Cancel a job that waits, or ask one that runs to stop."""

        async def do() -> str:
            state = await self._client(request).jobs.cancel(job_id, reason=await reason_of(request))
            return "Cancelled." if state is State.CANCELLED else "It was asked to stop."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def hold(self, request: Request, job_id: str) -> Response:
        """Put a job aside."""

        async def do() -> str:
            await self._client(request).jobs.hold(job_id, reason=await reason_of(request))
            return "Held until somebody releases it."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def release(self, request: Request, job_id: str) -> Response:
        """Let a held job go on."""

        async def do() -> str:
            await self._client(request).jobs.release(job_id)
            return "Released."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def run_now(self, request: Request, job_id: str) -> Response:
        """Run a scheduled job now instead of later."""

        async def do() -> str:
            await self._client(request).jobs.run_now(job_id)
            return "It runs as soon as a worker is free."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def reschedule(self, request: Request, job_id: str) -> Response:
        """Move a waiting job to another time."""

        async def do() -> str:
            moment = moment_of("the time", await text_of(request, "run_at"))
            await self._client(request).jobs.reschedule(job_id, moment)
            return f"Moved to {self._frame.pages.exact_time(moment)}."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def set_priority(self, request: Request, job_id: str) -> Response:
        """Give a waiting job another priority."""

        async def do() -> str:
            asked = await text_of(request, "priority")
            reason = await reason_of(request)
            await self._client(request).jobs.set_priority(job_id, whole_or_text(asked), reason=reason)
            return f"Its priority is {asked} from now on."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def clone(self, request: Request, job_id: str) -> Response:
        """Store a new job like this one, and show it."""
        made: list[str] = []

        async def do() -> str:
            new = await self._client(request).jobs.clone(job_id, reason=await reason_of(request))
            made.append(str(new))
            return "This is the new job."

        return await self._frame.act(
            request, path_of("jobs", job_id), do, after=lambda: path_of("jobs", made[0])
        )

    async def signal(self, request: Request, job_id: str) -> Response:
        """Send a job the signal that it waits for."""

        async def do() -> str:
            name = await text_of(request, "name")
            payload = await json_of(request, "payload")
            is_new = await self._client(request).signals.send(job_id, name, payload)
            return f"Signal {name} was sent." if is_new else f"Signal {name} was there already."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    def _client(self, request: Request) -> Acting:
        return self._frame.visitor(request).client


async def _around(visitor: Visitor, job: Job) -> dict[str, Any]:
    """What belongs to a job besides itself: letters, steps, signals, the jobs it waits for and its children."""
    client = visitor.client
    ties = await client.flows.of_job(job.id) if visitor.may("flows.read") else []
    return {
        "letters": await client.dead_letters.of_job(job.id) if visitor.may("dead_letters.read") else [],
        "steps": await client.jobs.steps(job.id),
        "signals": await client.signals.of_job(job.id) if visitor.may("signals.read") else [],
        "awaited": awaited_signal(job.reason) if job.state is State.HELD else None,
        "parents": [tie for tie in ties if tie.dependency.job_id == job.id],
        "dependents": [tie for tie in ties if tie.dependency.parent_id == job.id],
        "children": (await client.jobs.search(JobFilter(parent_id=job.id), limit=FEW_CHILDREN)).jobs,
        "is_waiting": job.state in WAITING,
    }


async def _holders(visitor: Visitor, limit: str | None) -> dict[str, Any]:
    """Which jobs hold the permits that this one waits for."""
    if limit is None or not visitor.may_for_all("limits.read"):
        return {"full_limit": None, "holders": []}
    return {"full_limit": limit, "holders": await visitor.client.limits.holders(limit, limit=FEW_HOLDERS)}


def _api(request: Request) -> str:
    """Where the HTTP API answers: beside a dashboard that is a server of its own; else only the reader knows."""
    is_beside = any(isinstance(route, Mount) and route.path == API for route in request.app.routes)
    return f"{request.base_url}".rstrip("/") + API if is_beside else "$BACKSTAY_API"


def _clones(history: list[AuditEntry]) -> list[str]:
    """The jobs that people made from this one."""
    lines = [line.details or {} for line in history if line.action == "job.clone"]
    return [str(details["cloned_as"]) for details in lines if "cloned_as" in details]


def _differing(runs: list[Attempt]) -> tuple[Attempt, Attempt] | None:
    """The last two attempts that failed in different ways; None where there is nothing to compare."""
    failed = [run for run in runs if run.error]
    if len(failed) < 2 or _text(failed[-2]) == _text(failed[-1]):
        return None
    return failed[-2], failed[-1]


def _text(run: Attempt) -> object:
    return (run.error or {}).get("traceback")
