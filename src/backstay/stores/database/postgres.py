"""PostgreSQL through asyncpg: connecting, transactions, error translation."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeAlias, cast

import asyncpg

from backstay.errors import (
    FieldRefused,
    MigrationFailed,
    SchemaMismatch,
    StoreBusy,
    StoreConflict,
    StoreError,
    StoreUnavailable,
)
from backstay.stores.database.interface import Columns, Connection, Lane, Migration, Row, Values
from backstay.stores.database.queries import Dialect, columns

Driver: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# After how many seconds of silence the other side is asked whether it is there, how often, and how many times. The
# usual two hours are too long for a session that died in a transaction: what it has locked stays locked till then.
KEPT_ALIVE = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}

# The same for our side, in the system's words; the last one is for what was sent and never acknowledged.
SILENCE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 25_000}

# The engine's statements are written for index scans bounded by the batch. A cached plan made while the tables were
# small must not turn into a scan of everything when they have grown, so the alternatives are switched off.
ENGINE_SETTINGS = {
    "application_name": "backstay",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "lock_timeout": "2s",
    # The engine never pauses inside a transaction. A process that does was frozen there, and the rows it locked, the
    # leader's among them, must not stay locked until it thaws.
    "idle_in_transaction_session_timeout": "4s",
    **KEPT_ALIVE,
}

# For the rest of a transaction: plan for the values given, and by an index.
PLAN_ANEW = """
SELECT set_config('plan_cache_mode', 'force_custom_plan', TRUE), set_config('enable_seqscan', 'off', TRUE)
"""

# The same for migrations, whose statements may go over whole tables.
PLAN_AS_USUAL = """
SELECT set_config(name, 'on', TRUE)
FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name
"""

# For the lanes of the engine, which ask the same all day: PostgreSQL would plan a claim anew each time, because that
# looks cheaper by its estimates, and take longer for it than for the claim.
PLANNED_ONCE = {"plan_cache_mode": "force_generic_plan"}

# How many seconds the engine waits for an answer before it takes a connection for dead. A link can die without a
# sign, and a worker that waits forever keeps nothing alive. Callers' own statements may take what they need.
# More than `lock_timeout` twice, for a row's lock is waited for in two steps: who waits for one is told so first.
PATIENCE = {"heartbeat": 10.0, "hints": 10.0} | dict.fromkeys(
    ("fetch", "settle", "maintenance", "handlers", "schema"), 30.0
)

# What the driver raises when the link is at fault. It calls it an internal error when a session is used that the server
# has ended, in the moment before the end of the connection arrives.
LINK_ERRORS = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)

_TYPES = {"timestamp": "timestamptz", "int": "integer"}
_COLUMNS = {"integer": "bigint", "number": "double precision", "timestamp": "timestamptz"}


def _each(body: str) -> str:
    pairs = columns(body)
    # Not :name::type[], in which SQLAlchemy sees no value.
    arrays = ", ".join(f"CAST(:{name} AS {_TYPES.get(kind, kind)}[])" for name, kind in pairs)
    names = ", ".join(name for name, _ in pairs)
    return f"(SELECT {names} FROM unnest({arrays}) AS value ({names}))"


def _any_of(body: str) -> str:
    column, value, kind = body.split()
    return f"{column} = ANY (CAST({value} AS {kind}[]))"


def _has_tag(body: str) -> str:
    column, value = body.split()
    return f"{column} @> jsonb_build_array({value}::text)"


def joined_dialect() -> Dialect:
    """The spelling on connections that are not ours: the time is a value there too, and None is the server's own."""
    plain = dialect()
    given = "COALESCE(CAST(:clock AS timestamptz), {})"
    macros = {
        **plain.macros,
        "clock": lambda _: given.format("clock_timestamp()"),
        "now": lambda _: given.format("statement_timestamp()"),
    }
    return Dialect(plain.name, plain.tables, macros, numbered=True, wall_clock=plain.wall_clock)


def dialect(*, clock: bool = False) -> Dialect:
    """PostgreSQL's spelling; with `clock` the time is a value handed in, for tests that hold it."""
    given = "CAST(:clock AS timestamptz)"
    macros: Mapping[str, Callable[[str], str]] = {
        "clock": lambda _: given if clock else "clock_timestamp()",
        "now": lambda _: given if clock else "statement_timestamp()",
        "started": lambda _: "pg_postmaster_start_time()",
        "each": _each,
        "lock": lambda _: "FOR UPDATE",
        "keep": lambda _: "FOR NO KEY UPDATE",
        # Not FOR UPDATE: a row that is only referred to, by a child or an attempt that is being stored, is no one's.
        "skip_locked": lambda _: "FOR NO KEY UPDATE SKIP LOCKED",
        "skip_used": lambda _: "FOR UPDATE SKIP LOCKED",
        "share": lambda table: f"FOR SHARE OF {table}",
        # Not EXTRACT, which reckons with as many digits as anyone could want.
        "milliseconds": lambda body: f"(date_part('epoch', {body}) * 1000)::bigint",
        # The same digits in a number take the driver a tenth of the time that a moment takes.
        "microseconds": lambda body: f"(date_part('epoch', {body}) * 1000000)::bigint",
        "greatest": lambda _: "GREATEST",
        "least": lambda _: "LEAST",
        "any_of": _any_of,
        "has_tag": _has_tag,
        "error_class": lambda body: f"{body} ->> 'error_class'",
        "object": lambda body: f"jsonb_build_object({body})",
        "word": lambda _: 'text COLLATE "C"',
        "uuid": lambda _: "uuid",
        "json": lambda _: "json",
        "jsonb": lambda _: "jsonb",
        "timestamp": lambda _: "timestamptz",
        "interval": lambda _: "interval",
        "serial": lambda _: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "column": lambda body: _COLUMNS.get(body, body),
    }
    return Dialect("postgres", "backstay.", macros, numbered=True, wall_clock="clock_timestamp()")


