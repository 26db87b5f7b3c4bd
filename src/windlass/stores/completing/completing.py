"""Completes a job in its handler's transaction: the guard last, then the commit, then certainty."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from windlass.env import Env
from windlass.errors import ClaimLost, InvalidSettings, TransactionTooLong, WrongDatabase
from windlass.job import Progress
from windlass.stores.completing.blocks import AsyncpgBlock, Block, GivenBlock, patience, psycopg_block
from windlass.stores.completing.certainty import Question, was_committed
from windlass.stores.completing.sqlite_block import SqliteBlock
from windlass.stores.joining import asyncpg_driver
from windlass.stores.joining.joining import Home, name_of, way_into
from windlass.stores.joining.postgres import database_errors
from windlass.stores.joining.sessions import Session
from windlass.stores.sqlite import DIALECT, adapt, bindings

Words = Callable[[], Progress | None]
Ask = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, kw_only=True)
class Completions:
    """Makes the transactions in which handlers end their jobs, on one database."""

    home: Home
    url: str
    pooled: bool
    clock: Callable[[], datetime] | None
    env: Env
    pool: Callable[[], Awaitable[Any]]
    """The connections that the running loop keeps for handlers."""

    def of(
        self, given: object, claim: tuple[Any, int], *, limit: timedelta, words: Words, is_sync: bool
    ) -> Completing:
        """A transaction that completes this job under this epoch, on what was given or on a connection of our own."""
        block = (
            self._own(claim[0], limit, is_sync=is_sync) if given is None else _given(given, is_sync=is_sync)
        )
        return Completing(block, self, claim, limit=limit, words=words, is_sync=is_sync)

    def _own(self, job_id: object, limit: timedelta, *, is_sync: bool) -> Block:
        if self.home.engine == "sqlite":
            return SqliteBlock(self.home.key, job_id=job_id, limit=limit, is_sync=is_sync)
        return psycopg_block(self.url) if is_sync else AsyncpgBlock(pool=self.pool)


class Completing:
    """One transaction that completes one job."""

    def __init__(
        self,
        block: Block,
        where: Completions,
        claim: tuple[Any, int],
        *,
        limit: timedelta,
        words: Words,
        is_sync: bool,
    ) -> None:
        self._block, self._where, self._limit, self._words, self._is_sync = (
            block,
            where,
            limit,
            words,
            is_sync,
        )
        self._job_id, self._epoch = claim
        self.home = where.home.key
        self._session: Session | None = None
        self._began = 0.0

    @property
    def joined(self) -> object:
        return self._block.joined

    @property
    def connection(self) -> Any:
        return self._block.connection

    async def begin(self) -> None:
        self._began = self._where.env.monotonic()
        try:
            self._session = await self._block.begin()
            await self._refuse_other(self._session)
        except BaseException:
            await self._let_go()
            raise

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return await self._block.execute(sql, values)

    async def finish(self, result: str | None) -> None:
        assert self._session is not None
        try:
            await self._block.flush()
            self._refuse_too_long()
            await self._tell(self._session)
            found = await self._session.fetch("completing/complete", self._values(result))
            if not found:
                raise ClaimLost([self._job_id])
        except BaseException:
            await self._let_go()
            raise
        await self._commit(found[0]["transaction_id"])

    async def abandon(self) -> None:
        await self._let_go()

    async def _commit(self, transaction_id: str | None) -> None:
        try:
            await self._block.commit()
        except database_errors():
            await self._block.discard()
            if transaction_id is None or not await self._was_committed(transaction_id):
                raise
        finally:
            await self._block.close()

    async def _was_committed(self, transaction_id: str) -> bool:
        where = self._where
        asking = was_committed(
            Question(self._job_id, self._epoch, transaction_id),
            url=where.url,
            pooled=where.pooled,
            env=where.env,
        )
        # A handler that is not async has a thread without a loop.
        return asyncio.run(asking) if self._is_sync else await asking

    async def _tell(self, session: Session) -> None:
        """Write the last word on progress here: once the job is completed, nobody may."""
        words = self._words()
        if words is None:
            return
        told = {"job_id": self._job_id, "epoch": self._epoch, "current": float(words.current)}
        told |= {"total": None if words.total is None else float(words.total), "message": words.message}
        if session.engine == "sqlite":
            [values] = bindings(DIALECT.statement("progress/write"), [told], {"clock": self._now()})
        else:
            values = {name: [value] for name, value in told.items()}
        await session.fetch("progress/write", values)

    def _values(self, result: str | None) -> dict[str, Any]:
        values = {"job_id": self._job_id, "epoch": self._epoch, "value": result, "held": self._now()}
        if self._where.home.engine == "sqlite":
            return {name: adapt(value) for name, value in values.items()}
        return {**values, "patience": f"{patience() * 1000:.0f}ms"}

    def _now(self) -> Any:
        if self._where.clock is not None:
            now = self._where.clock()
        elif self._where.home.engine == "sqlite":
            now = self._where.env.wall()
        else:
            return None
        return adapt(now) if self._where.home.engine == "sqlite" else now

    def _refuse_too_long(self) -> None:
        # Somebody else's connection cannot be taken away from its thread, but it need not be committed.
        took = self._where.env.monotonic() - self._began
        if self._where.home.engine == "sqlite" and took > self._limit.total_seconds():
            raise TransactionTooLong(self._job_id, limit=self._limit)

    async def _refuse_other(self, session: Session) -> None:
        home = self._where.home
        if self._block.is_own:
            return
        if session.engine != home.engine:
            raise WrongDatabase(
                f"the transaction is on {session.engine}, but jobs are stored on {home.engine}: "
                "open it on the same database, or leave it out"
            )
        await home.refuse_other(session, self._ask)

    async def _ask(self) -> Any:
        asking = self._where.home.ask()
        return asyncio.run(_awaited(asking)) if self._is_sync else await asking

    async def _let_go(self) -> None:
        try:
            await self._block.roll_back()
        except database_errors():
            # It may still be open on the server; with its connection it ends.
            await self._block.discard()
        finally:
            await self._block.close()


async def _awaited(asking: Awaitable[Any]) -> Any:
    return await asking


def _given(given: object, *, is_sync: bool) -> Block:
    way = way_into(given)
    if way.is_sync and not is_sync:
        raise InvalidSettings(
            f"{name_of(given)} blocks: use 'with ctx.transaction(…)' in a handler that is not async, or hand in an "
            "asynchronous session"
        )
    if is_sync and not way.is_sync:
        raise InvalidSettings(f"{name_of(given)} must be awaited: use 'async with ctx.transaction(…)'")
    return AsyncpgBlock(given) if asyncpg_driver.recognise(given) is not None else GivenBlock(given, way)
