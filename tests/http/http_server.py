"""A server process of its own: `python http_server.py DATABASE_URL` prints its address and its token, then serves."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from http_world import application

from backstay.http import ApiKeyAccess, LinkAccess, api, first_of

PATIENCE = 120.0
"""How many seconds a request may take: other tests share the machine."""


@dataclass(frozen=True)
class Served:
    """Where a server process answers, and the token of its link."""

    address: str
    token: str
    pid: int

    @property
    def headers(self) -> dict[str, str]:
        """What lets its caller in."""
        return {"Authorization": f"Bearer {self.token}"}


async def serve(url: str) -> None:
    """Serve the API of the tests' application until the process is ended."""
    app = application(url)
    await app.migrate()
    link = LinkAccess("fuzz")
    site = api(
        app, authenticate=first_of(ApiKeyAccess(app).authenticate, link.authenticate), hosts=["127.0.0.1"]
    )
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    sys.stdout.write(json.dumps({"address": address, "token": link.token}) + "\n")
    sys.stdout.flush()
    server = uvicorn.Server(uvicorn.Config(site, log_level="warning"))
    await server.serve(sockets=[listening])
    await app.close()


@contextmanager
def served(url: str, log: Path) -> Iterator[Served]:
    """Start a server process and end it; what it says of errors is in `log`."""
    command = [sys.executable, __file__, url]
    with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline() or b"{}")
            found = Served(told["address"], told["token"], process.pid)
            _wait_until_it_answers(found)
            yield found
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_until_it_answers(found: Served) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            httpx.get(f"{found.address}/health/live", timeout=PATIENCE).raise_for_status()
            return
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
