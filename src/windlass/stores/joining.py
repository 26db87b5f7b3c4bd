"""How do jobs become part of a transaction that the caller opened?

The transaction's own connection runs one statement, a call of a function in the database, so the jobs commit or
vanish with the caller's rows, and workers are woken by the commit.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

import asyncpg
import msgspec

from windlass.durations import seconds
from windlass.errors import (
    IdempotencyMismatch,
    InvalidPayload,
    InvalidSettings,
    WindlassError,
    WrongDatabase,
)
from windlass.job import NewJob, Stored
from windlass.stores import rows
from windlass.stores.postgres import Postgres, dialect, translate
from windlass.stores.queries import Dialect

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

SUPPORTED = (
    "an asyncpg connection with an open transaction, "
    "or SQLAlchemy's AsyncSession or AsyncConnection on PostgreSQL"
)
ONLY_POSTGRES = (
    "enqueueing inside a caller's transaction is only offered on PostgreSQL yet: enqueue after the commit"
)

_INVALID = "22023"
_MISMATCH = "WL001"
_BAD_JSON = frozenset({"22P02", "22P05", "22030", "54001"})


async def enqueue_in(transaction: object, jobs: Sequence[NewJob], *, url: str) -> list[Stored]:
    """Store jobs in the caller's open transaction; what became of each, in the order given.

    `transaction` is what it is open on: asyncpg's connection, SQLAlchemy's AsyncSession or AsyncConnection.
    Raises InvalidSettings for anything else or when no transaction is open, WrongDatabase when it is another
    database than the one at `url`, IdempotencyMismatch as an ordinary enqueue does. As after any error of
    PostgreSQL the transaction can then only be rolled back, unless the call was made inside a savepoint.
    """
    _refuse_sqlite(transaction, url)
    session = await _session_of(transaction)
    if not jobs:
        return []
    await _home(url).refuse_other(session)
    given = json.dumps([to_object(job) for job in jobs], separators=(",", ":"))
    try:
        stored = await session.fetch("joining/enqueue", {"jobs": given})
    except _database_errors() as error:
        raise _explained(error, jobs) from error
    return [Stored(rows.job_id(row["job_id"]), is_new=row["is_new"]) for row in stored]


def to_object(job: NewJob) -> dict[str, Any]:
    """A job as the database function takes it: only what is set, times in seconds or ISO 8601."""
    policy = None if job.policy is None else msgspec.json.decode(job.policy)
    own = {"max_attempts": job.max_attempts, "timeout_seconds": job.timeout, "lease_seconds": job.lease}
    named = {name: _plain(value) for name, value in own.items() if value is not None}
    fields = {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        # As text, so that it is stored byte for byte: jsonb would reorder keys and rewrite floats.
        "args_text": job.args,
        "priority": job.priority,
        "ageing_step_seconds": job.ageing_step,
        "delay_seconds": job.delay if job.run_at is None else None,
        "run_at": job.run_at,
        "held_for": job.held_for,
        "tenant": job.tenant or None,
        "name": job.name,
        "description": job.description,
        "tags": None if job.tags is None else msgspec.json.decode(job.tags),
        "metadata": None if job.metadata is None else msgspec.json.decode(job.metadata),
        "policy": {**(policy or {}), **named} if policy or named else None,
        "parent_id": job.parent_id,
        "correlation_id": job.correlation_id,
        "created_by": job.created_by,
        "idempotency_key": job.idempotency_key,
        "fingerprint": job.fingerprint,
        "unique_key": job.unique_key,
        "unique_for_seconds": job.unique_for,
        "expires_in_seconds": job.expires_in if job.expires_at is None else None,
        "expires_at": job.expires_at,
        "deadline_in_seconds": job.deadline_in if job.deadline is None else None,
        "deadline": job.deadline,
    }
    return {name: _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return seconds(value)
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value


def _refuse_sqlite(transaction: object, url: str) -> None:
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidSettings(f"the jobs of this store are in {url.partition(':')[0]}; {ONLY_POSTGRES}")
    library = type(transaction).__module__.partition(".")[0]
    if isinstance(transaction, sqlite3.Connection) or library == "aiosqlite":
        raise WrongDatabase(f"the transaction is on SQLite, jobs are stored in PostgreSQL; {ONLY_POSTGRES}")


class _Session(Protocol):
    """Runs our statements where the caller's transaction is open."""

    @property
    def driver(self) -> object:
        """The driver's connection, which lives as long as the link to the database."""
        ...

    async def fetch(self, name: str, values: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        """The rows of a named query."""
        ...


async def _session_of(transaction: object) -> _Session:
    """What the transaction is open on; raises InvalidSettings for what is not one."""
    if isinstance(transaction, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
        return _asyncpg_session(transaction)
    if "sqlalchemy.ext.asyncio" in sys.modules:
        from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

        if isinstance(transaction, AsyncSession):
            transaction = await transaction.connection()
        if isinstance(transaction, AsyncConnection):
            return await _sqlalchemy_session(transaction)
    kind = type(transaction)
    raise InvalidSettings(
        f"cannot enqueue inside a {kind.__module__}.{kind.__qualname__}: hand in {SUPPORTED}"
    )


@dataclass(frozen=True)
class _AsyncpgSession:
    connection: Any
    driver: object

    async def fetch(self, name: str, values: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        statement = _numbered().statement(name)
        found: Sequence[Mapping[str, Any]] = await self.connection.fetch(
            statement.sql, *[values[value] for value in statement.values]
        )
        return found


def _asyncpg_session(connection: Any) -> _AsyncpgSession:
    if not connection.is_in_transaction():
        raise InvalidSettings(
            "no transaction is open on this asyncpg connection, so the job would be committed at once: "
            "enqueue inside 'async with connection.transaction():', or leave the connection out"
        )
    # A pool lends the same connection through ever new proxies.
    return _AsyncpgSession(connection, getattr(connection, "_con", connection))


@dataclass(frozen=True)
class _SqlalchemySession:
    connection: AsyncConnection
    driver: object

    async def fetch(self, name: str, values: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        from sqlalchemy import text

        result = await self.connection.execute(text(_named().statement(name).sql), dict(values))
        return [dict(row) for row in result.mappings()]


async def _sqlalchemy_session(connection: AsyncConnection) -> _SqlalchemySession:
    if connection.dialect.name != "postgresql":
        raise WrongDatabase(
            f"the transaction is on {connection.dialect.name}, jobs are stored in PostgreSQL; {ONLY_POSTGRES}"
        )
    raw = await connection.get_raw_connection()
    if getattr(raw.dbapi_connection, "autocommit", False):
        raise InvalidSettings(
            "this SQLAlchemy connection is in AUTOCOMMIT, so the job would be committed at once: "
            "use a connection with an ordinary isolation level, or leave the connection out"
        )
    return _SqlalchemySession(connection, raw.driver_connection)


@cache
def _numbered() -> Dialect:
    return dialect()


@cache
def _named() -> Dialect:
    """The same statements with their values by name, which SQLAlchemy renders for whichever driver it has."""
    plain = dialect()
    return Dialect(plain.name, plain.tables, plain.macros, numbered=False, wall_clock=plain.wall_clock)


@dataclass(frozen=True, slots=True)
class _Identity:
    """One database of one running server."""

    name: str
    oid: int
    started: int
    address: str = field(compare=False)
    port: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.name!r} at {self.address}:{self.port}"


class _Home:
    """The database that jobs belong in, and which connections are known to lead there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._identity: _Identity | None = None
        self._known: WeakKeyDictionary[object, _Identity] = WeakKeyDictionary()

    async def refuse_other(self, session: _Session) -> None:
        """Raise WrongDatabase unless the session's transaction is in this database."""
        known = self._known.get(session.driver)
        if known is not None and known == self._identity:
            return
        theirs = await _identity_of(session)
        if theirs != self._identity:
            # Not asked yet, or the server was started again since.
            self._identity = await self._ask()
        if theirs != self._identity:
            raise WrongDatabase(
                f"the transaction is in database {theirs}, but jobs are stored in {self._identity}: "
                "open the transaction on the same database, or enqueue without it"
            )
        self._known[session.driver] = theirs

    async def _ask(self) -> _Identity:
        connection = await Postgres(_without_options_of_ours(self._url)).connect()
        try:
            return await _identity_of(_AsyncpgSession(connection, connection))
        finally:
            await connection.close()


_home = cache(_Home)


async def _identity_of(session: _Session) -> _Identity:
    try:
        found = await session.fetch("joining/identity", {})
    except _database_errors() as error:
        raise _explained(error, ()) from error
    return _Identity(**found[0])


def _without_options_of_ours(url: str) -> str:
    base, _, query = url.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith("pooled=")]
    return f"{base}?{'&'.join(kept)}" if kept else base


def _database_errors() -> tuple[type[Exception], ...]:
    errors: tuple[type[Exception], ...] = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
    if "sqlalchemy.exc" in sys.modules:
        from sqlalchemy.exc import DBAPIError

        return (*errors, DBAPIError)
    return errors


def _explained(error: BaseException, jobs: Sequence[NewJob]) -> WindlassError:
    """The error as our client words it, by the code and pointer that the function reports."""
    origin = _from_the_driver(error)
    code = getattr(origin, "sqlstate", None)
    pointer = str(getattr(origin, "detail", None) or "")
    index = pointer.removeprefix("/").partition("/")[0]
    if code == _MISMATCH and index.isdigit():
        return IdempotencyMismatch(jobs[int(index)].idempotency_key or "")
    if code == _INVALID:
        return InvalidPayload(str(origin), pointer=pointer)
    if code in _BAD_JSON:
        return InvalidPayload(f"PostgreSQL cannot keep the jobs as JSON: {origin}")
    return translate(origin)


def _from_the_driver(error: BaseException) -> BaseException:
    """What PostgreSQL said, below the wrappings that SQLAlchemy puts around it."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, asyncpg.PostgresError | asyncpg.InterfaceError | OSError):
            return below
        below = getattr(below, "orig", None) or below.__cause__
    return error
