"""A handler's transaction on SQLite: through the process's one writer, and only for so long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Literal

from backstay.errors import TransactionTooLong
from backstay.stores.caller_transaction.backstay_driver import OwnTransaction
from backstay.stores.caller_transaction.sessions import Announce, Found, Session
from backstay.stores.database.sqlite import DIALECT
from backstay.stores.database.sqlite_file import SqliteFile, open_file


class SqliteBlock:
    """Holds the writer while it is open; when its time is over it is rolled back, and others can write again."""

    is_own = True
    connection = None

    def __init__(self, path: str, *, job_id: object, limit: timedelta, is_sync: bool) -> None:
        self._path, self._job_id, self._limit, self._is_sync = path, job_id, limit, is_sync
        self._file: SqliteFile | None = None
        self._ticket: Future[None] | None = None
        self._timer: threading.Timer | None = None
        self._changing = threading.Lock()
        self._is_open = self._ran_out = False
        self._session = WriterSession(self)
        self.joined: object = OwnTransaction(self._session, is_sync=is_sync)

    async def begin(self) -> Session:
        self._file = open_file(self._path)
        self._ticket = self._file.turnstile.enter()
        await self._wait(self._ticket)
        opening = self._file.begin()
        try:
            await self._wait(opening)
        except asyncio.CancelledError:
            self._file.undo(opening)
            raise
        self._is_open = True
        self._timer = threading.Timer(self._limit.total_seconds(), self._run_out)
        self._timer.daemon = True
        self._timer.start()
        return self._session

    async def execute(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        return await self.rows(sql, values)

    async def rows(self, sql: str, values: Any) -> list[Any]:
        """Run a statement on the writer."""
        with self._changing:
            self._refuse_late()
            assert self._file is not None
            running = self._file.in_transaction(lambda connection: connection.execute(sql, values).fetchall())
        found: list[Any] = await self._wait(running)
        return found

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
        if self._timer is not None:
            self._timer.cancel()
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
            self._refuse_late()
            if not self._is_open:
                return
            self._is_open = False
            assert self._file is not None
            ending = self._file.commit() if how == "commit" else self._file.rollback()
        await self._wait(ending)

    def _run_out(self) -> None:
        with self._changing:
            if not self._is_open or self._file is None:
                return
            self._is_open, self._ran_out = False, True
            ending, ticket, turnstile = self._file.rollback(), self._ticket, self._file.turnstile
        assert ticket is not None
        ending.add_done_callback(lambda _: turnstile.leave(ticket))

    def _refuse_late(self) -> None:
        if self._ran_out:
            raise TransactionTooLong(self._job_id, limit=self._limit)

    async def _wait(self, future: Future[Any]) -> Any:
        # In a thread this blocks, and the coroutine never waits.
        return future.result() if self._is_sync else await asyncio.shield(asyncio.wrap_future(future))


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

    def after_commit(self, announce: Announce) -> bool:
        self._waiting.append(announce)
        return True

    def announce_all(self) -> None:
        """Tell of everything that was enqueued inside."""
        for announce in self._waiting:
            announce()
