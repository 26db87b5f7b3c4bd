"""Listens for hints again and again, whatever carries them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backstay.runtime.env import Env

OnHint = Callable[[str], None]


def hint_of(content: bytes) -> str:
    """What a message says; whatever another program has sent is a hint of nobody's queue."""
    return content.decode(errors="replace")


async def listen_again(
    listen: Callable[[Callable[[], None]], Awaitable[None]], errors: tuple[type[Exception], ...], env: Env
) -> None:
    """Listen until cancelled; after one of these errors again, with a pause that doubles up to five seconds.

    `listen` calls what it is given as soon as it hears, so that the next pause is short again.
    """
    pause = 0.1

    def heard() -> None:
        nonlocal pause
        pause = 0.1

    async def go_on() -> None:
        nonlocal pause
        while True:
            try:
                await listen(heard)
            except errors:
                await env.sleep(pause * (0.5 + env.random()))
                pause = min(pause * 2, 5.0)

    task = asyncio.create_task(go_on())
    try:
        await asyncio.shield(task)
    finally:
        # Drivers may swallow a cancellation that comes together with an answer.
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=0.1)
