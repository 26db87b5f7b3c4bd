"""Tenants: who has how many jobs waiting, what is paused, and quotas."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import reason_of, text_of, whole_of
from backstay.dashboard.frame import Frame
from backstay.dashboard.views.tenants import tenant_rows

FORM_HOME = "/tenants"
MOST_SHOWN = 200


class TenantPages:
    """Quotas and pauses of tenants."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/tenants", self.show, methods=["GET"])
        router.add_api_route("/quotas", self.set_quota, methods=["POST"])
        router.add_api_route("/quotas/unset", self.unset_quota, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show who has how much waiting and running, the quotas and the paused tenants."""
        visitor = self._frame.visitor(request)
        client = visitor.client
        pauses = await client.queues.pauses()
        sees_all = visitor.may_for_all("metrics.read")
        depths = await client.metrics.by_tenant(limit=MOST_SHOWN + 1) if sees_all else []
        return self._frame.show(
            request,
            "tenants",
            "Tenants",
            usage=tenant_rows(depths[:MOST_SHOWN], pauses) if sees_all else None,
            has_more=len(depths) > MOST_SHOWN,
            quotas=await client.quotas.all(),
            pauses=[pause for pause in pauses if pause.tenant is not None],
        )

    async def set_quota(self, request: Request) -> Response:
        """Limit how many jobs may wait."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            tenant, queue = await text_of(request, "tenant") or None, await text_of(request, "queue") or None
            most = await whole_of(request, "most")
            await client.quotas.set(most, tenant=tenant, queue=queue, reason=await reason_of(request))
            return (
                f"{tenant or 'Each tenant'} may have {most:,} jobs waiting{f' in {queue}' if queue else ''}."
            )

        return await self._frame.act(request, FORM_HOME, do)

    async def unset_quota(self, request: Request) -> Response:
        """Let any number wait again."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            tenant, queue = await text_of(request, "tenant") or None, await text_of(request, "queue") or None
            await client.quotas.unset(tenant=tenant, queue=queue)
            return "The quota is gone: any number may wait."

        return await self._frame.act(request, FORM_HOME, do)
