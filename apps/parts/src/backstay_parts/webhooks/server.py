"""The receiver's program: `python -m backstay_parts.webhooks.server --port N --folder F`."""

import asyncio
import base64
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from backstay_parts.optional import need
from backstay_parts.serving import serve


class Receiver:
    """Keeps what arrives and answers as planned."""

    def __init__(self) -> None:
        self._deliveries: list[dict[str, Any]] = []
        self._plan: deque[dict[str, Any]] = deque()
        self._answers: Any = need("starlette.responses", extra="servers")

    async def receive(self, request: Any) -> Any:
        """Any method at any path."""
        planned = self._plan.popleft() if self._plan else {}
        body = await request.body()
        status = int(planned.get("status", 200))
        self._deliveries.append(
            {
                "method": request.method,
                "path": request.url.path,
                "headers": dict(request.headers),
                "body": base64.b64encode(body).decode(),
                "status": status,
            }
        )
        await asyncio.sleep(float(planned.get("delay", 0)))
        content, headers = str(planned.get("body", "")), dict(planned.get("headers", {}))
        if "drip" in planned:
            return self._answers.StreamingResponse(
                _drip(float(planned["drip"])), status_code=status, headers=headers
            )
        return self._answers.Response(content, status_code=status, headers=headers)

    async def plan(self, request: Any) -> Any:
        """POST /control/plan with a list of answers."""
        self._plan.extend(await request.json())
        return self._answers.JSONResponse({"planned": len(self._plan)})

    async def deliveries(self, request: Any) -> Any:
        """GET /control/deliveries."""
        return self._answers.JSONResponse(self._deliveries)


async def _drip(seconds: float) -> AsyncIterator[bytes]:
    """A byte every half second, so that no single read ever times out."""
    for _ in range(max(1, round(seconds * 2))):
        yield b"."
        await asyncio.sleep(0.5)


def make(folder: Path) -> Any:
    """The application."""
    receiver = Receiver()
    route = need("starlette.routing", extra="servers").Route
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return need("starlette.applications", extra="servers").Starlette(
        routes=[
            route("/control/plan", receiver.plan, methods=["POST"]),
            route("/control/deliveries", receiver.deliveries, methods=["GET"]),
            route("/{path:path}", receiver.receive, methods=methods),
        ]
    )


if __name__ == "__main__":
    serve(make, description="A receiver of webhooks.")
