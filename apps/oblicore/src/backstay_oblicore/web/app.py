"""The web application, put together."""

from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from backstay.kit import Login
from backstay_oblicore.services import Services
from backstay_oblicore.web.access import Access
from backstay_oblicore.web.api import api_router
from backstay_oblicore.web.pages import web_router

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
LARGEST_UPLOAD = 51 * 1024 * 1024


def build_web(services: Services) -> FastAPI:
    """Return the application with pages, API, login and security headers."""
    access = Access(services, TEMPLATES)
    app = FastAPI(title="Oblicore", docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json")
    uploads = (
        "/documents/new",
        "/imports/new",
        "/verify",
        "/obligations",
        "/api/v1/documents",
        "/api/v1/evidence",
        "/api/v1/packs/verify",
        "/api/v1/ai/extract",
        "/api/v1/obligations/import/excel",
    )
    access.pages.install(app, larger_bodies=dict.fromkeys(uploads, LARGEST_UPLOAD))
    app.mount("/_oblicore", StaticFiles(directory=HERE / "static"), name="oblicore")
    app.include_router(Login(access.pages, access.authenticate).router())
    app.include_router(api_router(services, access))
    app.include_router(web_router(services, access))
    return app
