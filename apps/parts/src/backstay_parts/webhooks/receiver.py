"""What has a receiver of webhooks been sent, and how does it answer?"""

import base64
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from backstay.testing import free_port
from backstay_parts.servers.process import ServerProcess, answers_http

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request as it came in, the body byte for byte."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int
    """What the receiver answered."""


class WebhookReceiver(ServerProcess):
    """Receives anything at any path; `plan` says how the next requests are answered, then 200 again.

    For resets, cut answers and a dead receiver put a `FaultProxy` in front of it.
    """

    def __init__(self) -> None:
        port = free_port()
        super().__init__([], port=port, name="webhooks", is_ready=answers_http("/control/deliveries"))
        module = "backstay_parts.webhooks.server"
        self.argv = [sys.executable, "-m", module, "--port", str(port), "--folder", str(self.folder)]

    def plan(self, answers: Iterable[int | Mapping[str, Any]]) -> None:
        """Answer the next requests so: a status, or {"status", "headers", "body", "delay", "drip"} (seconds)."""
        planned = [{"status": answer} if isinstance(answer, int) else dict(answer) for answer in answers]
        httpx.post(f"{self.url}/control/plan", json=planned).raise_for_status()

    def deliveries(self, *, path: str | None = None) -> list[Delivery]:
        """What has arrived, in order; at one path only if asked."""
        entries = httpx.get(f"{self.url}/control/deliveries").raise_for_status().json()
        found = [
            Delivery(
                entry["method"],
                entry["path"],
                entry["headers"],
                base64.b64decode(entry["body"]),
                entry["status"],
            )
            for entry in entries
        ]
        return [delivery for delivery in found if path is None or delivery.path == path]

    def wait_for(self, count: int, *, path: str | None = None, timeout: float = 30.0) -> list[Delivery]:
        """The deliveries as soon as there are that many; raises `TimeoutError`."""
        deadline = time.monotonic() + timeout
        while len(found := self.deliveries(path=path)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} deliveries arrived within {timeout:g} seconds")
            time.sleep(_POLL_SECONDS)
        return found
