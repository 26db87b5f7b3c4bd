"""Stores jobs in a caller's transaction on SQLite, with the statements of an ordinary enqueue.

Why this is safe beside the lock that our own writers take: SQLite's own lock keeps the caller's transaction and ours
apart, whole and in order; ours only adds fairness and protects checkpoints. Taking it here would turn the order
around (the caller already has SQLite's lock, a writer of ours waits for that one while holding the other) and nobody
could give it back, for a plain connection does not say when its transaction ends. What it protects checkpoints from
is a fault in releases of SQLite before 3.51.3: two connections checkpoint in turn while a third begins the log anew.
So a connection that is joined there is told to make no checkpoints of its own: all are then made by our writers, each
right after its commit and under the lock, so no two of them follow each other without a commit in between.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstay.errors import WrongDatabase
from backstay.model.job import NewJob, Stored
from backstay.stores.caller_transaction.sessions import Announce, Session
from backstay.stores.database.interface import Connection, Lane, Row, Values
from backstay.stores.database.sqlite import DIALECT, adapt, bindings, translate
from backstay.stores.enqueuing import EnqueuingStore
from backstay.stores.kinds import KindStore

CHECKPOINTS_ARE_SOUND = (3, 51, 3)


class SqliteTarget:
    """The file that jobs belong in."""

    engine = "sqlite"
    # Any other connection would wait for the very transaction that is to be joined.
    carries_routes = True

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        self.path, self._clock = path, clock
        self.key = path

    async def prepare(self) -> None:
        """Nothing: a file is known by its path."""

    async def ask(self) -> None:
        """Nothing, likewise."""

    async def refuse_other(self, session: Session, ask: Callable[[], Awaitable[Any]] | None = None) -> None:
        """Raise WrongDatabase unless the session's transaction is in this file."""
        theirs = await self._file_of(session)
        if not self._is_ours(theirs):
            raise WrongDatabase(
                f"the transaction is in {theirs or 'a database in memory'}, but jobs are stored in {self.path}: "
                "open the transaction on the same file, or enqueue without it"
            )

    async def is_home(self, session: Session, ask: Callable[[], Awaitable[Any]] | None = None) -> bool:
        """Tell whether the session's transaction is in this file."""
        return self._is_ours(await self._file_of(session))

    async def store(
        self,
        session: Session,
        jobs: Sequence[NewJob],
        routes: Sequence[tuple[str, str]],
        announce: Announce | None,
    ) -> list[Stored]:
        """Store the jobs, all or none; workers on this host see the commit by themselves."""
        if announce is not None:
            session.after_commit(announce)
        lane = _JoinedLane(session, self._clock)
        try:
            is_ours = getattr(session, "is_ours", False)
            if sqlite3.sqlite_version_info < CHECKPOINTS_ARE_SOUND and not is_ours:
                await session.run("PRAGMA wal_autocheckpoint = 0")
            async with lane.transaction():
                await KindStore(lane).add_routes(routes)
                return await _stored(EnqueuingStore(lane), jobs)
        except _database_errors() as error:
            raise translate(getattr(error, "orig", None) or error) from error

    def lane(self, session: Session) -> Lane:
        """The caller's transaction as our stores know a connection."""
        return _JoinedLane(session, self._clock)

    async def _file_of(self, session: Session) -> str:
        found = await session.run("PRAGMA database_list")
        return next(str(row["file"] or "") for row in found if row["name"] == "main")

    def _is_ours(self, theirs: str) -> bool:
        ours = Path(self.path)
        return bool(theirs) and ours.exists() and ours.samefile(theirs)


def _database_errors() -> tuple[type[Exception], ...]:
    errors: list[type[Exception]] = [sqlite3.Error]
    for module, name in (("sqlalchemy.exc", "DBAPIError"), ("django.db", "Error")):
        if module in sys.modules:
            errors.append(getattr(sys.modules[module], name))
    return tuple(errors)


async def _stored(store: EnqueuingStore, jobs: Sequence[NewJob]) -> list[Stored]:
    if any(job.is_keyed for job in jobs):
        return await store.enqueue_keyed(jobs)
    await store.enqueue(jobs)
    return [Stored(job.id, is_new=True) for job in jobs]


@dataclass(frozen=True, slots=True)
class _JoinedLane:
    """The caller's transaction as our stores know a connection; several statements are a savepoint in it."""

    session: Session
    clock: Callable[[], int]

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return await self.fetch_each(name, [values])

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        found: list[Row] = []
        known = {**{key: adapt(value) for key, value in same.items()}, "clock": self.clock()}
        try:
            for bound in bindings(DIALECT.statement(name), rows, known):
                found.extend(await self.session.fetch(name, bound))
        except _database_errors() as error:
            raise translate(getattr(error, "orig", None) or error) from error
        return found

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        await self.session.run("SAVEPOINT backstay")
        try:
            yield self
        except BaseException:
            await self._undo()
            raise
        await self.session.run("RELEASE backstay")

    async def _undo(self) -> None:
        await self.session.run("ROLLBACK TO backstay")
        await self.session.run("RELEASE backstay")
