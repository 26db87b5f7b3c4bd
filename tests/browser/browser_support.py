"""What the browser's tests have in hand: a running dashboard, and patience."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstay import Backstay, State
from backstay_parts.browser import Visit, open_chromium

PATIENCE = 60.0


@dataclass
class Shop:
    """A running dashboard: its link, and the application for what a test wants to set up."""

    link: str
    app: Backstay
    folder: Path

    @property
    def address(self) -> str:
        return self.link.partition("/enter")[0]

    @asynccontextmanager
    async def visited(self, **options: Any) -> AsyncIterator[Visit]:
        """A browser that has opened the link; what the console says or the policy refuses fails the test."""
        async with open_chromium(screenshots=self.folder, **options) as visit:
            visit.page.set_default_timeout(PATIENCE * 1000)
            await visit.page.goto(self.link)
            yield visit
            assert visit.complaints == []


async def until(condition: Callable[[], Awaitable[bool]], within: float = PATIENCE) -> None:
    """Wait until something holds; fails when it does not in time."""
    async with asyncio.timeout(within):
        while not await condition():
            await asyncio.sleep(0.1)


async def dead(shop: Shop, kind: str, *args: dict[str, Any]) -> list[str]:
    """Jobs that have died, by their ids."""
    ids = [str((await shop.app.jobs.enqueue_by_name(kind, each)).id) for each in args]

    async def all_died() -> bool:
        return not await _not_dead(shop, ids)

    await until(all_died)
    return ids


async def _not_dead(shop: Shop, ids: list[str]) -> bool:
    # The last one first: while that waits, nothing is known of the others.
    for one in reversed(ids):
        if (await shop.app.jobs.get(one)).state is not State.DEAD:
            return True
    return False
