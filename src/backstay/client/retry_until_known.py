"""Repeats what may or may not have happened until it is known to have happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from backstay.errors import OutcomeUnknown, StoreBusy, StoreUnavailable
from backstay.runtime.env import Env

PATIENCE = 30.0

T = TypeVar("T")


async def until_certain(act: Callable[[], Awaitable[T]], *, what: str, ids: Sequence[object], env: Env) -> T:
    """Do something that can be done twice without harm; after a lost reply, do it again.

    Raises StoreUnavailable or StoreBusy if it certainly did not happen, OutcomeUnknown if that cannot be learnt in
    30 s. A repetition that finds the database busy tells nothing: it may be waiting for the first sending.
    """
    give_up = env.monotonic() + PATIENCE
    pause, may_have_happened = 0.05, False
    while True:
        try:
            return await act()
        except (StoreUnavailable, StoreBusy) as error:
            was_sent = isinstance(error, StoreUnavailable) and error.was_sent
            may_have_happened = may_have_happened or was_sent
            if not may_have_happened:
                raise
            if env.monotonic() > give_up:
                raise OutcomeUnknown(what, ids, because=error) from error
        await env.sleep(pause * (0.5 + env.random()))
        pause = min(pause * 2, 2.0)
