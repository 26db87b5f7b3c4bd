"""The list of jobs: filters in the address, live rows, and actions on what is selected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from backstay.client.acting.acting import Acting
from backstay.dashboard.forms import reason_of, text_of
from backstay.dashboard.frame import Frame, sentence
from backstay.dashboard.views.job_query import (
    LABELS,
    SPANS,
    JobQuery,
    is_id,
    names_of,
    page_after,
    page_place,
    ready_views,
    state_counts,
    view_name,
)
from backstay.dashboard.visitor import Visitor
from backstay.errors import BackstayError, InvalidSettings
from backstay.kit import PageLinks, path_of
from backstay.kit.environment import utc_now
from backstay.kit.form_reading import read_form
from backstay.kit.hrefs import with_query
from backstay.kit.words import count_of
from backstay.model.classify import ErrorClass
from backstay.model.job import Job
from backstay.model.records import KindRecord, Page

PAGE = 50
MOST_AT_ONCE = 200
MATCHING_PACE = 100.0

Deed = Callable[[Acting, str, str], Awaitable[object]]

DEEDS: dict[str, tuple[str, Deed]] = {
    "cancel": ("Cancelled", lambda client, job, why: client.jobs.cancel(job, reason=why)),
    "run": ("Started now", lambda client, job, _: client.jobs.run_now(job)),
    "hold": ("Held", lambda client, job, why: client.jobs.hold(job, reason=why)),
    "release": ("Released", lambda client, job, _: client.jobs.release(job)),
    "retry": ("Retried", lambda client, job, why: client.dead_letters.retry(job, reason=why)),
    "resolve": ("Resolved", lambda client, job, why: client.dead_letters.resolve(job, reason=why)),
}
VERBS = {
    "cancel": "jobs.cancel",
    "run": "jobs.run_now",
    "hold": "jobs.hold",
    "release": "jobs.release",
    "retry": "dead_letters.retry",
    "resolve": "dead_letters.resolve",
}
NEEDS_NO_REASON = {"run", "release"}


class JobsPages:
    """The list of jobs, and what can be done with several of them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/jobs", self.show, methods=["GET"])
        router.add_api_route("/jobs", self.act, methods=["POST"])
        router.add_api_route("/jobs/matching", self.act_on_matching, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show the jobs that fit the filters of the address, newest first."""
        visitor = self._frame.visitor(request)
        asked = request.query_params.get("q", "").strip()
        if is_id(asked):
            return self._frame.pages.redirect(request, path_of("jobs", asked))
        query = JobQuery.read(request.query_params)
        problem = f"{asked!r} is no id of a job; choose a filter instead." if asked else ""
        page, now = Page([], None), utc_now()
        try:
            cursor, now = page_place(request.query_params.get("cursor", ""), now)
            page = await visitor.client.jobs.search(query.to_filter(now), cursor=cursor, limit=PAGE)
        except (InvalidSettings, BackstayError) as error:
            problem = sentence(error)
        counts = await self._frame.counts(visitor)
        return self._frame.show(
            request,
            "jobs",
            view_name(request.query_params) or "Jobs",
            query=query,
            views=ready_views(),
            problem=problem,
            jobs=page.jobs,
            states=state_counts(counts, query),
            kinds=names_of(count.kind for count in counts),
            queues=names_of(count.queue for count in counts),
            spans=[(name, words) for name, (words, _) in SPANS.items()],
            links=PageLinks(next=page_after(page.cursor, now), shown=len(page.jobs)),
            is_first=not request.query_params.get("cursor"),
            stream=with_query("/events/jobs", query.given.items()),
            **await _offered(visitor, page.jobs),
        )

    async def act(self, request: Request) -> Response:
        """Do one thing with every selected job; tell how many it was done to, and why not to the others."""
        client = self._frame.visitor(request).client
        form = await read_form(request)
        selected = [str(value) for value in form.getlist("job")][:MOST_AT_ONCE]
        asked, why = await text_of(request, "action"), await text_of(request, "reason")

        async def do() -> str:
            if asked not in DEEDS:
                raise InvalidSettings("choose what to do with the selected jobs")
            if not selected:
                raise InvalidSettings("select the jobs first: tick the boxes before them")
            if not why and asked not in NEEDS_NO_REASON:
                raise InvalidSettings("say why: the reason is kept with each job")
            return await _done(asked, client, selected, why)

        return await self._frame.act(request, "/jobs", do)

    async def act_on_matching(self, request: Request) -> Response:
        """Do one thing with every job that fits the filters, as an operation that can be stopped."""
        visitor = self._frame.visitor(request)
        query = JobQuery.read({name: await text_of(request, name) for name in LABELS})
        started: list[str] = []

        async def do() -> str:
            asked = await text_of(request, "action")
            if asked not in DEEDS:
                raise InvalidSettings("choose what to do with these jobs")
            operation = await visitor.client.operations.start(
                VERBS[asked],
                query.to_filter(utc_now()),
                name=f"{asked} all jobs with {query.words}",
                reason=await reason_of(request),
                pace=MATCHING_PACE,
            )
            started.append(str(operation.id))
            return "The operation has started."

        return await self._frame.act(request, query.href, do, after=lambda: path_of("operations", started[0]))


async def _offered(visitor: Visitor, shown: list[Job]) -> dict[str, Any]:
    """What fields of the filter offer for completion besides kinds and queues: what is known, and what is shown."""
    known = visitor.may_for_all("workers.read")
    workers = await visitor.client.workers.all() if known else []
    declared = await visitor.client.workers.kinds() if known else []
    return {
        "offered": {
            "tenant": names_of(job.tenant for job in shown),
            "tag": names_of(tag for job in shown for tag in job.tags),
            "worker": names_of([*(worker.id for worker in workers), *(job.worker for job in shown)]),
            "error": [each.value for each in ErrorClass],
            "created_by": names_of(job.created_by for job in shown),
            "field": names_of(f"{each['field']}=" for one in declared for each in _promoted(one)),
        }
    }


def _promoted(kind: KindRecord) -> list[dict[str, Any]]:
    return list((kind.promoted or {}).get("fields", ()))


async def _done(asked: str, client: Acting, selected: list[str], why: str) -> str:
    word, deed = DEEDS[asked]
    done, problems = 0, list[BackstayError]()
    for job_id in selected:
        try:
            await deed(client, job_id, why)
            done += 1
        except BackstayError as error:
            problems.append(error)
    if not problems:
        return f"{word}: {count_of(done, 'job')}."
    if not done:
        raise problems[0]
    return f"{word}: {count_of(done, 'job')}; not {count_of(len(problems), 'other')}: {sentence(problems[0])}"
