"""A local model server as a process: which module reads, which calls came, how to make it fail."""

import secrets
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from backstay.testing import free_port
from backstay_parts.servers.process import ServerProcess, answers_http


class ModelServer(ServerProcess):
    """Runs `python -m MODULE`, a reader that ends in `serve_reader(…)`; `base_url` and `api_key` for the client."""

    def __init__(self, module: str, *, env: Mapping[str, str] | None = None, log: Path | None = None) -> None:
        port = free_port()
        self.api_key = secrets.token_hex(16)
        super().__init__(
            [],
            port=port,
            name="model",
            is_ready=answers_http("/"),
            env={"MODEL_API_KEY": self.api_key, **(env or {})},
        )
        self.base_url = f"{self.url}/v1"
        folder = log or self.folder
        self.argv = [sys.executable, "-m", module, "--port", str(port), "--folder", str(folder)]

    def fail(self, faults: Iterable[Mapping[str, Any]]) -> None:
        """Fail the next calls, in order. A fault is one of

        {"status": 429, "retry_after": "7"}, {"status": 500}, {"refusal": "I cannot help"}, {"filter": true},
        {"garble": true}, {"empty": true}, {"delay": 30}, {"reset": true}, {"most": 100} (tokens, whatever was asked);
        with "match": "text" it waits for a request that contains the text, with "times": n it holds n times.
        """
        self._control("POST", "faults", json=[dict(fault) for fault in faults])

    def forget_faults(self) -> None:
        """Answer as usual from now on."""
        self._control("DELETE", "faults")

    def calls(self) -> list[dict[str, Any]]:
        """Every call so far: schema, budget, usage, finish_reason, status, headers; never the text."""
        calls: list[dict[str, Any]] = self._control("GET", "calls").json()
        return calls

    def _control(self, method: str, name: str, *, json: object = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.api_key}"}
        return httpx.request(
            method, f"{self.url}/control/{name}", json=json, headers=headers
        ).raise_for_status()
