"""Operations: every action on many jobs, how far it is, and a button that stops it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.dashboard.frame import Frame
from backstay.kit import Crumb, path_of


class OperationPages:
    """The operations on the jobs that the visitor may see."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/operations", self.show_all, methods=["GET"])
        router.add_api_route("/operations/{operation_id}", self.show, methods=["GET"])
        router.add_api_route("/operations/{operation_id}/stop", self.stop, methods=["POST"])
        return router

    async def show_all(self, request: Request) -> Response:
        """Show every operation, the newest first."""
        found = await self._frame.visitor(request).client.operations.all()
        return self._frame.show(request, "operations", "Operations", operations=found)

    async def show(self, request: Request, operation_id: str) -> Response:
        """Show one operation."""
        operation = await self._frame.visitor(request).client.operations.get(operation_id)
        crumbs = [Crumb("Operations", "/operations"), Crumb(operation.name)]
        return self._frame.show(request, "operation", operation.name, crumbs=crumbs, operation=operation)

    async def stop(self, request: Request, operation_id: str) -> Response:
        """Stop an operation after the step that is under way."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            await client.operations.stop(operation_id)
            return "It stops; what was done stays done."

        return await self._frame.act(request, path_of("operations", operation_id), do)
