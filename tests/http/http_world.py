"""An application with jobs in many states, its API in process, and callers of every role and tenant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

from backstay import Backstay, Context, Hopeless
from backstay.http import ApiKeyAccess, Role, WebhookJobs, api

TENANT, OTHER = "acme", "globex"
SECRET = "canary-7f3a9c"
"""Stands in arguments and results, and must be seen only by those who may see payloads."""


@dataclass
class World:
    """The service under test; `callers` are API keys by role and tenant, as in `"operator acme"`."""

    app: Backstay
    site: FastAPI
    callers: dict[str, httpx.AsyncClient] = field(default_factory=dict)

    def __getitem__(self, name: str) -> httpx.AsyncClient:
        return self.callers[name]

    @property
    def admin(self) -> httpx.AsyncClient:
        """Somebody who may do everything for all tenants and sees payloads."""
        return self.callers["admin *"]

    @property
    def nobody(self) -> httpx.AsyncClient:
        """Somebody without a key."""
        return self.callers["nobody"]

    async def run_all(self) -> None:
        """Run what waits."""
        worker = self.app.worker(concurrency=5)
        task = asyncio.create_task(worker.run())
        try:
            async with asyncio.timeout(60):
                while any(count.state in ("available", "running") for count in await self.app.jobs.counts()):
                    await asyncio.sleep(0.02)
        finally:
            worker.stop()
            await task


def application(url: str) -> Backstay:
    """An application with a kind for each ending."""
    app = Backstay(url, emit=lambda event, **facts: None)

    @app.job
    async def add(a: int, b: int) -> dict[str, Any]:
        return {"sum": a + b, "secret": SECRET}

    @app.job(max_attempts=1)
    async def fail(secret: str = SECRET) -> None:
        raise Hopeless("it cannot be done")

    @app.job
    async def approve(ctx: Context, item: int) -> Any:
        await ctx.step("look", lambda: {"seen": SECRET})
        return await ctx.wait_for("approved")

    WebhookJobs(app)
    return app


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[World]:
    """The service of a new application, with a caller for each role and tenant."""
    app = application(url)
    await app.migrate()
    world = World(app, api(app, authenticate=ApiKeyAccess(app).authenticate))
    try:
        for tenant in (TENANT, OTHER, "*"):
            for role in Role:
                made = await app.api_keys.create(
                    f"{role.value} of {tenant}",
                    role=role.value,
                    tenant=tenant,
                    sees_payloads=role is Role.ADMIN,
                )
                world.callers[f"{role.value} {tenant}"] = client_of(world.site, made.text)
        world.callers["nobody"] = client_of(world.site, "")
        yield world
    finally:
        for caller in world.callers.values():
            await caller.aclose()
        await app.close()


def client_of(site: FastAPI, key: str) -> httpx.AsyncClient:
    """A caller with a key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    transport = httpx.ASGITransport(site, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://service.test", headers=headers, timeout=60)
