"""/live: the state of jobs and every change of it, as server-sent events and over a WebSocket."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Header, Path, Query, WebSocket
from fastapi.responses import StreamingResponse

from backstay.http.caller import AsCaller
from backstay.http.live_socket import LiveSocket
from backstay.http.live_streams import streamed
from backstay.http.router import operations

live = operations("live")

LONGEST = 86_400.0


class EventStream(StreamingResponse):
    """An answer that goes on."""

    media_type = "text/event-stream"


EVENT = {
    "type": "object",
    "description": "One event of the stream.",
    "properties": {
        "id": {"type": "string", "description": "Where to go on from."},
        "event": {"type": "string", "enum": ["state", "change", "reset"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
STREAM: dict[str, Any] = {
    "response_class": EventStream,
    "responses": {
        200: {
            "description": "Events `state`, `change` and `reset`, each with JSON and the id to go on from.",
            "content": {"text/event-stream": {"schema": EVENT}},
        }
    },
}
After = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=2**62,
        description="The id of the last event that was seen: the stream goes on after it, or begins with `reset`.",
    ),
]
Seconds = Annotated[
    float | None,
    Query(
        ge=0,
        le=LONGEST,
        description="End after this many seconds; 0 gives only what the stream begins with.",
        examples=[0],
    ),
]
Name = Annotated[str, Path(min_length=1, max_length=128)]


@live.get("", **STREAM, summary="Follow all jobs")
async def follow_all(client: AsCaller, after: After = None, seconds: Seconds = None) -> StreamingResponse:
    """Give how many jobs are in which state, then every change of a job, of the tenant or of all tenants."""
    return await streamed(client, "all", after=after, seconds=seconds)


@live.get("/jobs/{job_id}", **STREAM, summary="Follow a job")
async def follow_job(
    client: AsCaller, job_id: UUID, after: After = None, seconds: Seconds = None
) -> StreamingResponse:
    """Give the state of a job, then every change of its state and its progress."""
    return await streamed(client, f"job:{job_id}", after=after, seconds=seconds)


@live.get("/flows/{flow_id}", **STREAM, summary="Follow a flow")
async def follow_flow(
    client: AsCaller, flow_id: UUID, after: After = None, seconds: Seconds = None
) -> StreamingResponse:
    """Give the jobs of a flow with their states, then every change of one of them."""
    return await streamed(client, f"flow:{flow_id}", after=after, seconds=seconds)


@live.get("/queues/{queue}", **STREAM, summary="Follow a queue")
async def follow_queue(
    client: AsCaller, queue: Name, after: After = None, seconds: Seconds = None
) -> StreamingResponse:
    """Give how many jobs of a queue are in which state, then every change of one of them."""
    return await streamed(client, f"queue:{queue}", after=after, seconds=seconds)


@live.get("/kinds/{kind}", **STREAM, summary="Follow a kind")
async def follow_kind(
    client: AsCaller, kind: Name, after: After = None, seconds: Seconds = None
) -> StreamingResponse:
    """Give how many jobs of a kind are in which state, then every change of one of them."""
    return await streamed(client, f"kind:{kind}", after=after, seconds=seconds)


@live.websocket("/socket")
async def socket(connection: WebSocket) -> None:
    """Follow any number of topics over one connection."""
    await LiveSocket(connection).serve()
