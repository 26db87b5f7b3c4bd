"""Ends a job in its handler's transaction: the guard last, then the commit, then certainty."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from backstay.errors import ClaimLost, InvalidSettings, TransactionTooLong, WrongDatabase
from backstay.model.database_role import DatabaseRole
from backstay.model.job import Claim, Progress
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.runtime.env import Env
from backstay.stores.caller_transaction import asyncpg_driver
from backstay.stores.caller_transaction.backstay_driver import OwnTransaction
from backstay.stores.caller_transaction.joining import TargetDatabase, name_of, way_into
from backstay.stores.caller_transaction.postgres import database_errors
from backstay.stores.caller_transaction.sessions import Found, Session
from backstay.stores.claims import settling
from backstay.stores.database.sqlite import adapt
from backstay.stores.handler_transaction.acting_session import ActingSession
from backstay.stores.handler_transaction.blocks import (
    AsyncpgBlock,
    Block,
    GivenBlock,
    patience,
    psycopg_block,
)
from backstay.stores.handler_transaction.commit_outcome import Question, was_committed
from backstay.stores.handler_transaction.connection import SessionConnection
from backstay.stores.handler_transaction.sqlite_block import SqliteBlock, WriterSession
from backstay.stores.reactions import react

OutcomeMessage = Callable[[], Progress | None]
Ask = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, kw_only=True)
class Completions:
    """Makes the transactions in which handlers end their jobs, on one database."""

    home: TargetDatabase
    url: str
    pooled: bool
    clock: Callable[[], datetime] | None
    env: Env
    pool: Callable[[], Awaitable[Any]]
    """The connections that the running loop keeps for handlers."""

    def of(
        self,
        given: object,
        claim: Claim,
        *,
        limit: timedelta,
        words: OutcomeMessage,
        is_sync: bool,
        role: DatabaseRole | None = None,
    ) -> Completing:
        """A transaction that ends this claim, on what was given or on a connection of our own."""
        if role is not None and self.home.engine == "sqlite":
            raise InvalidSettings("SQLite has no roles: ctx.transaction(role=…, claims=…) needs PostgreSQL")
        block = (
            self._own(claim.id, limit, is_sync=is_sync) if given is None else _given(given, is_sync=is_sync)
        )
        return Completing(block, self, claim, limit=limit, words=words, is_sync=is_sync, role=role)

    def _own(self, job_id: object, limit: timedelta, *, is_sync: bool) -> Block:
        if self.home.engine == "sqlite":
            return SqliteBlock(self.home.key, job_id=job_id, limit=limit, is_sync=is_sync)
        return psycopg_block(self.url) if is_sync else AsyncpgBlock(pool=self.pool)


class Completing:
    """One transaction that ends one job, by default as completed."""

    def __init__(
        self,
        block: Block,
        where: Completions,
        claim: Claim,
        *,
        limit: timedelta,
        words: OutcomeMessage,
        is_sync: bool,
        role: DatabaseRole | None,
    ) -> None:
        self._role = role
        self._block, self._where, self._limit, self._words, self._is_sync = (
            block,
            where,
            limit,
            words,
            is_sync,
        )
        self._claim = claim
        self._job_id, self._epoch = claim.guard
        self.home = where.home.key
        self._session: Session | None = None
        self._began = 0.0

    @property
    def joined(self) -> object:
        if isinstance(self._session, ActingSession):
            return OwnTransaction(self._session, is_sync=self._is_sync)
        return self._block.joined

    @property
    def connection(self) -> Any:
        return self._block.connection

    async def begin(self) -> None:
        self._began = self._where.env.monotonic()
        try:
            self._session = await self._block.begin()
            await self._refuse_other(self._session)
            if self._role is not None:
                self._session = acting = ActingSession(self._session, self._role)
                await acting.take()
        except BaseException:
            await self._let_go()
            raise

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return await self._block.execute(sql, values)

    async def finish(self, settlement: Settlement) -> None:
        assert self._session is not None
        try:
            await self._block.flush()
            self._refuse_too_long()
            if isinstance(self._session, ActingSession):
                self._session = await self._session.lay_down()
            await self._tell(SessionConnection(self._session, self._now))
            if settlement.state is State.COMPLETED:
                number = await self._complete(self._session, settlement.result)
            else:
                number = await self._settle(self._session, settlement)
        except BaseException:
            await self._let_go()
            raise
        await self._commit(number)

    async def _complete(self, session: Session, result: str | None) -> str | None:
        values = {"job_id": self._job_id, "epoch": self._epoch, "value": result, "held": self._now()}
        known = self._as_known({**values, **self._patience()})
        if isinstance(session, WriterSession):
            found = await session.fetch_last("completing/complete", known, _is_all)
        else:
            found = await session.fetch("completing/complete", known)
        if not found:
            raise ClaimLost([self._job_id])
        await react(SessionConnection(session, self._now), found)
        number: str | None = found[0]["transaction_id"]
        return number

    async def _settle(self, session: Session, settlement: Settlement) -> str | None:
        """End the claim in another way: what a worker would write about it is written here."""
        [begun] = await session.fetch("completing/begin", self._as_known(self._patience()))
        connection = SessionConnection(session, self._now)
        written = await settling.write(connection, [(self._claim, settlement)])
        if not written.found:
            raise ClaimLost([self._job_id])
        number: str | None = begun["transaction_id"]
        return number

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

    async def _tell(self, connection: SessionConnection) -> None:
        """Write the last word on progress here: once the job has ended, nobody may."""
        words = self._words()
        if words is None:
            return
        told = {"job_id": self._job_id, "epoch": self._epoch, "current": float(words.current)}
        told |= {"total": None if words.total is None else float(words.total), "message": words.message}
        await connection.fetch_each("progress/write", [told])

    def _patience(self) -> dict[str, Any]:
        is_server = self._where.home.engine != "sqlite"
        return {"patience": f"{patience() * 1000:.0f}ms"} if is_server else {}

    def _as_known(self, values: dict[str, Any]) -> dict[str, Any]:
        if self._where.home.engine == "sqlite":
            return {name: adapt(value) for name, value in values.items()}
        return values

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


def _is_all(found: Found) -> bool:
    """Return True if the guard held and no reaction has to be stored beside it."""
    return len(found) == 1 and not found[0]["reacts"]


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
