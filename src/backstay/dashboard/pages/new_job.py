"""Enqueue a job by hand: from nothing, or as a copy of another one."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import object_of, text_of, whole_or_text
from backstay.dashboard.frame import Frame, sentence
from backstay.dashboard.visitor import Visitor
from backstay.errors import BackstayError, InvalidSettings
from backstay.http.access import PAYLOADS, not_allowed
from backstay.kit import Crumb, path_of
from backstay.options import JobOptions

FIELDS = ("kind", "queue", "arguments", "delay", "priority", "tags", "key", "tenant")


class NewJobPages:
    """The form for a new job."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/jobs/new", self.show, methods=["GET"])
        router.add_api_route("/jobs/new", self.enqueue, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show an empty form, or one filled from the job `from`."""
        visitor = self._frame.visitor(request)
        model = request.query_params.get("from", "")
        values = await _copied(visitor, model) if model else {"kind": request.query_params.get("kind", "")}
        return await self._form(request, values)

    async def enqueue(self, request: Request) -> Response:
        """Store the job; the form is shown again with the error if it is invalid."""
        client = self._frame.visitor(request).client
        try:
            kind = await text_of(request, "kind")
            if not kind:
                raise InvalidSettings("choose a kind")
            arguments = await object_of(request, "arguments")
            handle = await client.jobs.enqueue(kind, arguments, await _options(request))
        except BackstayError as error:
            typed = {name: await text_of(request, name) for name in FIELDS}
            return await self._form(request, typed, problem=sentence(error), status=422)
        told = "Enqueued." if handle.is_new else "There was a job with this key already: this is it."
        return self._frame.pages.redirect(request, path_of("jobs", handle.id), flash=told)

    async def _form(
        self, request: Request, values: dict[str, str], *, problem: str = "", status: int = 200
    ) -> Response:
        visitor = self._frame.visitor(request)
        known = await visitor.client.workers.kinds() if visitor.may("workers.read") else []
        return self._frame.show(
            request,
            "new_job",
            "Enqueue a job",
            crumbs=[Crumb("Jobs", "/jobs"), Crumb("New")],
            status=status,
            values={name: values.get(name, "") for name in FIELDS},
            problem=problem,
            kinds=known,
            schema=next((one.arguments for one in known if one.kind == values.get("kind")), None),
        )


async def _options(request: Request) -> JobOptions:
    priority = await text_of(request, "priority")
    tags = [tag.strip() for tag in (await text_of(request, "tags")).split(",") if tag.strip()]
    return JobOptions(
        queue=await text_of(request, "queue") or None,
        delay=await text_of(request, "delay") or None,
        priority=whole_or_text(priority) if priority else None,
        tags=tags or None,
        key=await text_of(request, "key") or None,
        tenant=await text_of(request, "tenant") or None,
    )


async def _copied(visitor: Visitor, job_id: str) -> dict[str, Any]:
    if not visitor.sees_payloads:
        raise not_allowed(visitor.person, PAYLOADS)
    job = await visitor.client.jobs.get(job_id)
    return {
        "kind": job.kind,
        "queue": job.queue,
        "arguments": json.dumps(job.args, indent=2, ensure_ascii=False),
        "priority": str(job.priority),
        "tags": ", ".join(job.tags),
        "tenant": job.tenant,
    }
