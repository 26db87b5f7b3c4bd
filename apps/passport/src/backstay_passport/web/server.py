"""The web application put together, and served."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

import uvicorn
from fastapi import FastAPI, Request, Response
from sqlalchemy.exc import DataError

from backstay.kit import ApiKeys, Authentication, Login, NavItem, Pages, Sessions, SigningKeys
from backstay_passport.domain.errors import InvalidInput, PassportError
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.services import Services
from backstay_passport.web import access_api, api, battery_api, console, passport_api, public
from backstay_passport.web.access import KeyStore, People, roles
from backstay_passport.web.problems import problem_of

Tone = Literal["neutral", "info", "good", "warn", "bad", "muted", "accent"]
TEMPLATES = Path(__file__).parent / "templates"
TONES: dict[str, Tone] = {
    "validated": "good",
    "rejected": "bad",
    "signed": "info",
    "active": "good",
    "superseded": "muted",
    "revoked": "bad",
    "sealed": "good",
    "succeeded": "good",
    "queued": "info",
    "dead_letter": "bad",
    "published": "good",
    "holds": "good",
    "broken": "bad",
    "delivered": "good",
    "waiting": "info",
    "reading": "info",
    "failed": "bad",
    "open": "good",
    "ended": "muted",
    "disabled": "muted",
}
NAV = [
    NavItem("Documents", "/console", key="g d"),
    NavItem("Readiness", "/console/readiness", key="g r"),
    NavItem("Batteries", "/console/batteries", key="g b"),
    NavItem("Partners", "/console/partners", key="g p"),
    NavItem("Rules", "/console/rules", key="g u"),
    NavItem("Webhooks", "/console/webhooks", key="g w"),
    NavItem("Jobs", "/console/jobs", key="g j"),
    NavItem("Chains", "/console/chains", key="g c"),
]


def web_app(services: Services) -> FastAPI:
    """Return the application: public pages, console and API."""
    # Without a secret of its own, everybody is logged out when the server starts anew.
    keys = SigningKeys(services.settings.web_secret or secrets.token_urlsafe(32))
    sessions = Sessions(keys, roles)
    pages = Pages(
        "Battery passports",
        keys,
        nav=NAV,
        templates=TEMPLATES,
        sessions=sessions,
        home="/console",
        tones=TONES,
    )
    open_pages = Pages("Battery passports", keys, templates=TEMPLATES, tones=TONES)
    auth = Authentication(sessions=sessions, csrf=pages.csrf, api_keys=ApiKeys(KeyStore(services), roles))
    app = FastAPI(title="Battery passports", docs_url=None, redoc_url=None)
    larger = {
        "/api/v1/documents": MAX_BYTES + 65_536,
        "/console/upload": MAX_BYTES + 65_536,
        "/verify": MAX_BYTES,
        "/api/v1/verify/file": MAX_BYTES + 65_536,
    }
    pages.install(app, larger_bodies=larger)
    app.include_router(Login(pages, People(services).authenticate).router())
    public.install(app, services, open_pages)
    api.install(app, services, auth)
    battery_api.install(app, services, auth)
    passport_api.install(app, services, auth)
    access_api.install(app, services, auth)
    console.install(app, services, pages, auth)

    @app.exception_handler(PassportError)
    async def refused(request: Request, error: PassportError) -> Response:
        problem = problem_of(error)
        handler = app.exception_handlers[type(problem)]
        answer = handler(request, problem)
        return await answer if asyncio.iscoroutine(answer) else answer  # type: ignore[return-value]  # either form of a handler

    @app.exception_handler(DataError)
    async def unstorable(request: Request, error: DataError) -> Response:
        problem = InvalidInput("a text holds a character, or a number is so large, that no database keeps it")
        return await refused(request, problem)

    return app


def serve(services: Services, host: str, port: int, work: int) -> None:
    """Serve until told to stop; with `work` also run so many jobs at a time."""
    asyncio.run(_serve(services, host, port, work))


async def _serve(services: Services, host: str, port: int, work: int) -> None:
    server = uvicorn.Server(uvicorn.Config(web_app(services), host=host, port=port, log_level="warning"))
    async with AsyncExitStack() as stack:
        if work:
            await stack.enter_async_context(services.app.working(concurrency=work))
        await server.serve()
