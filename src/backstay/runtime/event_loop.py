"""Which event loop is used where we choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the fastest event loop there is here; None for the standard one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
