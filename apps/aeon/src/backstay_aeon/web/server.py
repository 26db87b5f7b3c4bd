"""The API and the pages, put together and served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import uvicorn
from fastapi import FastAPI, Request, Response

from backstay.errors import BackstayError, IdempotencyMismatch, WrongState
from backstay.kit import ApiKeys, Authentication, Login, NavItem, Pages, Problem, Sessions, SigningKeys
from backstay_aeon.actions import watch
from backstay_aeon.domain.errors import AeonError, Conflict, Missing
from backstay_aeon.services import Services
from backstay_aeon.web import api, pages
from backstay_aeon.web.access import ROLES, KeyStore, authenticate

NAV = [
    NavItem("Operations", "/", key="g o"),
    NavItem("Imports", "/imports", key="g i"),
    NavItem("Files", "/files", key="g f"),
    NavItem("Reports", "/reports", key="g r"),
    NavItem("Schedules", "/schedules", key="g s"),
    NavItem("Jobs", "/jobs", key="g j"),
    NavItem("Dead letters", "/dead-letters", key="g d"),
]
TEMPLATES = Path(__file__).parent / "templates"


def web_app(services: Services) -> FastAPI:
    """The application: API by key, pages by login."""
    keys = SigningKeys(services.settings.secret)
    sessions = Sessions(keys, ROLES)
    look = Pages(
        "Aeon",
        keys,
        nav=NAV,
        templates=TEMPLATES,
        sessions=sessions,
        home="/",
        tones={"dead_letter": "bad", "kept": "good", "missed": "bad", "critical": "bad", "warning": "warn"},
    )
    auth = Authentication(sessions=sessions, csrf=look.csrf, api_keys=ApiKeys(KeyStore(services), ROLES))
    app = FastAPI(
        title="Aeon job service",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lambda _: watching(services),
    )
    most = services.settings.max_upload_mb * 1024 * 1024 + 65_536
    look.install(
        app, larger_bodies={"/api/imports": most, "/api/files": most, "/imports": most, "/files": most}
    )
    app.include_router(Login(look, lambda name, word: authenticate(services, ROLES, name, word)).router())
    app.include_router(api.router(services, auth))
    app.include_router(pages.router(services, look, auth))

    _tell_errors(app)
    return app


def _tell_errors(app: FastAPI) -> None:
    """Answer errors of ours as problem details."""

    async def refused(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        handler: Any = app.exception_handlers[Problem]
        answer: Any = handler(request, problem)
        told: Response = await answer if asyncio.iscoroutine(answer) else answer
        return told

    app.add_exception_handler(AeonError, refused)
    app.add_exception_handler(BackstayError, refused)
    # What PostgreSQL cannot store (a NUL in a text, a number too large) was sent by the caller.
    app.add_exception_handler(asyncpg.DataError, refused)
    app.add_exception_handler(asyncpg.IntegrityConstraintViolationError, refused)


@asynccontextmanager
async def watching(services: Services) -> AsyncIterator[None]:
    """Look at the alert rules while the pages are served: they must hold when no worker is left, too."""
    task = asyncio.create_task(watch.keep_watching(services))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await services.close()


def problem_of(error: Exception) -> Problem:
    """How an error of ours is told over HTTP."""
    if isinstance(error, Missing):
        return Problem(400 if error.field else 404, "not_found", error.message, pointer=_pointer(error.field))
    if isinstance(error, Conflict | WrongState | IdempotencyMismatch):
        return Problem(409, "conflict", str(error))
    if isinstance(error, AeonError):
        return Problem(400, "bad_request", error.message, pointer=_pointer(error.field))
    return Problem(400, "refused", str(error))


def _pointer(field: str) -> str | None:
    return f"/{field}" if field else None


def serve(services: Services, host: str, port: int) -> None:
    """Serve until told to stop."""
    uvicorn.run(web_app(services), host=host, port=port, log_level="warning")
