"""The platform's HTTP server put together."""

from fastapi import FastAPI

from backstay_watchpoint import __version__
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.web.machines import machine_router
from backstay_watchpoint.web.pages import install_pages
from backstay_watchpoint.web.tenants import tenant_router


def build_server(jobs: Jobs) -> FastAPI:
    """Build the application with the API of tenants and machines, and the pages of operators."""
    app = FastAPI(title="Watchpoint", version=__version__, docs_url=None, redoc_url=None)
    app.include_router(tenant_router(jobs.platform))
    app.include_router(machine_router(jobs))
    install_pages(app, jobs)
    return app
