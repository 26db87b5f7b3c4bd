"""Stores jobs in a caller's transaction on PostgreSQL: one statement, a call of a function in the database."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import asyncpg

from backstay.errors import BackstayError, IdempotencyMismatch, InvalidPayload, WrongDatabase
from backstay.model.job import JobId, NewJob, Stored
from backstay.model.signals import Wait
from backstay.stores import quotas, rows
from backstay.stores.caller_transaction.asyncpg_driver import AsyncpgSession
from backstay.stores.caller_transaction.job_json import to_object
from backstay.stores.caller_transaction.sessions import Announce, Session
from backstay.stores.database.interface import Connection, Lane, Row, Values
from backstay.stores.database.postgres import LINK_ERRORS, Postgres, translate

_INVALID = "22023"
_MISMATCH = "WL001"
_PROMOTED = "promoted_field"
_BAD_JSON = frozenset({"22P02", "22P05", "22030", "54001"})


@dataclass(frozen=True, slots=True)
class Identity:
    """One database of one running server."""

    name: str
    oid: int
    started: int
    address: str = field(compare=False)
    port: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.name!r} at {self.address}:{self.port}"


ASK_WITHIN = 10.0
Ask = Callable[[], Awaitable[Identity]]


class PostgresTarget:
    """The database that jobs belong in, and which connections are known to lead there."""

    engine = "postgresql"
    carries_routes = False

    def __init__(self, url: str, clock: Callable[[], datetime] | None = None) -> None:
        self.url = self.key = url
        self._clock = clock
        self._facts = _facts_of(url)

    async def prepare(self) -> None:
        """Learn once which database this is."""
        if self._facts.identity is None:
            self._facts.identity = await self.ask()

    async def ask(self) -> Identity:
        """Which database this is now; a server that was started again is another one."""
        # One question needs nothing of the session, and a pooler would refuse to set anything there.
        database = Postgres(_without_options_of_ours(self.url), pooled=True)
        connection = await database.connect(patience=ASK_WITHIN)
        try:
            return await _identity_of(AsyncpgSession(connection, connection))
        finally:
            connection.terminate()

    async def refuse_other(self, session: Session, ask: Ask | None = None) -> None:
        """Raise WrongDatabase unless the session's transaction is in this database."""
        facts = self._facts
        known = facts.connections.get(session.driver)
        if known is not None and known == facts.identity:
            return
        theirs = await _identity_of(session)
        if theirs != facts.identity:
            # Not asked yet, or the server was started again since.
            facts.identity = await (ask or self.ask)()
        if theirs != facts.identity:
            raise WrongDatabase(
                f"the transaction is in database {theirs}, but jobs are stored in {facts.identity}: "
                "open the transaction on the same database, or enqueue without it"
            )
        facts.connections[session.driver] = theirs

    async def is_home(self, session: Session, ask: Ask | None = None) -> bool:
        """Tell whether the session's transaction is in this database, asking each connection once."""
        if session.driver in self._facts.foreign:
            return False
        try:
            await self.refuse_other(session, ask)
        except WrongDatabase:
            self._facts.foreign[session.driver] = True
            return False
        return True

    async def store(
        self,
        session: Session,
        jobs: Sequence[NewJob],
        routes: Sequence[tuple[str, str]],
        announce: Announce | None,
    ) -> list[Stored]:
        """Store the jobs; workers are told by the commit, or by us after it where we learn of it."""
        given = json.dumps([to_object(job) for job in jobs], separators=(",", ":"))
        is_told = announce is not None and session.after_commit(announce)
        name = "joining/enqueue_quietly" if is_told else "joining/enqueue"
        try:
            if asked := quotas.groups(jobs):
                crowded = await session.fetch("joining/crowded", {"groups": json.dumps(asked)})
                if crowded:
                    raise quotas.exceeded(crowded)
            if self._clock is None:
                found = await session.fetch(name, {"jobs": given})
            else:
                found = await session.fetch("joining/enqueue_as_of", {"jobs": given, "at": self._clock()})
            stored = [Stored(rows.job_id(row["job_id"]), is_new=row["is_new"]) for row in found]
            for job, one in zip(jobs, stored, strict=True):
                if job.wait is not None and one.is_new:
                    await session.fetch("joining/expect", self._expected(job.id, job.wait))
        except database_errors() as error:
            raise _explained(error, jobs) from error
        return stored

    def _expected(self, job_id: JobId, wait: Wait) -> dict[str, object]:
        timeout = None if wait.timeout is None else wait.timeout.total_seconds()
        at = None if self._clock is None else self._clock()
        return {"job_id": str(job_id), "signal": wait.name, "seconds": timeout, "at": at}

    def lane(self, session: Session) -> Lane:
        """The caller's transaction as our stores know a connection."""
        return _JoinedLane(session, self._clock)


