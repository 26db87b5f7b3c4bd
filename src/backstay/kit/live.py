"""Live pages: server-sent events that tell a browser to fetch a part of its page again."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi.responses import StreamingResponse

HEARTBEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 2000
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Event:
    """One event of a stream. `id` is what the browser sends back as `Last-Event-ID` after a lost connection."""

    data: Any = ""
    name: str = ""
    id: str = ""


def event_text(event: Event) -> str:
    """Write an event as the wire has it; line ends in data become lines, in id and name they are refused."""
    if any(mark in event.id + event.name for mark in "\r\n\0"):
        raise ValueError("the id and the name of an event are one line")
    data = event.data if isinstance(event.data, str) else json.dumps(event.data, ensure_ascii=False)
    lines = [f"id: {event.id}"] if event.id else []
    lines += [f"event: {event.name}"] if event.name else []
    lines += [f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join(lines) + "\n\n"


async def changes(
    look: Callable[[], Awaitable[object]], *, every: float = LOOK_SECONDS
) -> AsyncIterator[Event]:
    """Yield an event whenever `look` returns something else than the time before; the first look is silent."""
    seen = await look()
    number = 0
    while True:
        await asyncio.sleep(every)
        found = await look()
        if found != seen:
            seen, number = found, number + 1
            yield Event({"change": number}, name="changed", id=str(number))


def event_stream(events: AsyncIterator[Event], *, heartbeat: float = HEARTBEAT_SECONDS) -> StreamingResponse:
    """Answer with a stream of server-sent events; a comment is sent while nothing happens.

    The iterator is closed when the browser goes away.
    """
    return StreamingResponse(
        _written(events, heartbeat),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _written(events: AsyncIterator[Event], heartbeat: float) -> AsyncIterator[str]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    upcoming = asyncio.ensure_future(anext(events))
    try:
        while True:
            done, _ = await asyncio.wait([upcoming], timeout=heartbeat)
            if not done:
                yield ": still here\n\n"
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                return
            yield event_text(event)
            upcoming = asyncio.ensure_future(anext(events))
    finally:
        upcoming.cancel()
        with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
            await upcoming
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
