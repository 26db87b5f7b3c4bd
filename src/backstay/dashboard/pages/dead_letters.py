"""Dead letters: an inbox of jobs that need a decision, and the decisions."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import maybe_whole_of, object_of, reason_of, text_of
from backstay.dashboard.frame import Frame, sentence
from backstay.dashboard.views.job_query import names_of
from backstay.dashboard.visitor import Visitor
from backstay.errors import BackstayError
from backstay.http.access import PAYLOADS, not_allowed
from backstay.kit import Crumb, path_of
from backstay.model.records import DeadLetter

MOST_SHOWN = 100
FILTERS = ("kind", "queue", "fingerprint", "owner")
NOBODY = "-"
"""How the address asks for letters that nobody looks into."""
CRASHED = frozenset({"crash loop", "crashed"})


class DeadLetterPages:
    """The inbox, and what a person decides about one dead job."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/dead-letters", self.show, methods=["GET"])
        router.add_api_route("/jobs/{job_id}/edit", self.edit, methods=["GET"])
        router.add_api_route("/jobs/{job_id}/edit", self.retry_edited, methods=["POST"])
        for name, action in {
            "retry": self.retry,
            "resolve": self.resolve,
            "ignore": self.ignore,
            "investigate": self.investigate,
        }.items():
            router.add_api_route(f"/jobs/{{job_id}}/{name}", action, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show the letters that nobody has closed, newest first; crash victims apart."""
        visitor = self._frame.visitor(request)
        given = {name: request.query_params.get(name, "").strip() for name in FILTERS}
        letters = await visitor.client.dead_letters.open(
            kind=given["kind"] or None,
            queue=given["queue"] or None,
            fingerprint=given["fingerprint"] or None,
            owner=_owner(given["owner"]),
            limit=MOST_SHOWN + 1,
        )
        shown = letters[:MOST_SHOWN]
        return self._frame.show(
            request,
            "dead_letters",
            "Dead letters",
            letters=[letter for letter in shown if not _is_crash(letter)],
            crashed=[letter for letter in shown if _is_crash(letter)],
            has_more=len(letters) > MOST_SHOWN,
            given=given,
            kinds=names_of(letter.kind for letter in shown),
            queues=names_of(letter.queue for letter in shown),
            owners=_owners(visitor, given["owner"], shown),
            nobody=NOBODY,
        )

    async def retry(self, request: Request, job_id: str) -> Response:
        """Run a dead job again."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            await client.dead_letters.retry(job_id, reason=await reason_of(request))
            return "It runs again, with a fresh budget of attempts."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def resolve(self, request: Request, job_id: str) -> Response:
        """Close a dead job without running it: the matter is settled."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            await client.dead_letters.resolve(job_id, reason=await reason_of(request))
            return "Resolved; the reason is kept with the job."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def ignore(self, request: Request, job_id: str) -> Response:
        """Close a dead job without running it: it does not matter."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            await client.dead_letters.ignore(job_id, reason=await reason_of(request))
            return "Ignored; the reason is kept with the job."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def investigate(self, request: Request, job_id: str) -> Response:
        """Say that the visitor looks into a dead job."""
        visitor = self._frame.visitor(request)

        async def do() -> str:
            note = await text_of(request, "note")
            await visitor.client.dead_letters.investigate(job_id, note=note or None)
            return f"{visitor.person.name} looks into it now."

        return await self._frame.act(request, path_of("jobs", job_id), do)

    async def edit(self, request: Request, job_id: str) -> Response:
        """Show the arguments of a dead job, to be changed and run again."""
        return await self._editor(request, job_id)

    async def retry_edited(self, request: Request, job_id: str) -> Response:
        """Run a dead job again with other arguments; the form is shown again with the error if they are invalid."""
        client = self._frame.visitor(request).client
        try:
            new_id = await client.dead_letters.retry(
                job_id,
                reason=await reason_of(request),
                args=await object_of(request, "arguments"),
                as_new=bool(await text_of(request, "as_new")),
                version=await maybe_whole_of(request, "version"),
            )
        except BackstayError as error:
            return await self._editor(request, job_id, problem=sentence(error), status=422)
        told = "It runs again with the new arguments."
        return self._frame.pages.redirect(request, path_of("jobs", new_id), flash=told)

    async def _editor(
        self, request: Request, job_id: str, *, problem: str = "", status: int = 200
    ) -> Response:
        visitor = self._frame.visitor(request)
        if not visitor.sees_payloads:
            raise not_allowed(visitor.person, PAYLOADS)
        job = await visitor.client.jobs.get(job_id)
        letters = await visitor.client.dead_letters.of_job(job.id)
        typed = await text_of(request, "arguments") if problem else ""
        return self._frame.show(
            request,
            "edit_job",
            f"Retry {job.kind} with other arguments",
            crumbs=[
                Crumb("Jobs", "/jobs"),
                Crumb(str(job.id), path_of("jobs", job.id)),
                Crumb("Other arguments"),
            ],
            status=status,
            job=job,
            problem=problem,
            arguments=typed or json.dumps(job.args, indent=2, ensure_ascii=False),
            reason=await text_of(request, "reason") if problem else "",
            version=letters[0].version if letters else "",
        )


def _owner(asked: str) -> str | None:
    """Whose letters to show: None for everybody's, an empty text for those that nobody has taken."""
    return "" if asked == NOBODY else asked or None


def _owners(visitor: Visitor, asked: str, shown: list[DeadLetter]) -> list[str]:
    """Whose letters can be asked for: the visitor's own, and those of everybody on the page."""
    return [
        name
        for name in names_of([visitor.person.name, asked, *(letter.owner for letter in shown)])
        if name != NOBODY
    ]


def _is_crash(letter: DeadLetter) -> bool:
    return letter.reason in CRASHED
