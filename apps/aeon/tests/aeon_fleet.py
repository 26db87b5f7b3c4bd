"""Real worker processes on a real Redis, for the tests."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
from redis.asyncio import Redis

from backstay.testing import PrivateRedis
from backstay_aeon.actions import submit
from backstay_aeon.services import Services
from backstay_aeon.store.database import Database
from backstay_parts.servers import ServerProcess, free_port

PATIENCE = 90.0


@dataclass
class Fleet:
    """A team, and workers of the types that a test asks for."""

    services: Services
    server: PrivateRedis
    redis: Redis
    team: UUID
    folder: Path
    environment: dict[str, str]
    stack: ExitStack
    workers: dict[str, ServerProcess] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.services.database

    async def start(self, kind: str, name: str = "", **more: str) -> ServerProcess:
        """Start a worker and wait until it gives a sign of life through Redis."""
        name = name or f"worker-{kind}"
        environment = {**self.environment, "WORKER_ID": name, "WORKER_TYPE": kind, **more}
        command = [sys.executable, "-m", "backstay_aeon", "worker"]
        worker = ServerProcess(
            command, port=free_port(), name=name, env=environment, is_ready=lambda it: it.is_running
        )
        self.workers[name] = await asyncio.to_thread(self.stack.enter_context, worker)
        await self.until(lambda: self.has_started(name))
        return self.workers[name]

    async def has_started(self, name: str) -> bool:
        found = await self.database.value(
            "SELECT count(*) FROM backstay.workers WHERE id LIKE $1 || '-%' AND state = 'alive'", name
        )
        return bool(found)

    async def submit(self, job_type: str, payload: dict[str, Any] | None = None, **given: Any) -> UUID:
        made = await submit.create(
            self.services, self.team, None, {"job_type": job_type, "payload": payload or {}, **given}
        )
        return UUID(made["job_id"])

    async def job(self, job_id: UUID) -> dict[str, Any]:
        return await self.database.row("SELECT * FROM public.jobs WHERE id = $1", job_id) or {}

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds; a test that waits too long fails with what the workers said."""
        deadline = time.monotonic() + PATIENCE
        while not await holds():
            if time.monotonic() > deadline:
                told = "\n".join(f"{name}: {one.output()[-1500:]}" for name, one in self.workers.items())
                raise AssertionError(f"it did not come to pass in {PATIENCE:.0f} s\n{told}")
            await asyncio.sleep(0.05)

    async def until_ended(self, number: int) -> None:
        """Wait until so many jobs have completed, and none is left."""

        async def all_ended() -> bool:
            row = await self.database.row(
                "SELECT count(*) FILTER (WHERE status = 'completed') AS done, count(*) AS jobs FROM public.jobs"
                " WHERE team_id = $1",
                self.team,
            )
            return row is not None and row["done"] == row["jobs"] == number

        await self.until(all_ended)

    async def until_running(self, job_id: UUID, *, elsewhere_than: str = "") -> str:
        """The worker that runs a job."""

        async def runs() -> bool:
            job = await self.job(job_id)
            return job["status"] == "running" and job["worker_id"] != elsewhere_than

        await self.until(runs)
        return str((await self.job(job_id))["worker_id"])

    def tell(self, name: str, number: signal.Signals) -> None:
        """Send a signal to the worker itself, not to the guard above it."""
        guard = self.workers[name]._process
        assert guard is not None
        for child in psutil.Process(guard.pid).children():
            os.kill(child.pid, number)
