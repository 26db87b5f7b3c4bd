"""The frame of the dashboard: lets people in, shows pages, and answers actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse

from backstay.app import Backstay
from backstay.dashboard.recent import Recent
from backstay.dashboard.views.depths import counts_of
from backstay.dashboard.visitor import Visitor
from backstay.errors import BackstayError
from backstay.http.access import ALL_TENANTS, Authenticate
from backstay.kit import Crumb, NavItem, Pages, Problem, local_path
from backstay.kit.authentication import not_authenticated
from backstay.kit.environment import utc_now
from backstay.kit.form_reading import read_form
from backstay.kit.values import Tone
from backstay.model.records import QueueCount

TEMPLATES = Path(__file__).parent / "templates"
TONES: Mapping[str, Tone] = {
    "well": "good",
    "stopping": "warn",
    "draining": "warn",
    "silent": "bad",
    "gone": "bad",
    "stopped": "muted",
    "crashed": "bad",
    "retried": "info",
    "investigating": "info",
    "lost": "bad",
    "snoozed": "warn",
}
COUNTS_SECONDS = 2.0
API = "/api/v1"
"""Where a dashboard that is a server of its own has the HTTP API."""

NAVIGATION = (
    NavItem("Is it well?", "/", key="g h"),
    NavItem("Jobs", "/jobs", "Work", key="g j", right="jobs.read"),
    NavItem("Failures", "/failures", "Work", key="g f", right="dead_letters.read"),
    NavItem("Dead letters", "/dead-letters", "Work", key="g d", right="dead_letters.read"),
    NavItem("Flows", "/flows", "Work", key="g l", right="flows.read"),
    NavItem("Schedules", "/schedules", "Work", key="g s", right="schedules.read"),
    NavItem("Queues and limits", "/queues", "Machinery", key="g q", right="queues.read"),
    NavItem("Workers", "/workers", "Machinery", key="g w", right="workers.read"),
    NavItem("Alerts", "/alerts", "Machinery", key="g e", right="alerts.read"),
    NavItem("Operations", "/operations", "Machinery", key="g o", right="operations.read"),
    NavItem("System", "/system", "Machinery", key="g y", right="overrides.read"),
    NavItem("Tenants", "/tenants", "People", key="g t", right="quotas.read"),
    NavItem("Audit", "/audit", "People", key="g a", right="audit.read"),
)


class Frame:
    """What every page of the dashboard needs: the application, who is looking, and the kit's pages."""

    def __init__(
        self, app: Backstay, authenticate: Authenticate, pages: Pages, *, advice_to_strangers: str = ""
    ) -> None:
        self.app, self.pages = app, pages
        self._authenticate, self._advice = authenticate, advice_to_strangers
        self._counts = Recent[list[QueueCount]](COUNTS_SECONDS)

    def router(self) -> APIRouter:
        """Return a router whose every route lets in only people who were recognised."""
        return self.pages.router(dependencies=[Depends(self.recognise)])

    async def recognise(self, request: Request) -> None:
        """Find out who sends a request; strangers are given the advice, or led to the login where there is one."""
        if "\0" in unquote(f"{request.url.path}?{request.url.query}"):
            raise Problem(400, "bad_request", "The address holds a character that no name has.")
        person = await self._authenticate(request)
        if person is None:
            raise Problem(401, "stranger", self._advice) if self._advice else not_authenticated()
        # Only who came through a login of ours can log out here.
        via, tenant = "" if self._advice else "session", person.tenant.replace(ALL_TENANTS, "all tenants")
        request.state.actor = replace(person.actor, via=via, tenant=tenant)
        request.state.visitor = Visitor.of(self.app, person)

    def visitor(self, request: Request) -> Visitor:
        """Return who sends this request; `recognise` has let them in."""
        visitor: Visitor = request.state.visitor
        return visitor

    def show(
        self,
        request: Request,
        template: str,
        title: str,
        *,
        crumbs: Sequence[Crumb] = (),
        status: int = 200,
        **values: Any,
    ) -> HTMLResponse:
        """Render a page."""
        return self.pages.render(
            request,
            f"dashboard/{template}.html",
            title=title,
            crumbs=crumbs,
            status=status,
            visitor=self.visitor(request),
            here=here(request),
            **values,
        )

    async def act(
        self,
        request: Request,
        back: str,
        action: Callable[[], Awaitable[str]],
        *,
        after: str | Callable[[], str] = "",
    ) -> Response:
        """Do what a button asks and go back with a message; what the client refuses is told there.

        `action` returns the message; `after` is where to go on if it succeeds, which it may only know then, otherwise
        `back`.
        """
        form = await read_form(request)
        asked = form.get("back")
        home = local_path(asked if isinstance(asked, str) else None, back)
        try:
            told = await action()
        except BackstayError as error:
            return self.pages.redirect(request, home, flash=sentence(error), tone="bad")
        self._counts.forget()
        onward = after() if callable(after) else after
        return self.pages.redirect(request, onward or home, flash=told)

    async def counts(self, visitor: Visitor) -> list[QueueCount]:
        """Return how many jobs of each queue and kind wait, run or are dead, as of a moment ago.

        For all tenants together each is counted up to a limit, so that a page is quick however many there are.
        """

        async def ask() -> list[QueueCount]:
            if not visitor.may_for_all("metrics.read"):
                return await visitor.client.jobs.counts()
            return counts_of(await visitor.client.metrics.depths(), utc_now())

        return await self._counts.get(visitor.person.tenant, ask)


def here(request: Request) -> str:
    """Return the address of this page below the place where the dashboard is mounted, with its query."""
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    return f"{path}?{request.url.query}" if request.url.query else path


def sentence(error: Exception) -> str:
    """Write an error's message as a sentence."""
    text = str(error).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
