"""Figures of the queue, alerts and promises."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from backstay.kit import Actor, Authentication
from backstay_aeon.actions import watch
from backstay_aeon.services import Services
from backstay_aeon.store import metrics
from backstay_aeon.web.callers import team_shown
from backstay_aeon.web.prometheus import exposition


def add_routes(api: APIRouter, services: Services, auth: Authentication) -> None:
    """What those who watch the service read."""
    reader = Annotated[Actor, Depends(auth.require("jobs.read"))]
    database = services.database

    @api.get("/jobs/metrics")
    @api.get("/metrics")
    async def figures(actor: reader) -> Any:
        return await metrics.collect(database, team_shown(actor))

    @api.get("/metrics/prometheus")
    async def prometheus(actor: reader) -> Response:
        return Response(exposition(await metrics.collect(database)), media_type="text/plain; version=0.0.4")

    @api.get("/alerts")
    async def alerts(actor: reader) -> Any:
        return await database.rows("SELECT * FROM aeon.alerts ORDER BY id DESC LIMIT 100")

    @api.get("/slo")
    async def slo(actor: reader) -> Any:
        return await watch.slos(services)