@dataclass(frozen=True, slots=True)
class _JoinedLane:
    """The caller's transaction as our stores know a connection; an error ends it, so it needs no savepoints."""

    session: Session
    clock: Callable[[], datetime] | None = None

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        now = None if self.clock is None else self.clock()
        try:
            return await self.session.fetch(name, {"clock": now, **values})
        except database_errors() as error:
            raise _explained(error, ()) from error

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        each = {column: [row[column] for row in rows] for column in rows[0]}
        return await self.fetch(name, **each, **same)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        yield self


@dataclass
class _Facts:
    identity: Identity | None = None
    connections: WeakKeyDictionary[object, Identity] = field(default_factory=WeakKeyDictionary)
    foreign: WeakKeyDictionary[object, bool] = field(default_factory=WeakKeyDictionary)


# Every event loop has connections of its own, but what is known of a database is known to all.
@cache
def _facts_of(_url: str) -> _Facts:
    return _Facts()


async def _identity_of(session: Session) -> Identity:
    try:
        found = await session.fetch("joining/identity", {})
    except database_errors() as error:
        raise _explained(error, ()) from error
    return Identity(**found[0])


def _without_options_of_ours(url: str) -> str:
    base, _, query = url.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith("pooled=")]
    return f"{base}?{'&'.join(kept)}" if kept else base


def database_errors() -> tuple[type[Exception], ...]:
    """What the libraries in use raise for a failing statement."""
    errors: list[type[Exception]] = [asyncpg.PostgresError, *LINK_ERRORS]
    for module, name in (("sqlalchemy.exc", "DBAPIError"), ("psycopg", "Error"), ("django.db", "Error")):
        if module in sys.modules:
            errors.append(getattr(sys.modules[module], name))
    return tuple(errors)


@dataclass(frozen=True, slots=True)
class _Told:
    """What PostgreSQL said, whichever driver passed it on."""

    code: str | None
    message: str
    detail: str
    constraint: str
    column: str


def _explained(error: BaseException, jobs: Sequence[NewJob]) -> BackstayError:
    """The error as our client words it, by the code and pointer that the function reports."""
    origin = _from_the_driver(error)
    told = _told(origin)
    index = told.detail.removeprefix("/").partition("/")[0]
    if told.code == _MISMATCH and index.isdigit():
        return IdempotencyMismatch(jobs[int(index)].idempotency_key or "")
    if told.code == _INVALID and told.constraint != _PROMOTED:
        return InvalidPayload(told.message, pointer=told.detail)
    if told.code in _BAD_JSON:
        return InvalidPayload(f"PostgreSQL cannot keep the jobs as JSON: {told.message}")
    return translate(_as_asyncpg(origin, told))


def _told(error: BaseException) -> _Told:
    diagnosis = getattr(error, "diag", None)
    code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    message = getattr(diagnosis, "message_primary", None) or str(error)
    detail = getattr(diagnosis, "message_detail", None) or getattr(error, "detail", None)
    constraint, column = (
        getattr(diagnosis, name, None) or getattr(error, name, None) or ""
        for name in ("constraint_name", "column_name")
    )
    return _Told(code, message, str(detail or ""), constraint, column)


def _as_asyncpg(error: BaseException, told: _Told) -> BaseException:
    """The same error as our own driver would raise it, for the one place that words them."""
    if isinstance(error, (asyncpg.PostgresError, *LINK_ERRORS)):
        return error
    if told.code is None:
        return asyncpg.InterfaceError(told.message) if _is_lost(error) else error
    fields = {"C": told.code, "M": told.message, "D": told.detail, "n": told.constraint, "c": told.column}
    same: BaseException = asyncpg.PostgresError.new(fields)
    return same


def _is_lost(error: BaseException) -> bool:
    return type(error).__name__ in ("OperationalError", "InterfaceError")


def _from_the_driver(error: BaseException) -> BaseException:
    """What the driver raised, below the wrappings that SQLAlchemy and Django put around it."""
    deepest: BaseException = error
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, (asyncpg.PostgresError, *LINK_ERRORS)) or hasattr(below, "diag"):
            return below
        deepest, below = below, getattr(below, "orig", None) or below.__cause__
    return deepest
