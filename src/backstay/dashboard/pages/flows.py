"""Flows: how far each is, its graph, why its jobs wait, cancel the rest, run a part again."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import reason_of, text_of
from backstay.dashboard.frame import Frame
from backstay.dashboard.views.flow_graph import BOX_HEIGHT, BOX_WIDTH, graph_of, waits_of
from backstay.errors import InvalidSettings
from backstay.kit import Crumb, PageLinks, path_of
from backstay.kit.words import count_of
from backstay.model.states import State

PAGE = 20
"""How many flows a page counts the jobs of: each may have thousands."""


class FlowPages:
    """The flows, and one of them as a graph."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/flows", self.show_all, methods=["GET"])
        router.add_api_route("/flows/{flow_id}", self.show, methods=["GET"])
        router.add_api_route("/flows/{flow_id}/cancel", self.cancel, methods=["POST"])
        router.add_api_route("/flows/{flow_id}/retry", self.retry, methods=["POST"])
        return router

    async def show_all(self, request: Request) -> Response:
        """Show flows with their progress, newest first."""
        client = self._frame.visitor(request).client
        flows = await client.flows.all(before=request.query_params.get("cursor") or None, limit=PAGE + 1)
        more = str(flows[PAGE - 1].id) if len(flows) > PAGE else None
        return self._frame.show(
            request, "flows", "Flows", flows=flows[:PAGE], links=PageLinks(next=more), states=list(State)
        )

    async def show(self, request: Request, flow_id: str) -> Response:
        """Show one flow as a graph, and its jobs as a table."""
        client = self._frame.visitor(request).client
        flow = await client.flows.get(flow_id)
        members = await client.flows.members(flow.id)
        dependencies = await client.flows.dependencies(flow.id)
        return self._frame.show(
            request,
            "flow",
            flow.name or "Flow",
            crumbs=[Crumb("Flows", "/flows"), Crumb(flow.name or str(flow.id))],
            flow=flow,
            members=members,
            waits=waits_of(members, dependencies),
            chosen=request.query_params.get("from", ""),
            graph=graph_of(members, dependencies),
            box=(BOX_WIDTH, BOX_HEIGHT),
        )

    async def cancel(self, request: Request, flow_id: str) -> Response:
        """Cancel what has not started and ask what runs to stop."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            reached = await client.flows.cancel(flow_id, reason=await reason_of(request))
            return f"{count_of(reached, 'job')} cancelled or asked to stop."

        return await self._frame.act(request, path_of("flows", flow_id), do)

    async def retry(self, request: Request, flow_id: str) -> Response:
        """Run a job of the flow, and everything that depends on it, again."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            job = await text_of(request, "job")
            if not job:
                raise InvalidSettings("choose the job to start from")
            jobs = await client.flows.retry_from(job, reason=await reason_of(request))
            return f"{count_of(len(jobs), 'job')} will run again."

        return await self._frame.act(request, path_of("flows", flow_id), do)
