"""A handler's transaction on SQLite: through the process's one writer, and only for so long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Literal

from backstay.errors import TransactionTooLong
from backstay.stores.caller_transaction.backstay_driver import OwnTransaction
from backstay.stores.caller_transaction.sessions import Announce, Found, Session
from backstay.stores.database.sqlite import DIALECT
from backstay.stores.database.sqlite_file import SqliteFile, open_file
from backstay.stores.database.time_limits import TimeLimit


class SqliteBlock:
    """Holds the writer while it is open; when its time is over it is rolled back, and others can write again.

    It begins with its first statement, and where nothing follows from the end of its job it is committed with the
    last one: each is a way to the writer's thread and back.
    """

    is_own = True
    connection = None

    def __init__(self, path: str, *, job_id: object, limit: timedelta, is_sync: bool) -> None:
        self._path, self._job_id, self._limit, self._is_sync = path, job_id, limit, is_sync
        self._file: SqliteFile | None = None
        self._ticket: Future[None] | None = None
        self._time_limit: TimeLimit | None = None
        self._changing = threading.Lock()
        self._is_open = self._has_begun = self._is_ending = self._ran_out = False
        self._session = WriterSession(self)
        self.joined: object = OwnTransaction(self._session, is_sync=is_sync)

    async def begin(self) -> Session:
        self._file = open_file(self._path)
        self._ticket = self._file.turnstile.enter()
        await self._wait(self._ticket)
        self._is_open = True
        self._time_limit = self._file.time_limits.set(self._limit.total_seconds(), self._run_out)
        return self._session

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return await self.rows(sql, values)

    async def rows(self, sql: str, values: Any) -> list[Any]:
        """Run a statement on the writer."""
        with self._changing:
            file = self._usable()
            run = file.in_transaction if self._has_begun else file.begin_with
            self._has_begun = True
            running = run(lambda connection: connection.execute(sql, values).fetchall())
        found: list[Any] = await self._wait(running)
        return found

    async def last_rows(self, sql: str, values: Any, is_last: Callable[[list[Any]], bool]) -> list[Any]:
        """Run a statement after which the transaction is committed, if its rows say that nothing follows."""
        if not self._has_begun:
            await self.rows("SELECT 1", ())
        with self._changing:
            running = self._usable().commit_if(
                lambda connection: connection.execute(sql, values).fetchall(), is_last
            )
            # Whatever comes of it, its time limit comes too late.
            self._is_ending = True
        found, is_committed = await self._wait(running)
        with self._changing:
            self._is_ending, self._is_open = False, not is_committed
        rows: list[Any] = found
        return rows

    async def flush(self) -> None: ...

    async def commit(self) -> None:
        await self._end("commit")
        self._session.announce_all()

    async def roll_back(self) -> None:
        if not self._ran_out:
            await self._end("rollback")

    async def discard(self) -> None:
        """Nothing: a transaction that SQLite could not commit is rolled back."""

    async def close(self) -> None:
        if self._time_limit is not None:
            self._time_limit.lift()
        if self._file is not None:
            if self._is_open:
                await self._end("rollback")
            if self._ticket is not None:
                self._file.turnstile.leave(self._ticket)
            self._file.release()
            self._file = None

    async def _end(self, how: Literal["commit", "rollback"]) -> None:
        """Commit or roll back; does nothing where that has been done."""
        with self._changing:
            if not self._is_open and not self._ran_out:
                return
            file = self._usable()
            self._is_open = False
            if not self._has_begun:
                return
            ending = file.commit() if how == "commit" else file.rollback()
        await self._wait(ending)

    def _run_out(self) -> None:
        with self._changing:
            if not self._is_open or self._is_ending or self._file is None:
                return
            self._is_open, self._ran_out = False, True
            ending, ticket, turnstile = self._file.rollback(), self._ticket, self._file.turnstile
        assert ticket is not None
        ending.add_done_callback(lambda _: turnstile.leave(ticket))

    def _usable(self) -> SqliteFile:
        """The file; raises TransactionTooLong where the transaction was rolled back because its time was over."""
        if self._ran_out:
            raise TransactionTooLong(self._job_id, limit=self._limit)
        assert self._file is not None
        return self._file

    async def _wait(self, future: Future[Any]) -> Any:
        # In a thread this blocks, and the coroutine never waits.
        if self._is_sync or future.done():
            return future.result()
        return await asyncio.shield(asyncio.wrap_future(future))


class WriterSession:
    """Our statements on the writer, beside the handler's own."""

    engine = "sqlite"
    is_ours = True

    def __init__(self, block: SqliteBlock) -> None:
        self._block = block
        self._waiting: list[Announce] = []

    @property
    def driver(self) -> object:
        return self._block

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        return [dict(row) for row in await self._block.rows(DIALECT.statement(name).sql, dict(values))]

    async def run(self, sql: str) -> Found:
        return [dict(row) for row in await self._block.rows(sql, ())]

    async def fetch_last(
        self, name: str, values: Mapping[str, Any], is_last: Callable[[Found], bool]
    ) -> Found:
        """Run the guard, and commit with it if its rows say that nothing follows."""
        statement = DIALECT.statement(name).sql
        found = await self._block.last_rows(
            statement, dict(values), lambda rows: is_last([dict(row) for row in rows])
        )
        return [dict(row) for row in found]

    def after_commit(self, announce: Announce) -> bool:
        self._waiting.append(announce)
        return True

    def announce_all(self) -> None:
        """Tell of everything that was enqueued inside."""
        for announce in self._waiting:
            announce()