def translate(error: BaseException) -> StoreError:
    """The driver's error in our words; the caller raises it `from` the original."""
    match error:
        case (
            asyncpg.UndefinedTableError() | asyncpg.InvalidSchemaNameError() | asyncpg.UndefinedColumnError()
        ):
            return SchemaMismatch(
                f"the database lacks Backstay's tables ({error}): run 'backstay db migrate'"
            )
        case asyncpg.PostgresError(constraint_name="promoted_field"):
            return FieldRefused(str(error.column_name), f"must {str(error.args[0]).partition(' must ')[2]}")
        case asyncpg.ForeignKeyViolationError() if str(error.constraint_name).endswith("_must_exist"):
            field = str(error.constraint_name).removesuffix("_must_exist")
            return FieldRefused(field, f"must exist before the job is stored: {error.detail}")
        case asyncpg.PostgresError(constraint_name="known_place"):
            return SchemaMismatch.of_place(str(error.args[0]))
        case asyncpg.UniqueViolationError():
            return StoreConflict(f"PostgreSQL refused a row that is there already: {error.args[0]}")
        case asyncpg.LockNotAvailableError() | asyncpg.DeadlockDetectedError() | asyncpg.SerializationError():
            return StoreBusy(f"PostgreSQL could not take a lock in time: {error}")
        case asyncpg.PostgresConnectionError() | asyncpg.OperatorInterventionError():
            return StoreUnavailable(f"PostgreSQL ended the connection: {error}")
        case asyncpg.InsufficientResourcesError():
            return StoreUnavailable(f"PostgreSQL is out of resources: {error}", was_sent=False)
        case asyncpg.InterfaceError() if isinstance(error, ValueError):
            # The driver could not send a value, which its message repeats.
            place = re.search(r"query argument \$\d+|$", str(error))
            return StoreError(f"PostgreSQL's driver refused a value: {place and place[0]}")
        case asyncpg.InterfaceError() | asyncpg.InternalClientError() | OSError() | TimeoutError():
            return StoreUnavailable(f"PostgreSQL cannot be reached: {error!r}")
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreUnavailable(f"PostgreSQL takes no changes here: {error}", was_sent=False)
        case _:
            # Without the details, which repeat the row and with it a job's arguments.
            return StoreError(f"PostgreSQL refused a statement: {error.args[0]}")


async def notice_silence(driver: Driver) -> None:
    """Let the system end a connection whose other side is gone: a caller's statement has no time limit of ours.

    A coroutine, because a pool wants one for what it does with every new connection.
    """
    link = driver._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # asyncpg has no name for it
    with socket.socket(fileno=os.dup(link.fileno())) as link:
        if link.family == socket.AF_UNIX:
            return
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in SILENCE.items():
            if hasattr(socket, name):
                link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Postgres:
    """One PostgreSQL database, as seen from one event loop."""

    def __init__(
        self, url: str, *, clock: Callable[[], datetime] | None = None, pooled: bool = False
    ) -> None:
        self.url, self.pooled, self.clock = url, pooled, clock
        self.dialect = dialect(clock=clock is not None)
        self.reconnections = 0
        self._lanes: dict[str, PostgresLane] = {}

    def lane(self, purpose: str, *, size: int = 1) -> Lane:
        if purpose not in self._lanes:
            self._lanes[purpose] = PostgresLane(self, size, patience=PATIENCE.get(purpose))
        return self._lanes[purpose]

    async def connect(self, *, patience: float | None = None) -> Driver:
        """Open one connection; raises StoreUnavailable when that fails.

        `patience` bounds every statement on it. Only the engine's lanes have one, and they keep to one plan.
        """
        settings = ENGINE_SETTINGS if patience is None else {**ENGINE_SETTINGS, **PLANNED_ONCE}
        # Behind a transaction pooler nothing of a session may be relied on: no settings, no prepared names.
        session: dict[str, Any] = (
            {"statement_cache_size": 0} if self.pooled else {"server_settings": settings}
        )
        try:
            driver: Driver = await asyncpg.connect(self.url, timeout=10, command_timeout=patience, **session)
        except (asyncpg.PostgresError, *LINK_ERRORS) as error:
            raise StoreUnavailable(f"cannot connect to PostgreSQL: {error}", was_sent=False) from error
        await notice_silence(driver)
        return driver

    async def bootstrap(self) -> None:
        async with self._alone() as connection:
            await connection.driver.execute(self.dialect.statement("schema/bootstrap").sql)

    async def apply(self, migration: Migration) -> bool:
        name, values = migration.note
        async with self._alone() as connection:
            noted = await connection.fetch(name, **values)
            if noted:
                # What is switched off for the engine may be just what an application's statement needs.
                await connection.driver.execute(PLAN_AS_USUAL)
                try:
                    await connection.driver.execute(migration.sql)
                except asyncpg.PostgresError as error:
                    raise MigrationFailed(str(migration), str(error)) from error
            return bool(noted)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[PostgresConnection]:
        """A transaction that no other migrator shares; its lock ends with it, so it needs no session."""
        driver = await self.connect()
        try:
            async with driver.transaction():
                await driver.execute("SET LOCAL lock_timeout = '10s'")
                await driver.execute("SELECT pg_advisory_xact_lock(7811260427)")
                yield PostgresConnection(driver, self)
        except asyncpg.PostgresError as error:
            raise translate(error) from error
        finally:
            driver.terminate()

    async def describe(self) -> list[str]:
        return [row["line"] for row in await self.lane("health").fetch("schema/describe")]

    async def close(self) -> None:
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            await lane.close()


