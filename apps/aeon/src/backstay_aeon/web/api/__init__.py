"""/api: jobs, imports, files, reports, dead letters, schedules, metrics; a module a noun."""

from __future__ import annotations

from fastapi import APIRouter

from backstay.kit import Authentication, StrictRoute
from backstay_aeon.services import Services
from backstay_aeon.web.api import files, imports, jobs, letters, metrics, reports, schedules


def router(services: Services, auth: Authentication) -> APIRouter:
    """Every path of the API."""
    api = APIRouter(prefix="/api", route_class=StrictRoute)
    # Metrics first: /jobs/metrics is no job.
    for noun in (metrics, jobs, imports, files, reports, letters, schedules):
        noun.add_routes(api, services, auth)
    return api
