"""Puts the dashboard together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI

from backstay.app import Backstay
from backstay.dashboard.errors import install_client_errors
from backstay.dashboard.frame import NAVIGATION, TEMPLATES, TONES, Frame
from backstay.dashboard.pages.alerts import AlertPages
from backstay.dashboard.pages.audit import AuditPages
from backstay.dashboard.pages.changes import ChangePages
from backstay.dashboard.pages.dead_letters import DeadLetterPages
from backstay.dashboard.pages.failures import FailurePages
from backstay.dashboard.pages.flows import FlowPages
from backstay.dashboard.pages.home import HomePages
from backstay.dashboard.pages.job import JobPages
from backstay.dashboard.pages.jobs import JobsPages
from backstay.dashboard.pages.keys import KeyPages
from backstay.dashboard.pages.new_job import NewJobPages
from backstay.dashboard.pages.operations import OperationPages
from backstay.dashboard.pages.queues import QueuePages
from backstay.dashboard.pages.schedules import SchedulePages
from backstay.dashboard.pages.system import SystemPages
from backstay.dashboard.pages.tenants import TenantPages
from backstay.dashboard.pages.workers import WorkerPages
from backstay.errors import InvalidSettings
from backstay.http.access import Authenticate
from backstay.kit import Pages, SigningKeys
from backstay.kit.environment import random_text

LOG_IN_FIRST = "Log in to the application that this dashboard is part of, then open this page again."
SHORTEST_SECRET = 32

PAGES = (
    HomePages,
    JobsPages,
    # Before the page of one job, so that `new` is not taken for an id.
    NewJobPages,
    JobPages,
    DeadLetterPages,
    FailurePages,
    OperationPages,
    QueuePages,
    SchedulePages,
    FlowPages,
    WorkerPages,
    TenantPages,
    AuditPages,
    AlertPages,
    SystemPages,
    KeyPages,
    ChangePages,
)


def dashboard(
    app: Backstay,
    *,
    authenticate: Authenticate | None = None,
    secret: str = "",
    title: str = "Backstay",
    zone: str = "UTC",
) -> FastAPI:
    """Return the dashboard of an application's jobs, to be mounted into a web application.

    `authenticate` tells who sends a request, as a `backstay.http.Person`, or None for a stranger. `secret` signs
    forms; without one it is made anew at each start, which only suits a server of a single process. Times are
    written in `zone`.
    """
    if authenticate is None:
        raise InvalidSettings(
            "a dashboard needs authenticate=…, a function that tells who sends a request: without it everybody "
            "could see and change your jobs"
        )
    if secret and len(secret) < SHORTEST_SECRET:
        raise InvalidSettings(f"the dashboard's secret needs at least {SHORTEST_SECRET} characters")
    keys = SigningKeys(secret or random_text(SHORTEST_SECRET))
    pages = make_pages(title, keys, zone=zone)
    return assemble(app, authenticate, pages, advice_to_strangers=LOG_IN_FIRST)


def make_pages(title: str, keys: SigningKeys, **options: Any) -> Pages:
    """Return the kit's pages with the dashboard's navigation and templates."""
    return Pages(title, keys, nav=NAVIGATION, templates=TEMPLATES, tones=TONES, **options)


def assemble(
    app: Backstay,
    authenticate: Authenticate,
    pages: Pages,
    *,
    advice_to_strangers: str = "",
    hosts: Sequence[str] = (),
    closes: bool = False,
) -> FastAPI:
    """Return the web application: every page, the API where it is installed, and the guard around them.

    Without `advice_to_strangers` they are led to the login. With `closes` it closes what it has opened of the
    application when it ends.
    """
    frame = Frame(app, authenticate, pages, advice_to_strangers=advice_to_strangers)
    web = FastAPI(
        title=pages.title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_closing(app) if closes else None,
    )
    pages.install(web, hosts=hosts)
    install_client_errors(web, pages)
    for each in PAGES:
        web.include_router(each(frame).router())
    return web


def _closing(app: Backstay) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await app.close()

    return lifespan
