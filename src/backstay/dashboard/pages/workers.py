"""Workers: who is alive, what they use and what they are doing."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.client.acting.acting import Acting
from backstay.dashboard.forms import reason_of
from backstay.dashboard.frame import Frame
from backstay.dashboard.views.depths import is_living
from backstay.kit import Crumb, not_found, path_of
from backstay.model.records import JobFilter, WorkerRecord
from backstay.model.states import State

MOST_JOBS = 100


class WorkerPages:
    """The register of workers, and one of them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/workers", self.show_all, methods=["GET"])
        for name, action in {"drain": self.drain, "resume": self.resume, "stop": self.stop}.items():
            router.add_api_route(f"/workers/{{worker_id:path}}/{name}", action, methods=["POST"])
        router.add_api_route("/workers/{worker_id:path}", self.show, methods=["GET"])
        return router

    async def show_all(self, request: Request) -> Response:
        """Show every worker, the living first, and the kinds they know."""
        client = self._frame.visitor(request).client
        workers = await client.workers.all()
        return self._frame.show(
            request,
            "workers",
            "Workers",
            living=[worker for worker in workers if is_living(worker)],
            gone=[worker for worker in workers if not is_living(worker)],
            status_of=status_of,
            kinds=await client.workers.kinds(),
        )

    async def show(self, request: Request, worker_id: str) -> Response:
        """Show one worker and the jobs it has in hand."""
        client = self._frame.visitor(request).client
        found = next((one for one in await client.workers.all(limit=1000) if one.id == worker_id), None)
        if found is None:
            raise not_found()
        running = await client.jobs.search(JobFilter(worker=worker_id, state=State.RUNNING), limit=MOST_JOBS)
        return self._frame.show(
            request,
            "worker",
            worker_id,
            crumbs=[Crumb("Workers", "/workers"), Crumb(worker_id)],
            worker=found,
            standing=status_of(found),
            jobs=running.jobs,
        )

    async def drain(self, request: Request, worker_id: str) -> Response:
        """Tell a worker to claim no more."""

        async def do() -> str:
            await self._client(request).workers.drain(worker_id, reason=await reason_of(request))
            return "It was told to claim no more; it finishes what it has, and stays."

        return await self._frame.act(request, path_of("workers", worker_id), do)

    async def resume(self, request: Request, worker_id: str) -> Response:
        """Tell a worker to claim again."""

        async def do() -> str:
            await self._client(request).workers.resume(worker_id)
            return "It was told to claim again."

        return await self._frame.act(request, path_of("workers", worker_id), do)

    async def stop(self, request: Request, worker_id: str) -> Response:
        """Tell a worker to leave."""

        async def do() -> str:
            await self._client(request).workers.stop(worker_id, reason=await reason_of(request))
            return "It was told to leave when its jobs are done."

        return await self._frame.act(request, path_of("workers", worker_id), do)

    def _client(self, request: Request) -> Acting:
        return self._frame.visitor(request).client


def status_of(worker: WorkerRecord) -> str:
    """Say how a worker stands: its own word, or `silent` if it has not been heard of for too long."""
    return "silent" if worker.state == "alive" and not is_living(worker) else worker.standing
