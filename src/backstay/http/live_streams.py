"""Live events as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi.responses import StreamingResponse

from backstay.client.acting.acting import Acting
from backstay.kit.live import Event, event_stream
from backstay.model.live import LiveEvent


async def streamed(
    client: Acting, topic: str, *, after: int | None, seconds: float | None
) -> StreamingResponse:
    """Answer with the events of a topic; raises what the caller may not see before the answer begins."""
    events = await client.live.follow(topic, after=after)
    return event_stream(_written(bounded(events, seconds)))


async def bounded(events: AsyncGenerator[LiveEvent], seconds: float | None) -> AsyncGenerator[LiveEvent]:
    """Yield the first event, whenever it comes, and the others until the time is over."""
    clock = asyncio.get_running_loop().time
    async with aclosing(events):
        yield await anext(events)
        ends = None if seconds is None else clock() + seconds
        while ends is None or clock() < ends:
            try:
                async with asyncio.timeout_at(ends):
                    event = await anext(events)
            except TimeoutError:
                return
            yield event


async def _written(events: AsyncGenerator[LiveEvent]) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            yield Event(event.data, name=event.type, id=str(event.position))
