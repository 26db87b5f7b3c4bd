"""How the demonstration reaches the provider, the object store and its own command line."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from functools import cache
from typing import Any

import httpx

from backstay_watchpoint.demo.stack import PROVIDER_KEY, Stack
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.outside.clients import s3_client


async def provider(running: Stack, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Ask the local provider, also what the real one does not tell."""
    headers = {"Authorization": f"Bearer {PROVIDER_KEY}"}
    async with httpx.AsyncClient(timeout=30, headers=headers, verify=_tls()) as client:
        answer = await client.request(method, f"{running.provider.url}{path}", json=body)
        answer.raise_for_status()
        return answer.json()


async def command(running: Stack, *given: str) -> dict[str, Any]:
    """Run a command of the platform and return its JSON."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "backstay_watchpoint",
        *given,
        env={**os.environ, **running.environment},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    found: dict[str, Any] = json.loads(output)
    return found


@cache
def _tls() -> ssl.SSLContext:
    # Reading the certificates takes longer than asking the provider.
    return httpx.create_ssl_context()


def storage(jobs: Jobs, url: str | None = None) -> Any:
    """Return a client of the platform's object store, or of another one."""
    settings = jobs.platform.settings
    return s3_client(
        url or settings.aws_endpoint_url,
        region=settings.aws_region,
        access_key=settings.aws_access_key,
        secret_key=settings.aws_secret_key,
        timeout=60,
    )
