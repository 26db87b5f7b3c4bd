"""Queues and limits: how deep each queue is, what is paused, who holds the permits."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import reason_of, text_of, whole_or_text
from backstay.dashboard.frame import Frame
from backstay.dashboard.views.depths import is_living, kind_depths, queue_depths
from backstay.dashboard.visitor import Visitor
from backstay.errors import InvalidSettings
from backstay.kit import Crumb
from backstay.model.limits.admission import LimitRecord
from backstay.model.records import Override, WorkerRecord

SCOPES = ("queue", "kind", "tenant")


class QueuePages:
    """The queues, one queue, the holders of a limit; pausing, resuming and changing limits."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/queues", self.show_all, methods=["GET"])
        router.add_api_route("/queues/{queue}", self.show, methods=["GET"])
        router.add_api_route("/limits/{key:path}", self.holders, methods=["GET"])
        router.add_api_route("/pauses", self.pause, methods=["POST"])
        router.add_api_route("/pauses/end", self.resume, methods=["POST"])
        router.add_api_route("/limits", self.set_limit, methods=["POST"])
        router.add_api_route("/limits/unset", self.unset_limit, methods=["POST"])
        return router

    async def show_all(self, request: Request) -> Response:
        """Show every queue with its depth, what is paused, and every limit."""
        visitor = self._frame.visitor(request)
        counts = await self._frame.counts(visitor)
        pauses = await visitor.client.queues.pauses()
        return self._frame.show(
            request,
            "queues",
            "Queues and limits",
            depths=queue_depths(counts, await _workers(visitor), pauses),
            pauses=pauses,
            limits=await _limits(visitor),
            changes=await _changes(visitor),
        )

    async def show(self, request: Request, queue: str) -> Response:
        """Show one queue: its kinds, its workers, its limits."""
        visitor = self._frame.visitor(request)
        counts = [count for count in await self._frame.counts(visitor) if count.queue == queue]
        workers = [worker for worker in await _workers(visitor) if queue in worker.queues]
        pauses = await visitor.client.queues.pauses()
        found = [one for one in queue_depths(counts, workers, pauses) if one.queue == queue]
        return self._frame.show(
            request,
            "queue",
            queue,
            crumbs=[Crumb("Queues and limits", "/queues"), Crumb(queue)],
            queue=queue,
            depth=found[0] if found else None,
            kinds=kind_depths(counts, pauses),
            workers=[worker for worker in workers if is_living(worker)],
            limits=[one for one in await _limits(visitor) if f"queue {queue}" in one.key],
            changes=[one for one in await _changes(visitor) if one.scope == "queue" and one.name == queue],
        )

    async def holders(self, request: Request, key: str) -> Response:
        """Show which jobs hold the permits of a limit."""
        client = self._frame.visitor(request).client
        return self._frame.show(
            request,
            "limit",
            key,
            crumbs=[Crumb("Queues and limits", "/queues"), Crumb(key)],
            holders=await client.limits.holders(key),
            limit=next((one for one in await client.limits.all() if one.key == key), None),
        )

    async def pause(self, request: Request) -> Response:
        """Pause a queue, a kind or a tenant."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            target, name = await _target(request)
            until = await text_of(request, "until") or None
            await client.queues.pause(**target, reason=await reason_of(request), until=until)
            return f"{name} is paused; what runs finishes."

        return await self._frame.act(request, "/queues", do)

    async def resume(self, request: Request) -> Response:
        """Let a queue, a kind or a tenant go on."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            target, name = await _target(request)
            was_paused = await client.queues.resume(**target)
            return f"{name} goes on." if was_paused else f"{name} was not paused."

        return await self._frame.act(request, "/queues", do)

    async def set_limit(self, request: Request) -> Response:
        """Change a limit of a queue or a kind for every worker."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            target, name = await _target(request)
            field, value = await text_of(request, "field"), await text_of(request, "value")
            await client.limits.set(
                field,
                whole_or_text(value),
                kind=target.get("kind"),
                queue=target.get("queue"),
                reason=await reason_of(request),
            )
            return f"{name}: {field} is {value} now, for every worker."

        return await self._frame.act(request, "/queues", do)

    async def unset_limit(self, request: Request) -> Response:
        """Restore the limit that the code declares."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            target, name = await _target(request)
            field = await text_of(request, "field")
            await client.limits.unset(field, kind=target.get("kind"), queue=target.get("queue"))
            return f"{name}: {field} is as the code declares it again."

        return await self._frame.act(request, "/queues", do)


async def _target(request: Request) -> tuple[dict[str, str], str]:
    """What a form is about: one of queue, kind and tenant, and how to call it."""
    scope, name = await text_of(request, "scope"), await text_of(request, "name")
    if scope not in SCOPES or not name:
        raise InvalidSettings("name a queue, a kind or a tenant")
    return {scope: name}, f"{scope.capitalize()} {name}"


async def _workers(visitor: Visitor) -> list[WorkerRecord]:
    return await visitor.client.workers.all() if visitor.may_for_all("workers.read") else []


async def _limits(visitor: Visitor) -> list[LimitRecord]:
    return await visitor.client.limits.all() if visitor.may_for_all("limits.read") else []


async def _changes(visitor: Visitor) -> list[Override]:
    return await visitor.client.limits.changes() if visitor.may_for_all("limits.read") else []