class PostgresLane:
    """A few connections kept for one purpose, without the reset that a general pool sends on every return."""

    def __init__(self, database: Postgres, size: int, *, patience: float | None) -> None:
        self.database, self._patience = database, patience
        self._idle: deque[Driver] = deque()
        self._free = asyncio.Semaphore(size)
        self._lost = 0

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        async with self._borrow() as connection:
            if not self.database.dialect.statement(name).plans_anew:
                return await connection.fetch(name, **values)
            async with connection.driver.transaction():
                await connection.driver.execute(PLAN_ANEW)
                return await connection.fetch(name, **values)

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        async with self._borrow() as connection:
            return await connection.fetch_each(name, rows, **same)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self._borrow() as connection, connection.driver.transaction():
            yield connection

    async def close(self) -> None:
        while self._idle:
            connection = self._idle.popleft()
            try:
                await connection.close(timeout=2)
            except (asyncpg.PostgresError, *LINK_ERRORS):
                connection.terminate()

    def _borrow(self) -> _Borrowed:
        return _Borrowed(self)

    async def take(self) -> Driver:
        """A connection that nobody else uses; to be given back or ended."""
        await self._free.acquire()
        try:
            return self._idle.pop() if self._idle and not self._idle[-1].is_closed() else await self._open()
        except BaseException:
            self._free.release()
            raise

    def give_back(self, driver: Driver, *, is_clean: bool) -> None:
        """Keep a connection for the next user, unless nobody knows what its session is in."""
        self._free.release()
        if is_clean and not driver.is_closed() and not driver.is_in_transaction():
            self._idle.append(driver)
        else:
            self._lost += 1
            driver.terminate()

    async def _open(self) -> Driver:
        while self._idle:
            driver = self._idle.pop()
            if not driver.is_closed():
                return driver
            self._lost += 1
        driver = await self.database.connect(patience=self._patience)
        if self._lost:
            self._lost = 0
            self.database.reconnections += 1
        return driver


class _Borrowed:
    """A connection of a lane for the length of a block; errors leave it in our words."""

    __slots__ = ("_driver", "_lane")

    def __init__(self, lane: PostgresLane) -> None:
        self._lane = lane

    async def __aenter__(self) -> PostgresConnection:
        self._driver = await self._lane.take()
        return PostgresConnection(self._driver, self._lane.database)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        lane, driver = self._lane, self._driver
        if error is None:
            lane.give_back(driver, is_clean=True)
        elif isinstance(error, asyncpg.PostgresError):
            # Who may not write may be connected to what has become a standby.
            lane.give_back(driver, is_clean=not isinstance(error, asyncpg.ReadOnlySQLTransactionError))
            raise translate(error) from error
        elif isinstance(error, LINK_ERRORS):
            lane.give_back(driver, is_clean=False)
            raise translate(error) from error
        else:
            # What a caller raises between two statements leaves the session sound; an interruption in the middle of
            # one may not.
            lane.give_back(driver, is_clean=isinstance(error, Exception))


class PostgresConnection:
    """Named queries on one driver connection, ours or a caller's."""

    def __init__(self, driver: Driver, database: Postgres) -> None:
        self.driver = driver
        self._dialect, self._clock = database.dialect, database.clock

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        statement = self._dialect.statement(name)
        if self._clock is not None:
            values["clock"] = self._clock()
        found: Any = await self.driver.fetch(statement.sql, *[values[value] for value in statement.values])
        return cast("Sequence[Row]", found)

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        statement = self._dialect.statement(name)
        given: dict[str, Any] = (
            dict(rows.columns)
            if isinstance(rows, Columns)
            else {column: [row[column] for row in rows] for column in statement.columns}
        )
        given.update(same)
        if self._clock is not None:
            given["clock"] = self._clock()
        found: Any = await self.driver.fetch(statement.sql, *[given[value] for value in statement.values])
        return cast("Sequence[Row]", found)
