"""Puts pages, API and login together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from backstay.kit import (
    Actor,
    ApiKeys,
    Authentication,
    Login,
    NavItem,
    Pages,
    Passwords,
    Roles,
    Sessions,
    SigningKeys,
    Tone,
)
from backstay_exora.app import app as jobs
from backstay_exora.app import settings
from backstay_exora.files import MOST_BYTES
from backstay_exora.settings import BadSetting
from backstay_exora.store.access import KeyStore, staff_named
from backstay_exora.store.connections import connect
from backstay_exora.web.api import make_api
from backstay_exora.web.files import make_files
from backstay_exora.web.pages import make_pages

ROLES = Roles(
    {
        "reception": ["documents.read", "documents.upload", "patients.read"],
        "clinician": ["documents.read", "patients.read", "patients.export"],
        "reviewer": ["documents.read", "documents.upload", "patients.read", "reviews.*"],
        "admin": ["*"],
    }
)
NAVIGATION = [
    NavItem("Documents", "/documents", key="g d", right="documents.read"),
    NavItem("Upload", "/upload", key="g u", right="documents.upload"),
    NavItem("Reviews", "/reviews", key="g r", right="reviews.decide"),
    NavItem("Patients", "/patients", key="g p", right="patients.read"),
    NavItem("Jobs", "/jobs", key="g j", right="jobs.read"),
    NavItem("Doctor", "/doctor", right="jobs.read"),
]
TONES: dict[str, Tone] = {
    "needs_review": "warn",
    "done": "good",
    "failed": "bad",
    "rejected": "muted",
    "retracted": "muted",
    "matches": "good",
    "differs": "bad",
    "day and month exchanged": "bad",
    "absent": "muted",
    "partly there": "warn",
    "deferred": "warn",
    "retrying": "warn",
    "held": "good",
    "broken": "bad",
    "allergy": "bad",
    "medication": "info",
    "condition": "accent",
}


def make_service(*, is_working: bool = False, concurrency: int = 2) -> FastAPI:
    """The web application; with `is_working` it also runs jobs."""
    if len(settings.secret) < 32:
        raise BadSetting(
            "EXORA_SECRET must have at least 32 characters; it signs sessions and file addresses"
        )
    keys = SigningKeys(settings.secret)
    sessions = Sessions(keys, ROLES)
    pages = Pages(
        "Exora",
        keys,
        nav=NAVIGATION,
        templates=Path(__file__).parent / "templates",
        sessions=sessions,
        home="/documents",
        tones=TONES,
    )
    auth = Authentication(
        sessions=sessions, csrf=pages.csrf, api_keys=ApiKeys(KeyStore(settings.database_url), ROLES)
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if is_working:
            async with jobs.working(concurrency=concurrency):
                yield
        else:
            yield
        await jobs.close()

    service = FastAPI(title="Exora", docs_url=None, redoc_url=None, lifespan=lifespan)
    pages.install(service, larger_bodies={"/upload": MOST_BYTES * 4, "/api/documents": MOST_BYTES + 65536})
    service.include_router(Login(pages, _authenticate).router())
    service.include_router(make_api(auth))
    service.include_router(make_files())
    service.include_router(make_pages(pages, auth))
    return service


async def _authenticate(name: str, password: str) -> Actor | None:
    async with connect(settings.database_url) as connection:
        known = await staff_named(connection, name)
    if not await Passwords().match(password, known[1] if known else None) or known is None:
        return None
    return ROLES.actor(name, [known[2]], tenant=known[0])
