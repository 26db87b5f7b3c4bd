"""Deciding about many dead letters: in chunks, at a pace, and able to go on where it was stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from backstay.errors import InvalidPolicy
from backstay.model.job import JobId
from backstay.model.records import BulkDecision, DeadLetterFilter, LetterMark
from backstay.runtime.env import Env
from backstay.stores.contract import Stores

CHUNK = 500


async def in_chunks(
    stores: Stores,
    filters: DeadLetterFilter,
    decide: Callable[[Sequence[JobId]], Awaitable[int]],
    *,
    limit: int | None,
    pace: float | None,
    env: Env,
) -> BulkDecision:
    """Decide about what is open now, oldest first; each chunk is a transaction of its own.

    What dies meanwhile is left alone, so that a job that dies again at once is not run forever.
    """
    size = _chunk(pace)
    until = await died_until(stores, filters)
    mark: LetterMark | None = None
    done = skipped = 0
    while limit is None or done < limit:
        wanted = size if limit is None else min(size, limit - done)
        found = await stores.dead_letters.next_open(filters, died_until=until, after=mark, limit=wanted)
        decided = await decide([one.job_id for one in found]) if found else 0
        done, skipped = done + decided, skipped + len(found) - decided
        if len(found) < wanted:
            break
        mark = found[-1]
        if pace is not None:
            await env.sleep(len(found) / pace)
    return BulkDecision(done, skipped)


async def died_until(stores: Stores, filters: DeadLetterFilter) -> datetime:
    """The newest death that the filter lets through, by the clock of the database."""
    return (await stores.insights.engine()).now - (filters.older_than or timedelta(0))


def _chunk(pace: float | None) -> int:
    if pace is None:
        return CHUNK
    if not pace > 0:
        raise InvalidPolicy("pace", pace, needs="a number of jobs a second above 0")
    return max(1, min(CHUNK, int(pace)))
