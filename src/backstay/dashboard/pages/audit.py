"""The audit trail: who did what, when and why."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import WHOLE
from backstay.dashboard.frame import Frame, sentence
from backstay.dashboard.views.job_query import id_of, moment_of
from backstay.errors import BackstayError, InvalidSettings
from backstay.kit import PageLinks
from backstay.model.audit_chain import ChainReport
from backstay.model.job import JobId
from backstay.model.records import AuditEntry, AuditFilter

PAGE = 100
FILTERS = ("actor", "action", "job", "tenant", "since", "until")


class AuditPages:
    """The lines of the trail, newest first."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/audit", self.show, methods=["GET"])
        router.add_api_route("/audit/verify", self.verify, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show the lines that fit the filters of the address."""
        return await self._page(request)

    async def verify(self, request: Request) -> Response:
        """Look through the chains of the whole trail, and show what that came to."""
        return await self._page(request, report=await self._frame.visitor(request).client.audit.verify())

    async def _page(self, request: Request, *, report: ChainReport | None = None) -> Response:
        client = self._frame.visitor(request).client
        given = {name: request.query_params.get(name, "").strip() for name in FILTERS}
        problem, lines = "", list[AuditEntry]()
        try:
            lines = await client.audit.search(
                _filter(given), before=_mark(request.query_params.get("cursor")), limit=PAGE + 1
            )
        except BackstayError as error:
            problem = sentence(error)
        more = str(lines[PAGE - 1].id) if len(lines) > PAGE else None
        return self._frame.show(
            request,
            "audit",
            "Audit",
            lines=lines[:PAGE],
            links=PageLinks(next=more),
            given=given,
            problem=problem,
            report=report,
            is_first=not request.query_params.get("cursor"),
        )


def _filter(given: dict[str, str]) -> AuditFilter:
    return AuditFilter(
        actor=given["actor"] or None,
        action=given["action"] or None,
        job_id=JobId(id_of(given["job"])) if given["job"] else None,
        tenant=given["tenant"] or None,
        since=moment_of("since", given["since"]) if given["since"] else None,
        until=moment_of("until", given["until"]) if given["until"] else None,
    )


def _mark(cursor: str | None) -> int | None:
    if not cursor:
        return None
    if not WHOLE.fullmatch(cursor):
        raise InvalidSettings("the cursor is not one of this list: start again without it")
    return int(cursor)
